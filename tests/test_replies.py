"""Check that reply bodies of real servers are read for what they are."""

import json

import pytest

from memoprobe.endpoints import dialects, replies
from memoprobe.errors import (
    EndpointDown,
    EndpointRefused,
    EndpointUnavailable,
    RateLimited,
    RequestRejected,
    TooManyChoices,
    UnknownField,
    UnusableReply,
)

LLAMA_CONTEXT = (
    '{"error":{"code":400,"message":"request (20000 tokens) exceeds the available context size'
    ' (2048 tokens), try increasing it","type":"exceed_context_size_error"}}'
)
VLLM_CONTEXT = (
    '{"error":{"message":"This model\'s maximum context length is 1024 tokens. However, your'
    ' prompt contains at least 1025 input tokens","type":"BadRequestError","code":400}}'
)


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (400, LLAMA_CONTEXT, "context_overflow", "20000 tokens"),
        (400, VLLM_CONTEXT, "context_overflow", "1024"),
        (500, VLLM_CONTEXT, "context_overflow", "1024"),
        (400, '{"error":{"message":"max_tokens must be at least 1, got 0."}}',
         "context_overflow", "at least 1"),
        (422, '{"detail":[{"type":"json_invalid"}]}', "bad_request", "json_invalid"),
        (400, '{"detail":"prompt must be a string."}', "bad_request", "must be a string"),
        (424, '{"error":"Request failed","error_type":"generation"}', "bad_request", "failed"),
        (400, "", "bad_request", "no message"),
    ],
)  # fmt: skip
def test_requests_that_will_never_do(status, body, kind, words):
    """A permanent class, with the server's words."""
    error = replies.fault(status, body.encode(), None, 1)

    assert isinstance(error, RequestRejected)
    assert error.kind == kind
    assert words in str(error)


@pytest.mark.parametrize(
    ("status", "body", "wait", "kind"),
    [
        (500, "Internal Server Error", None, EndpointUnavailable),
        (503, '{"error":"loading"}', None, EndpointUnavailable),
        (503, '{"error":"loading"}', 3.0, RateLimited),
        (429, '{"error":"Model is overloaded","error_type":"overloaded"}', None, RateLimited),
        (429, '{"error":{"code":"insufficient_quota"}}', None, EndpointDown),
        (402, "pay", None, EndpointDown),
        (401, '{"error":"Unauthorized"}', None, EndpointRefused),
        (404, '{"error":{"message":"The model `x` does not exist."}}', None, EndpointRefused),
        (405, '{"detail":"Method Not Allowed"}', None, EndpointRefused),
    ],
)
def test_faults_of_the_endpoint(status, body, wait, kind):
    """What another attempt may mend, and what nobody's request will."""
    error = replies.fault(status, body.encode(), wait, 1)

    assert type(error) is kind
    if isinstance(error, RateLimited):
        assert error.retry_after_s == wait


@pytest.mark.parametrize(
    ("message", "n", "most"),
    [
        ("Field 'n': Value must be between 1 <= value <= 4, but got 9", 9, 4),
        ("n must be at most 16384, got 100000.", 100000, 16384),
        ("n must be 1 when using greedy sampling, got 3.", 3, 1),
        ("n > 1 is not supported", 3, 1),
        ("Invalid 'n': integer above maximum value. Expected a value <= 4, but got 9", 9, 4),
        ("'n' : number must be at most 1", 9, 1),
        ("Only one completion choice is allowed", 9, 1),
        ("Unsupported parameter: 'n'", 9, 1),
    ],
)
def test_complaints_about_n_tell_the_limit(message, n, most):
    """The limit is taken from the words where they have it."""
    error = replies.fault(400, json.dumps({"error": {"message": message}}).encode(), None, n)

    assert isinstance(error, TooManyChoices)
    assert error.max_n == most


def test_complaints_in_a_list_name_the_field_by_its_place():
    """As pydantic writes them."""
    detail = [{"loc": ["body", "n"], "msg": "Input should be less than or equal to 2"}]

    error = replies.fault(422, json.dumps({"detail": detail}).encode(), None, 9)

    assert isinstance(error, TooManyChoices)
    assert error.max_n == 2


@pytest.mark.parametrize("field", ["n", "seed", "max_tokens"])
def test_fields_that_a_server_does_not_know_are_told_apart(field):
    """They can be left out or have another name; sampling cannot."""
    body = {"error": {"message": f"Unsupported parameter: '{field}' is not supported"}}
    sampling = {"error": {"message": "Unsupported parameter: 'top_p'"}}

    error = replies.fault(400, json.dumps(body).encode(), None, 1)

    assert isinstance(error, UnknownField)
    assert error.field == field
    assert replies.fault(400, json.dumps(sampling).encode(), None, 1).kind == "bad_request"


@pytest.mark.parametrize(
    ("reason", "stored"),
    [("max_tokens", "length"), ("model_length", "length"), ("eos_token", "stop")],
)
def test_every_word_for_cut_off_means_cut_off(reason, stored):
    """An answer that is not whole is no answer."""
    body = {"choices": [{"text": "x", "finish_reason": reason}]}

    assert replies.parse(json.dumps(body).encode()).choices[0].finish_reason == stored


@pytest.mark.parametrize("count", [10**30, -1, True, "7", 1.5])
def test_a_count_that_cannot_be_one_is_unknown(count):
    """It must not reach the database."""
    body = {"choices": [{"text": "x"}], "usage": {"prompt_tokens": count}}

    assert replies.parse(json.dumps(body).encode()).prompt_tokens is None


def test_a_complaint_about_n_with_one_choice_is_none():
    """One choice cannot be too many."""
    error = replies.fault(400, b'{"error": {"message": "n must be 1"}}', None, 1)

    assert not isinstance(error, TooManyChoices)


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": "a", "reasoning": "r"}, "a", "r"),
        ({"content": "a", "reasoning_content": "r"}, "a", "r"),
        ({"content": [{"type": "thinking", "thinking": "r"}, {"type": "text", "text": "a"}, 3]},
         "a", "r"),
        ({"content": "<think>\nr\n</think>\n\na"}, "a", "r"),
        ({"content": "<think>\nr"}, None, "r"),
        ({"content": "a <think>b</think>"}, "a <think>b</think>", None),
        ({"content": None}, None, None),
        ({"content": ""}, "", None),
    ],
)  # fmt: skip
def test_thinking_is_kept_apart(message, text, reasoning):
    """In every shape, the answer is in one place and the thinking in another."""
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {}}

    choice = replies.parse(json.dumps(body).encode()).choices[0]

    assert (choice.text, choice.reasoning) == (text, reasoning)


def test_choices_come_by_their_index_and_finish_reasons_in_one_vocabulary():
    """TGI's words for an end are stop; a missing reason is unknown."""
    body = {
        "model": "m",
        "usage": {"prompt_tokens": 3, "completion_tokens": True},
        "choices": [
            {"index": 1, "text": "b", "finish_reason": "eos_token"},
            {"index": 0, "text": "a"},
        ],
    }

    reply = replies.parse(json.dumps(body).encode())

    assert [(c.place, c.text, c.finish_reason) for c in reply.choices] == [
        (0, "a", "unknown"),
        (1, "b", "stop"),
    ]
    assert (reply.prompt_tokens, reply.completion_tokens, reply.model) == (3, None, "m")


@pytest.mark.parametrize(
    ("content", "kind", "error"),
    [
        (b"<html>", "bad_reply", EndpointUnavailable),
        (b"[]", "bad_reply", EndpointUnavailable),
        (b"[" * 200_000, "bad_reply", EndpointUnavailable),
        (b'{"choices": [null]}', "bad_reply", EndpointUnavailable),
        (
            b'{"choices": [{"text": "x", "finish_reason": "abort"}]}',
            "broken_off",
            EndpointUnavailable,
        ),
        (
            b'{"error": {"message": "x"}, "choices": [{"text": ""}]}',
            "error_in_200",
            EndpointUnavailable,
        ),
        (b'{"error": {"message": "quota"}}', "error_in_200", EndpointUnavailable),
        (b'{"error": {"code": 1}}', "error_in_200", EndpointUnavailable),
        (b'{"error": "prompt is too long"}', "context_overflow", RequestRejected),
        (b'{"choices": []}', "no_choices", UnusableReply),
        (b'{"choices": null}', "no_choices", UnusableReply),
    ],
)
def test_a_200_may_hold_no_answer(content, kind, error):
    """An error in a success body is an error."""
    with pytest.raises(error) as caught:
        replies.parse(content)

    assert caught.value.kind == kind


def test_long_words_of_a_server_are_cut():
    """A page of HTML does not fill the database."""
    assert len(str(replies.fault(500, b"x" * 10_000, None, 1))) < 600


def test_dialects_are_told_by_the_list_of_models():
    """And so is the context length, where the server states it."""
    llama = {"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx": 4096}}
    vllm = {"id": "m", "owned_by": "vllm", "max_model_len": 1024}

    assert dialects.recognize([llama]).name == "llama.cpp"
    assert dialects.context_length(dialects.recognize([llama]), llama) == 4096
    assert dialects.context_length(dialects.recognize([vllm]), vllm) == 1024
    assert dialects.recognize([]) is dialects.PLAIN
    assert dialects.context_length(dialects.PLAIN, vllm) is None
    assert dialects.context_length(dialects.DIALECTS[0], {"meta": 3}) is None
