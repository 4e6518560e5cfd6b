"""Draw answers: many requests at once, and what answers of one request have in common only once.

The answers of a request make a tree: while several have the same tokens they are one row of
the network, which parts where they differ. At temperature 0.3 most of nine answers are one.
An answer's tokens depend on its own seed and on the prompt, not on its neighbours.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from memoprobe.reference.network import Cache, Network, log_probabilities
from memoprobe.reference.tokenizer import END, Tokenizer
from memoprobe.reference.weights import Array

ROWS = 384
"""The most rows at a time; a request of n answers needs up to n."""

_TOGETHER = 32  # prompts read at once: more would not fit the processor's cache


class Told(NamedTuple):
    """Hold how likely a token was, and which were likeliest there."""

    token: int
    logprob: float
    rank: int  # 1 is the likeliest
    top: tuple[tuple[int, float], ...]  # tokens and log-probabilities, the likeliest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Hold what is to be drawn."""

    prompt: Sequence[int]  # its tokens, BEGIN the first
    seeds: tuple[int, ...]  # one for each answer
    temperature: float
    top_p: float
    max_tokens: int
    stop: tuple[bytes, ...] = ()
    n_top: int | None = None  # None: how likely the answer's tokens were is not told
    n_prompt_top: int | None = None  # the same for the prompt's


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Hold one answer."""

    tokens: tuple[int, ...]
    text: bytes  # before the stop text
    finish_reason: Literal["stop", "length"]
    stop: bytes | None  # the text that ended it
    told: tuple[Told, ...]


@dataclass(slots=True, kw_only=True)
class _Branch:
    """Hold answers of one job that have the same tokens so far."""

    job: "Job"
    answers: list[int]
    tokens: list[int] = field(default_factory=list)
    text: bytes = b""
    told: list[Told] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Return the number of tokens in the cache."""
        return len(self.job.order.prompt) + len(self.tokens) - 1


class Job:
    """Hold an order and what came of it so far."""

    def __init__(self, order: Order) -> None:
        """Draw each answer's chances from its seed."""
        self.order = order
        self.prompt_told: list[Told] = []
        self.drawn: dict[int, Drawn] = {}
        self.chances = [np.random.default_rng(s).random(order.max_tokens) for s in order.seeds]

    @property
    def done(self) -> bool:
        """Tell whether all answers are drawn."""
        return len(self.drawn) == len(self.order.seeds)


class Decoder:
    """Hold the jobs at work."""

    def __init__(self, network: Network, tokenizer: Tokenizer) -> None:
        """Start without a job."""
        self._network = network
        self._tokenizer = tokenizer
        self._cache = Cache(ROWS)
        self._branches: list[_Branch] = []
        self._reserved = 0  # rows that the jobs at work can come to need

    @property
    def busy(self) -> bool:
        """Tell whether a job is at work."""
        return bool(self._branches)

    def admit(self, waiting: deque[Job]) -> list[Job]:
        """Take in jobs from the left as long as there is room; return those that are done."""
        jobs: list[Job] = []
        while waiting and len(jobs) < _TOGETHER:
            if self._reserved + len(waiting[0].order.seeds) > ROWS:
                break
            self._reserved += len(waiting[0].order.seeds)
            jobs.append(waiting.popleft())
        return self._begin(jobs) if jobs else []

    def _begin(self, jobs: Sequence[Job]) -> list[Job]:
        """Read the prompts of jobs and draw their first tokens; return those that are done."""
        prompts = [job.order.prompt for job in jobs]
        lengths = np.array([len(prompt) for prompt in prompts])
        tokens = np.full((len(jobs), lengths.max()), END)
        for row, prompt in enumerate(prompts):
            tokens[row, : len(prompt)] = prompt
        first = len(self._branches)
        rows = np.arange(first, first + len(jobs))
        hidden = self._network.read(tokens, self._cache, rows)
        for job, states in zip(jobs, hidden, strict=True):
            if job.order.n_prompt_top is not None:
                said = log_probabilities(self._network.logits(states[: len(job.order.prompt) - 1]))
                following = job.order.prompt[1:]
                job.prompt_told = [
                    _told(line, token, job.order.n_prompt_top)
                    for line, token in zip(said, following, strict=True)
                ]
        self._branches += [
            _Branch(job=job, answers=list(range(len(job.order.seeds)))) for job in jobs
        ]
        last = hidden[np.arange(len(jobs)), lengths - 1]
        return self._draw(first, self._network.logits(last), jobs)

    def step(self) -> list[Job]:
        """Draw one more token of every answer; return the jobs that are done by it."""
        tokens = np.array([branch.tokens[-1] for branch in self._branches])
        positions = np.array([branch.length for branch in self._branches])
        hidden = self._network.go_on(tokens, positions, self._cache)
        jobs = {id(branch.job): branch.job for branch in self._branches}
        return self._draw(0, self._network.logits(hidden), jobs.values())

    def _draw(self, first: int, logits: Array, jobs: Iterable[Job]) -> list[Job]:
        """Extend the branches from ``first`` on, one for each row of logits."""
        jobs = list(jobs)
        orders = [branch.job.order for branch in self._branches[first:]]
        cold = np.array([order.temperature or 1.0 for order in orders], np.float32)
        weights = np.exp((logits - logits.max(axis=-1, keepdims=True)) / cold[:, None])
        weights /= weights.sum(axis=-1, keepdims=True)
        best = logits.argmax(axis=-1)
        ended, born = [], []
        for row, order in enumerate(orders):
            branch = self._branches[first + row]
            # The usual case first: one token has it all.
            if order.temperature == 0 or weights[row, best[row]] >= order.top_p:
                parts = {int(best[row]): branch.answers}
            else:
                parts = _parted(branch, weights[row])
            told = None if order.n_top is None else log_probabilities(logits[row])
            going = [b for b in self._grown(branch, parts, told) if not self._ends(b)]
            if going:
                self._branches[first + row] = going[0]
                born += [(first + row, b) for b in going[1:]]
            else:
                ended.append(first + row)
        for source, branch in born:
            self._cache.copy(source, len(self._branches), branch.length)
            self._branches.append(branch)
        for row in reversed(ended):
            self._close(row)
        finished = [job for job in jobs if job.done]
        self._reserved -= sum(len(job.order.seeds) for job in finished)
        return finished

    def _close(self, row: int) -> None:
        """Take a branch away; the last one moves into its row."""
        last = self._branches.pop()
        if row < len(self._branches):
            self._cache.copy(len(self._branches), row, last.length)
            self._branches[row] = last

    def _grown(
        self, branch: _Branch, parts: dict[int, list[int]], said: Array | None
    ) -> Iterator[_Branch]:
        n_top = branch.job.order.n_top
        for token, answers in parts.items():
            told = [] if said is None else [_told(said, token, n_top or 0)]
            yield _Branch(
                job=branch.job,
                answers=answers,
                tokens=[*branch.tokens, token],
                text=branch.text + self._tokenizer.spelled(token),
                told=[*branch.told, *told],
            )

    def _ends(self, branch: _Branch) -> bool:
        """Tell whether a branch ends with its last token, and if so keep its answers."""
        order, token = branch.job.order, branch.tokens[-1]
        stop, text = _stopped(branch.text, order.stop, len(self._tokenizer.spelled(token)))
        full = len(branch.tokens) == order.max_tokens
        if token != END and stop is None and not full:
            return False
        drawn = Drawn(
            tokens=tuple(branch.tokens),
            text=text,
            finish_reason="stop" if token == END or stop is not None else "length",
            stop=stop,
            told=tuple(branch.told),
        )
        branch.job.drawn |= dict.fromkeys(branch.answers, drawn)
        return True


def draw(network: Network, tokenizer: Tokenizer, orders: Iterable[Order]) -> list[Job]:
    """Return the orders' jobs, all done."""
    decoder, jobs = Decoder(network, tokenizer), [Job(order) for order in orders]
    waiting = deque(jobs)
    while waiting or decoder.busy:
        decoder.admit(waiting)
        if decoder.busy:
            decoder.step()
    return jobs


def _parted(branch: _Branch, weights: Array) -> dict[int, list[int]]:
    """Return a branch's answers by the token that each draws."""
    order = np.argsort(-weights, kind="stable")
    summed = np.cumsum(weights[order], dtype=np.float64)
    kept = int(np.searchsorted(summed, branch.job.order.top_p * summed[-1])) + 1
    kept = min(kept, len(order))
    parts: dict[int, list[int]] = {}
    for answer in branch.answers:
        chance = branch.job.chances[answer][len(branch.tokens)] * summed[kept - 1]
        token = int(order[min(int(np.searchsorted(summed, chance, side="right")), kept - 1)])
        parts.setdefault(token, []).append(answer)
    return parts


def _told(said: Array, token: int, n_top: int) -> Told:
    top = np.argsort(-said, kind="stable")[:n_top]
    return Told(
        token=token,
        logprob=float(said[token]),
        rank=int((said > said[token]).sum()) + 1,
        top=tuple((int(other), float(said[other])) for other in top),
    )


def _stopped(text: bytes, stops: Iterable[bytes], n_new: int) -> tuple[bytes | None, bytes]:
    """Return the first stop text that the last ``n_new`` bytes complete, and what is before it."""
    found = [(text.find(stop, max(0, len(text) - n_new - len(stop) + 1)), stop) for stop in stops]
    places = [(at, stop) for at, stop in found if at >= 0]
    if not places:
        return None, text
    at, stop = min(places)
    return stop, text[:at]
