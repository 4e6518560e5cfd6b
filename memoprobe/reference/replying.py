"""Put what was drawn into the shapes of vLLM's replies."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from memoprobe.reference.asking import Asked
from memoprobe.reference.decoding import Drawn, Job, Told
from memoprobe.reference.tokenizer import SPECIAL, Tokenizer

Reply = dict[str, Any]


def chat(asked: Asked, jobs: Sequence[Job], known: Tokenizer, model: str) -> Reply:
    """Return the reply to a chat."""
    (job,) = jobs
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": _text(drawn)},
            "logprobs": None if asked.n_top is None else _chat_told(drawn.told, known),
            "finish_reason": drawn.finish_reason,
            "stop_reason": _stop(drawn),
        }
        for index, drawn in enumerate(_answers(job))
    ]
    told = {} if asked.n_prompt_top is None else {"prompt_logprobs": _prompt_told(job, known)}
    return _reply("chat.completion", "chatcmpl", choices, jobs, model) | told


def completion(asked: Asked, jobs: Sequence[Job], known: Tokenizer, model: str) -> Reply:
    """Return the reply to a completion."""
    choices: list[Reply] = []
    for job in jobs:
        repeated = known.decode(job.order.prompt) if asked.echo else ""
        for drawn in _answers(job):
            told = () if asked.is_empty else drawn.told
            choice = {
                "index": len(choices),
                "text": repeated + ("" if asked.is_empty else _text(drawn)),
                "logprobs": _completion_told(asked, job, told, known),
                "finish_reason": "length" if asked.is_empty else drawn.finish_reason,
                "stop_reason": None if asked.is_empty else _stop(drawn),
            }
            if asked.n_prompt_top is not None:
                choice["prompt_logprobs"] = _prompt_told(job, known)
            choices.append(choice)
    reply = _reply("text_completion", "cmpl", choices, jobs, model)
    return reply | {"usage": _usage(jobs, 0)} if asked.is_empty else reply


def _answers(job: Job) -> Iterator[Drawn]:
    return (job.drawn[index] for index in range(len(job.order.seeds)))


def _text(drawn: Drawn) -> str:
    return drawn.text.decode("utf-8", "replace")


def _stop(drawn: Drawn) -> str | None:
    return None if drawn.stop is None else drawn.stop.decode()


def _reply(kind: str, prefix: str, choices: list[Reply], jobs: Sequence[Job], model: str) -> Reply:
    n_drawn = sum(len(drawn.tokens) for job in jobs for drawn in job.drawn.values())
    return {
        "id": f"{prefix}-{jobs[0].order.seeds[0]}",
        "object": kind,
        "created": 0,
        "model": model,
        "choices": choices,
        "usage": _usage(jobs, n_drawn),
    }


def _usage(jobs: Sequence[Job], n_drawn: int) -> Reply:
    n_prompt = sum(len(job.order.prompt) for job in jobs)
    return {
        "prompt_tokens": n_prompt,
        "completion_tokens": n_drawn,
        "total_tokens": n_prompt + n_drawn,
    }


def _name(token: int, known: Tokenizer) -> str:
    return SPECIAL[token] if token < len(SPECIAL) else known.decode([token])


def _chat_told(told: Sequence[Told], known: Tokenizer) -> Reply:
    def entry(token: int, logprob: float) -> Reply:
        spelled = list(known.spelled(token))
        return {"token": _name(token, known), "logprob": logprob, "bytes": spelled}

    return {
        "content": [
            entry(one.token, one.logprob) | {"top_logprobs": [entry(*top) for top in one.top]}
            for one in told
        ]
    }


def _prompt_told(job: Job, known: Tokenizer) -> list[Reply | None]:
    """Return vLLM's list: nothing of the first token, then the token itself and the likeliest."""

    def entry(logprob: float, rank: int, token: int) -> Reply:
        return {"logprob": logprob, "rank": rank, "decoded_token": _name(token, known)}

    return [
        None,
        *(
            {str(one.token): entry(one.logprob, one.rank, one.token)}
            | {
                str(token): entry(logprob, rank, token)
                for rank, (token, logprob) in enumerate(one.top, start=1)
                if token != one.token
            }
            for one in job.prompt_told
        ),
    ]


def _completion_told(
    asked: Asked, job: Job, told: Sequence[Told], known: Tokenizer
) -> Reply | None:
    if asked.n_top is None:
        return None
    whole = [*(job.prompt_told if asked.echo else ()), *told]
    entries = [
        (
            _name(one.token, known),
            one.logprob,
            {_name(t, known): p for t, p in one.top[: asked.n_top]},
        )
        for one in whole
    ]
    tokens = [name for name, _, _ in entries]
    values: list[float | None] = [logprob for _, logprob, _ in entries]
    tops: list[dict[str, float] | None] = [{name: logprob} | top for name, logprob, top in entries]
    if asked.echo:
        first = _name(job.order.prompt[0], known)
        tokens, values, tops = [first, *tokens], [None, *values], [None, *tops]
    return {
        "text_offset": [0, *accumulate(map(len, tokens))][:-1],
        "token_logprobs": values,
        "tokens": tokens,
        "top_logprobs": tops,
    }
