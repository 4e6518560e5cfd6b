"""Ask servers how likely references are, in every way and with every quirk."""

from dataclasses import replace

import pytest

from memoprobe import likelihood
from memoprobe.benchmarks.code_generation import humaneval_sample
from memoprobe.endpoints import retry
from memoprobe.errors import ConfigError, EndpointDown, RateLimited
from memoprobe.pipeline.probing import Asking, Keeping, probe
from memoprobe.plan import Design
from memoprobe.records import Failure, Likelihood, Sample, Sampling, Variant
from memoprobe.study import ModelSpec
from tests.scoring_servers import CONTEXT, MODEL, TEMPLATE, expected, serve

WAYS = [
    pytest.param("chat", {"prompt_logprobs"}, id="vLLM, chat"),
    pytest.param("completions", {"prompt_logprobs"}, id="vLLM, completions"),
    pytest.param("completions", {"echo"}, id="echo"),
    pytest.param("completions", {"generate"}, id="TGI"),
]


def sample(number=0, **changes):
    values = {
        "benchmark": "own",
        "sample_id": f"s{number}",
        "task": "code_generation",
        "language": "python",
        "input_kind": "prose",
        "text": f"Add {number} to a number.",
        "reference": f"def add(a):\n    # größer\n    return a + {number}\n",
    }
    return Sample(**{**values, **changes})


def variants(item, levels=2):
    return [
        Variant(
            benchmark=item.benchmark,
            sample_id=item.sample_id,
            perturbation="lexical",
            level=level,
            text=item.text.replace("Add", ("Add", "Plus")[level]),
            distance=0.1 * level,
            edit_share=0.1 * level,
            rename_map={},
        )
        for level in range(levels)
    ]


def design(interface):
    return Design(
        model="ours",
        served_model=MODEL,
        interface=interface,
        sampling=Sampling(),
        seed=3,
        answers=3,
        repeats=3,
        width=3,
        extra={},
    )


def ask(server, interface, samples, closed=frozenset(), **spec):
    """Return how the asking of one server ended, and what was kept."""
    kept = []
    keeping = Keeping(
        variants=variants,
        closed=lambda model, item: set(closed),
        save=lambda *found: kept.extend(found),
    )
    urls = spec.pop("base_urls", (server.url,))
    model = ModelSpec(name="ours", base_urls=urls, interface=interface, timeout_s=20, **spec)
    asking = Asking(spec=model, key="sk-secret-key", design=design(interface))
    probed = probe([asking], samples, keeping, lambda progress: None)
    return probed, sorted(kept, key=lambda each: (each.sample_id, each.level))


def front(request):
    """Return all that stands in front of a request's reference, in the server's template."""
    if request.interface == "chat":
        return TEMPLATE.format(request.prompt, request.given)
    return request.prompt + request.given


@pytest.mark.parametrize(("interface", "knows"), WAYS)
def test_every_way_tells_the_same(interface, knows):
    """The likelihood is that of the tokens that begin in the reference, whatever the shape."""
    item = sample()
    with serve(knows=frozenset(knows)) as server:
        probed, kept = ask(server, interface, [item])

    assert probed.fault is None
    assert [each.level for each in kept] == [0, 1]
    for each, variant in zip(kept, variants(item), strict=True):
        request = likelihood.request(item, variant, design(interface))
        values, n_bytes = expected(front(request), request.reference)
        assert each.total == pytest.approx(sum(values))
        assert each.n_tokens == len(values)
        assert each.n_bytes == n_bytes > 30
        assert likelihood.unpack(each.tokens) == pytest.approx([] if each.level else values)
        assert each.key == request.slots[0].key
    assert kept[0].total != kept[1].total


LLAMA = frozenset({"content"})


def test_llama_server_is_refused_with_the_reasons():
    """A server that ignores what it does not know is refused, before anything is measured."""
    with serve(knows=LLAMA) as server:
        probed, kept = ask(server, "completions", [sample()])

    assert kept == []
    assert isinstance(probed.fault, ConfigError)
    message = str(probed.fault)
    for way in ("prompt_logprobs: the reply holds no", "echo with logprobs: the reply holds no"):
        assert way in message
    assert "TGI's /generate: " in message
    assert "vLLM gives them" in message


def test_a_chat_without_prompt_logprobs_is_refused():
    """In a chat there is one way, and another interface may have more."""
    with serve(knows=frozenset({"echo"})) as server:
        probed, _ = ask(server, "chat", [sample()])

    assert 'interface = "completions"' in str(probed.fault)


QUIRKS = [
    pytest.param({"change": lambda e: [(t, -1.5) for t, _ in e]}, "equally likely", id="constant"),
    pytest.param({"change": lambda e: e[:-3]}, "do not spell", id="cut off at the end"),
    pytest.param({"counts": lambda n: n + 1}, "entries for", id="other number of tokens"),
    pytest.param(
        {"change": lambda e: [*e[:-1], (e[-1][0], float("nan"))]}, "nan stands", id="not finite"
    ),
    pytest.param(
        {"change": lambda e: [*e[:-1], (e[-1][0], -9999.0)]}, "-9999.0 stands", id="minus infinity"
    ),
    pytest.param({"change": lambda e: [*e[:-1], (e[-1][0], None)]}, "None stands", id="nothing"),
    pytest.param({"change": lambda e: [(t, 2.5) for t, _ in e]}, "2.5 stands", id="above 0"),
    pytest.param({"change": lambda e: []}, "holds no", id="none"),
]


@pytest.mark.parametrize(("quirk", "complaint"), QUIRKS)
def test_numbers_that_cannot_be_right_are_refused(quirk, complaint):
    """The proof believes no list that is constant, cut, miscounted or no log-probabilities."""
    with serve(**quirk) as server:
        probed, kept = ask(server, "completions", [sample()])

    assert complaint in str(probed.fault)
    assert kept == []


def test_one_bad_reply_is_one_failure():
    """A reply that cannot be right fails its own slot; the others are kept."""
    with serve() as server:
        server.script.append((200, {"choices": [{"text": "x", "index": 0}]}))
        probed, kept = ask(server, "completions", [sample()])

    assert probed.fault is None
    (failure,) = (each for each in kept if isinstance(each, Failure))
    assert (failure.kind, failure.permanent) == ("no_likelihood", True)
    assert len(kept) == 2


def test_a_prompt_that_was_cut_is_a_failure():
    """A server that keeps the end of a long prompt alone measures another prompt: refused."""
    long = sample(1, text="Add one more word to a number. " * 12)
    with serve(change=lambda entries: entries[-60:]) as server:
        probed, kept = ask(server, "completions", [sample(), long])

    failures = [each for each in kept if isinstance(each, Failure)]
    assert probed.fault is None
    assert [each.sample_id for each in failures] == ["s1", "s1"]
    assert all("do not spell" in each.detail for each in failures)
    assert len(kept) == 4


def test_a_reference_that_does_not_fit_is_a_failure():
    """A prompt and reference beyond the context are refused by the server, never cut."""
    long = sample(1, reference="x = 1\n" * CONTEXT)
    with serve() as server:
        probed, kept = ask(server, "completions", [sample(), long])

    assert probed.fault is None
    assert [each.kind for each in kept if isinstance(each, Failure)] == ["context_overflow"] * 2
    assert len(kept) == 4


@pytest.mark.parametrize("way", ["prompt_logprobs", "echo", "generate"])
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param((500, {"error": "a moment, please"}), id="status"),
        pytest.param((200, {"error": "a moment, please"}), id="error in 200"),
        pytest.param((200, "no object"), id="no object"),
    ],
)
def test_a_fault_that_passes_is_tried_again(way, reply, monkeypatch):
    """The engine retries as it does for answers, in whatever way it asks."""
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.001)
    with serve(knows=frozenset({way})) as server:
        whole = server.reply
        asked = []

        def once(path, body):
            asked.append(body)
            proofs = {"prompt_logprobs": 1, "echo": 2, "generate": 3}[way]
            return reply if len(asked) == proofs + 1 else whole(path, body)

        server.reply = once
        probed, kept = ask(server, "completions", [sample()])

    assert (probed.progress.retries, len(kept)) == (1, 2)
    assert all(isinstance(each, Likelihood) for each in kept)


BUSY = (429, {"error": {"message": "slow down"}})


def test_a_busy_server_is_asked_for_its_proof_again(monkeypatch):
    """A server that has no time at first is no server that cannot."""
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.001)
    with serve() as server:
        server.at_first.extend([BUSY, (500, {"error": "a moment, please"})])
        probed, kept = ask(server, "completions", [sample()])

    assert (probed.fault, len(kept)) == (None, 2)


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        pytest.param(BUSY, RateLimited, id="busy"),
        pytest.param((402, {"error": "pay first"}), EndpointDown, id="no quota"),
    ],
)
def test_a_server_that_stays_busy_is_told_as_such(reply, fault, monkeypatch):
    """What keeps the proof away is the fault, and no other way is tried in its place."""
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.001)
    with serve() as server:
        server.at_first.extend([reply] * 20)
        probed, kept = ask(server, "completions", [sample()])

    assert isinstance(probed.fault, fault)
    assert kept == []
    assert {"prompt_logprobs"} <= {*server.requests[-1]}


def test_what_is_there_is_not_asked_again():
    """A second run sends nothing, not even the proof."""
    with serve() as server:
        _, kept = ask(server, "completions", [sample()])
        sent = len(server.requests)
        probed, more = ask(server, "completions", [sample()], {each.key for each in kept})

    assert (len(server.requests), more, probed.fault) == (sent, [], None)
    assert sent == 3


def test_what_has_no_reference_is_left_out_and_counted():
    """Samples without a reference are counted by model and benchmark."""
    with serve() as server:
        probed, kept = ask(server, "completions", [sample(), sample(1, reference=None)])

    assert probed.left_out == {("ours", "own"): 1}
    assert {each.sample_id for each in kept} == {"s0"}


def test_replicas_share_the_work():
    """A sample's levels go to one replica; one that is down leaves its share to the other."""
    items = [sample(number) for number in range(6)]
    with serve() as one, serve() as other:
        probed, kept = ask(one, "completions", items, base_urls=(one.url, other.url))

    assert (probed.fault, len(kept)) == (None, 12)
    assert one.requests
    assert other.requests
    places = {(each.sample_id, each.endpoint) for each in kept}
    assert len(places) == 6


def test_a_server_that_is_down_is_told():
    """Nobody listening is a fault of the endpoint, not a reason against a way."""
    with serve() as server:
        url = server.url
    probed, kept = ask(server, "completions", [sample()], base_urls=(url,))

    assert f"cannot reach {url}" in str(probed.fault)
    assert kept == []


def test_further_fields_do_not_change_what_is_asked():
    """A study's further fields go along, ours win."""
    extra = {"max_tokens": 500, "chat_template_kwargs": {"enable_thinking": False}}
    with serve() as server:
        ask(server, "chat", [sample()], extra_body=extra)

    assert {body["max_tokens"] for body in server.requests} == {1}
    assert all(not body["chat_template_kwargs"]["enable_thinking"] for body in server.requests)


def test_a_key_stays_out_of_the_reasons():
    """A server that repeats the key in its error does not bring it into ours."""
    with serve() as server:
        server.reply = lambda path, body: (400, {"error": {"message": "bad sk-secret-key"}})
        probed, _ = ask(server, "completions", [sample()])

    assert "bad [redacted]" in str(probed.fault)
    assert "secret-key" not in str(probed.fault)


def test_a_level_that_its_reference_does_not_continue_is_a_failure():
    """The other levels are asked; it is told once and for all, and not asked for."""
    row = {
        "task_id": "Own/1",
        "prompt": 'def area(radius):\n    """ Return the area.\n    """\n',
        "canonical_solution": "    return 3 * radius ** 2\n",
        "test": "def check(candidate):\n    assert candidate(0) == 0\n",
        "entry_point": "area",
    }
    item = humaneval_sample(row, {})
    original = replace(variants(item, 1)[0], text=item.text)
    broken = 'Return it.\n    """\n    return 0\n\n\ndef other(radius):\n    """ Nothing.'
    levels = [original, replace(original, level=1, text=broken), replace(original, level=2)]
    kept = []
    keeping = Keeping(
        variants=lambda sample: levels,
        closed=lambda model, sample: set(),
        save=lambda *found: kept.extend(found),
    )
    with serve() as server:
        spec = ModelSpec(name="ours", base_urls=(server.url,), interface="completions")
        asking = Asking(spec=spec, key=None, design=design("completions"))
        probed = probe([asking], [item], keeping, lambda progress: None)

    failures = [each for each in kept if isinstance(each, Failure)]
    assert [(f.level, f.kind, f.permanent, f.probe) for f in failures] == [
        (1, "no_reference", True, "likelihood")
    ]
    assert sorted(each.level for each in kept if isinstance(each, Likelihood)) == [0, 2]
    assert (probed.fault, probed.left_out) == (None, {})
