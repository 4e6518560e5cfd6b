"""Check that reply bodies of real servers are read for what they are."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe.endpoints import dialects, replies
from memoprobe.errors import (
    EndpointDown,
    EndpointRefused,
    EndpointUnavailable,
    MemoprobeError,
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
        (413, "<html>", "context_overflow", "html"),
        (422, '{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 9",'
         '"error_type":"validation"}', "context_overflow", "<= 9"),
        (422, '{"error":"Input validation error: `inputs` must have less than 9 tokens."}',
         "context_overflow", "less than 9"),
        (400, '{"object":"error","message":"The input (33 tokens) is longer than the model\'s'
         ' context length (9 tokens).","code":400}', "context_overflow", "33"),
        (400, '{"error":{"message":"The input token count (12) exceeds the maximum number of'
         ' tokens allowed (9)."}}', "context_overflow", "(12)"),
        (429, '{"error":{"message":"Request too large for m on tokens per min: Limit 9"}}',
         "context_overflow", "Limit 9"),
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
        (429, '{"error":"the context length of all requests is limited"}', None, RateLimited),
        (429, '{"error":"You exceeded your quota, check your billing details"}', 7.0, RateLimited),
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


@pytest.mark.parametrize(
    ("status", "wait"), [(429, "Rate limit reached. Please try again in 1.5s."),
                         (503, "Model is loading, retry in 1500ms"),
                         (429, '"quotaId": "x", "retryDelay": "1.5s", see your billing details')]
)  # fmt: skip
def test_a_wish_to_wait_may_be_in_the_words_alone(status, wait):
    """Then they count, also against words of a quota."""
    error = replies.fault(status, json.dumps({"error": {"message": wait}}).encode(), None, 1)

    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 1.5


def test_n_may_be_refused_as_not_implemented():
    """Which another attempt does not mend."""
    error = replies.fault(501, b'{"error": {"message": "n > 1 is not supported"}}', None, 3)

    assert isinstance(error, TooManyChoices)


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
        ({"content": "a", "reasoning": "r", "reasoning_content": "r"}, "a", "r"),
        ({"content": "<think>s</think>a", "reasoning": "r"}, "a", "r\ns"),
        ({"content": "a", "thinking": "r"}, "a", "r"),
        ({"content": "a", "reasoning_details": [{"type": "x", "text": "r"}]}, "a", "r"),
        ({"content": "a", "reasoning": {"content": ["r", "s"]}}, "a", "r\ns"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "r"}]},
                      {"type": "text", "text": "a"}]}, "a", "r"),
        ({"content": [{"type": {"odd": 1}, "text": "r"}, {"type": "output_text", "text": "a"}]},
         "a", "r"),
        ({"content": ["a", {"text": "b"}]}, "ab", None),
        ({"content": {"type": "text", "text": "a"}}, "a", None),
        ({"content": 3}, None, None),
        ({"content": "r\n</think>\n\na"}, "a", "r"),
        ({"content": "r\n</think>\n\n"}, None, "r"),
        ({"content": "I think, so `x </think> y`"}, "I think, so `x </think> y`", None),
        ({"content": "\ufeff<THINK>r</THINK>a"}, "a", "r"),
        ({"content": "<seed:think a=1>r</seed:think><thinking>s</thinking>\n  a"}, "a", "r\ns"),
        ({"content": "    think = 1"}, "    think = 1", None),
        ({"content": "<thinker>"}, "<thinker>", None),
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
        (
            b'{"object": "error", "message": "maximum context length is 9", "code": 400}',
            "context_overflow",
            RequestRejected,
        ),
        (
            b'{"object": "error", "message": "boom", "code": 500}',
            "server_error",
            EndpointUnavailable,
        ),
        (b'{"error": null, "detail": "nope"}', "error_in_200", EndpointUnavailable),
        (b'{"message": "nope"}', "error_in_200", EndpointUnavailable),
        (b'{"error": {"code": 429, "message": "slow"}}', "rate_limited", RateLimited),
        (b'{"error": {"code": 400, "message": "n must be 1"}}', "too_many_choices", TooManyChoices),
        (
            b'{"choices": [{"text": "", "error": {"message": "upstream"}}]}',
            "broken_off",
            EndpointUnavailable,
        ),
        (b'{"choices": []}', "no_choices", UnusableReply),
        (b'{"choices": null}', "no_choices", UnusableReply),
    ],
)
def test_a_200_may_hold_no_answer(content, kind, error):
    """An error in a success body is an error."""
    with pytest.raises(error) as caught:
        replies.parse(content, 3)

    assert caught.value.kind == kind


def test_a_refusal_has_words_of_its_own():
    """They are kept, and the answer is told as refused."""
    message = {"content": None, "refusal": "I cannot"}
    body = {"choices": [{"message": message, "finish_reason": "stop"}]}

    choice = replies.parse(json.dumps(body).encode()).choices[0]

    assert (choice.text, choice.finish_reason) == ("I cannot", "refusal")


NAMES = [
    *("message", "content", "index", "finish_reason", "error", "code", "type", "text"),
    *("reasoning", "refusal", "usage", "prompt_tokens", "choices"),
]
ODD = st.recursive(
    st.sampled_from([None, True, 429, 10**40, 1.5, "", "x", "<think>", "\n</think>a", "length"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(ODD, max_size=3), ODD, st.sampled_from([400, 413, 422, 429, 500, 501, 503]))
def test_no_json_whatever_is_a_mistake_of_ours(choices, error, status):
    """Each body is read as choices or as an error of the server."""
    content = json.dumps({"choices": choices, "error": error, "usage": error}).encode()

    with contextlib.suppress(MemoprobeError):
        assert replies.parse(content, 3).choices
    assert isinstance(replies.fault(status, content, None, 3), MemoprobeError)


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
    assert dialects.recognize([{"owned_by": ["vllm"]}, {"owned_by": {}}]) is dialects.PLAIN
