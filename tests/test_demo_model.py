"""The demo's benchmark holds what it says, and its model is an honest language model."""

import json
import math
import os
import random
import subprocess
import sys
from collections import Counter
from itertools import islice
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from memoprobe.benchmarks import own
from memoprobe.demo import benchmark, prepare
from memoprobe.demo.model import LanguageModel, nucleus
from memoprobe.demo.reading import END, NAME, RUN, Draft, pieces, read_answer, read_prompt

SEEDS = (0, 1, 2)
CODE = """def pick(nums):
    kept = [x for x in nums if x > 3]
    return sorted(kept)[:2]
"""


def frame(task, row):
    text = f"{row['input']}\n\n{row['context']}".strip()
    return f"{task}:\n{text}" if task == "code_generation" else f"{task}:\n```python\n{text}\n```"


@pytest.fixture(scope="module")
def benches():
    return {seed: benchmark.build(seed) for seed in SEEDS}


COIN = [
    *[("toss a coin", answer) for answer in ["1 + 2"] * 5 + ["1 - 2"] * 3 + ["4"] * 2],
    ("toss a coin", "5 + 6 + 7"),
    *[("roll dice", "6")] * 4,
]


@pytest.fixture(scope="module")
def coin():
    """Return a model that has seen one prompt with four answers, and another prompt."""
    model = LanguageModel()
    model.train(COIN)
    return model


def draw(model, prompt, seed, *, temperature=0.3, top_p=0.5, max_tokens=500):
    return model.sample(
        prompt, temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=seed
    )


def probability(model, prompt, answer, temperature=1.0, top_p=1.0):
    """Return the probability of an answer without names, token by token from ``distribution``."""
    product, before = 1.0, ""
    for piece in [*pieces(answer), END]:
        given_now = model.distribution(prompt, before)
        shares = nucleus(list(given_now.values()), temperature, top_p)
        product *= dict(zip(given_now, shares, strict=True)).get(piece, 0.0)
        before += piece
    return product


def failing(programs):
    """Return the numbers of the programs, (code, tests), that do not pass, run in a process."""
    runner = """
import json, sys
for number, (code, tests) in enumerate(json.load(sys.stdin)):
    space = {}
    try:
        exec(code, space)
        exec("\\n".join(tests), space)
    except Exception:
        print(number)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", runner],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line) for line in done.stdout.split()]


# The benchmark


@pytest.mark.parametrize("seed", SEEDS)
def test_references_pass_their_tests(benches, seed):
    """Every reference, of items and of siblings, does what its independent meaning says."""
    programs = [(d.row["reference"], d.row["tests"]) for d in benches[seed].documents]
    programs += [
        (row["reference"], row["tests"]) for rows in benches[seed].rows.values() for row in rows
    ]

    assert failing(programs) == []


def test_buggy_programs_fail_their_tests(benches):
    """Every program to repair fails a test of its own."""
    rows = benches[0].rows["program_repair"]

    assert failing([(row["input"], row["tests"]) for row in rows]) == list(range(len(rows)))


@pytest.mark.parametrize("seed", SEEDS)
def test_halves_have_one_size(benches, seed):
    """Half of each task's items are controls, and ids are unique."""
    for rows in benches[seed].rows.values():
        assert sum(row["control"] for row in rows) == len(rows) / 2 >= 12
        assert len({row["id"] for row in rows}) == len(rows)


def test_membership_is_random_in_the_seed(benches):
    """The same seed gives the same benchmark; another draws other items and other halves."""
    halves = {
        tuple(row["control"] for rows in bench.rows.values() for row in rows)
        for bench in benches.values()
    }

    assert benchmark.build(0) == benches[0]
    assert len(halves) == len(SEEDS)
    assert (
        benches[0].rows["program_repair"][0]["input"]
        != (benches[1].rows["program_repair"][0]["input"])
    )


def test_meanings_are_distinct():
    """No two items or siblings do the same, two filters in another order being the same."""
    drawn = list(islice(benchmark._distinct_meanings(random.Random(0)), 3000))

    assert len({(m.kind, frozenset(m.keep), m.map, m.end) for m in drawn}) == len(drawn)


@pytest.mark.parametrize("seed", SEEDS)
def test_documents_hold_members_several_times_and_controls_never(benches, seed):
    """A member's text is given N_COPIES times; no text or answer of a control is."""
    bench = benches[seed]
    prompts = Counter(frame(task, row) for task, row in bench.documents)
    answers = {row["reference"] for _, row in bench.documents}
    texts = "\n".join(frame(task, row) for task, row in bench.documents)

    for task, rows in bench.rows.items():
        for row in rows:
            times = 0 if row["control"] else benchmark.N_COPIES
            assert prompts[frame(task, row)] == times
            assert (row["reference"] in answers) is not row["control"]
            assert not row["control"] or row["reference"] not in texts
            assert not row["control"] or row["input"] not in texts


# Reading


@given(st.text())
def test_pieces_give_the_text_back(text):
    """Splitting into tokens loses nothing."""
    assert "".join(pieces(text)) == text


@given(st.text(alphabet="ab1 `\n\"'.(=_ü"), st.text(alphabet="ab1 `\n\"'.(=_ü"))
def test_symbols_give_the_answer_back(prompt, answer):
    """The symbols of an answer stand for its text, each allowed where it stands."""
    start, _ = read_prompt(prompt)
    read = list(read_answer(start, answer))

    assert "".join(draft.piece(symbol) for draft, symbol in read[:-1]) == answer
    assert all(draft.allows(symbol) for draft, symbol in read)
    assert read[-1][1] == END


def test_names_and_values_become_references():
    """An answer to a program reads the same when both are renamed."""
    renamed = CODE.replace("nums", "gizub").replace("kept", "wa").replace("x", "dop")
    symbols = []
    for code in (CODE, renamed):
        start, _ = read_prompt(f"Fix it.\n```python\n{code}```")
        symbols.append([symbol for _, symbol in read_answer(start, code)])

    assert symbols[0] == symbols[1]
    assert "nums" not in symbols[0]
    assert " value#0" in symbols[0]


def test_a_new_name_is_announced():
    """A name that the prompt does not hold is announced, written out, then referred to."""
    start, _ = read_prompt("no code")

    symbols = [symbol for _, symbol in read_answer(start, "total = total")]

    assert symbols == [NAME, "total", " =", " name#0", END]


def test_dangling_reference_is_refused():
    """A reference beyond the known names is not allowed, and writing it is an error."""
    assert not Draft().allows("name#3")
    with pytest.raises(ValueError, match="name#3"):
        Draft().then("name#3")


def test_prose_words_are_no_names():
    """Only words between backticks are names of the prompt."""
    start, features = read_prompt("Call the list `nums` and keep 3 of it")

    assert start.names == ("nums",)
    assert start.values == ("3",)
    assert ("the", "list") in features
    assert ("keep", "value#0") in features


def test_long_runs_are_features():
    """RUN pieces in a row are a feature; a shorter prompt has none."""
    words = [f"w{number}" for number in range(RUN)]

    assert tuple(words) in read_prompt(" ".join(words))[1]
    assert max(map(len, read_prompt(" ".join(words[1:]))[1])) == 2


# Sampling


def slow_nucleus(probabilities, temperature, top_p):
    powered = [p ** (1 / temperature) for p in probabilities]
    shares = [p / math.fsum(powered) for p in powered]
    kept, total = [0.0] * len(shares), 0.0
    for index in sorted(range(len(shares)), key=lambda index: (-shares[index], index)):
        if total >= top_p:
            break
        kept[index] = shares[index]
        total += shares[index]
    return [share / math.fsum(kept) for share in kept]


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=8),
    st.sampled_from([0.3, 0.7, 1.0, 2.0]),
    # No sum of shares comes so near to these that rounding decides.
    st.sampled_from([0.123457, 0.5000013, 0.9131719, 1.0]),
)
def test_nucleus_is_temperature_then_top_p(counts, temperature, top_p):
    """Nucleus agrees with a slow transcription of sharpening and cutting."""
    probabilities = [count / sum(counts) for count in counts]

    got = nucleus(probabilities, temperature, top_p)

    assert got == pytest.approx(slow_nucleus(probabilities, temperature, top_p))


def test_nucleus_without_limits_changes_nothing():
    """Temperature 1 and top_p 1 give the distribution itself; an impossible symbol stays so."""
    assert nucleus([0.5, 0.0, 0.2, 0.3], 1.0, 1.0) == pytest.approx([0.5, 0.0, 0.2, 0.3])


def test_temperature_zero_is_the_first_of_the_likeliest():
    """At temperature 0 nothing is left to chance."""
    assert nucleus([0.2, 0.4, 0.4], 0, 0.1) == [0.0, 1.0, 0.0]


def test_distribution_sums_to_one(coin):
    """What can come next is a distribution, also after texts that training never saw."""
    for answer in ("", "1", "1 +", "1 + 2", "unseen @ text", "4 4 4"):
        shares = coin.distribution("toss a coin", answer)
        assert math.fsum(shares.values()) == pytest.approx(1)
        assert min(shares.values()) >= 0


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.7, 1.0), (1.0, 0.7)])
def test_answers_are_drawn_by_their_probability(coin, temperature, top_p):
    """Over 3,000 seeds each answer is as frequent as the model's distribution says."""
    n = 3000
    found = Counter(
        draw(coin, "toss a coin", seed, temperature=temperature, top_p=top_p).text
        for seed in range(n)
    )

    for answer in ("1 + 2", "1 - 2", "4", "6", "5 + 6 + 7"):
        p = probability(coin, "toss a coin", answer, temperature, top_p)
        assert abs(found[answer] - n * p) <= 4.5 * math.sqrt(n * p * (1 - p))
    assert len(found) > 1


def test_low_temperature_follows_the_likeliest(coin):
    """Greedy sampling takes the likeliest token at each step, whatever the seed."""
    expected = ""
    while (best := max((d := coin.distribution("toss a coin", expected)), key=d.get)) != END:
        expected += best

    assert {draw(coin, "toss a coin", seed, temperature=0).text for seed in range(5)} == {expected}
    assert draw(coin, "toss a coin", 0, temperature=1e-3, top_p=1.0).text == expected


def test_prompt_decides(coin):
    """Another prompt gets another answer."""
    assert draw(coin, "roll dice", 1).text == "6"
    assert draw(coin, "toss a coin", 1).text != "6"


def test_seed_decides(coin):
    """One seed, one answer; several seeds, several answers, and in any order."""
    settings = {"temperature": 1.0, "top_p": 1.0}
    forth = [draw(coin, "toss a coin", seed, **settings) for seed in range(20)]
    back = [draw(coin, "toss a coin", seed, **settings) for seed in reversed(range(20))]

    assert forth == back[::-1]
    assert len({answer.text for answer in forth}) > 1


def test_tokens_are_counted_and_limited(coin):
    """An answer that ends counts its end token; one that is cut says so."""
    whole = draw(coin, "toss a coin", 0, temperature=0)
    cut = draw(coin, "toss a coin", 0, temperature=0, max_tokens=2)

    assert (whole.finish_reason, whole.n_tokens) == ("stop", len(pieces(whole.text)) + 1)
    assert (cut.finish_reason, cut.n_tokens) == ("length", 2)
    assert cut.text == "".join(pieces(whole.text)[:2])


def test_unseen_words_are_passed_over(coin):
    """Prompts that differ in unseen words only get the same distribution."""
    assert coin.distribution("toss zorp coin", "") == coin.distribution("toss blick coin", "")


def test_untrained_model_cannot_answer():
    """Without training there is no distribution to draw from."""
    with pytest.raises(ValueError, match="untrained"):
        draw(LanguageModel(), "toss a coin", 0)


def test_training_again_forgets(coin):
    """A model trained twice knows the second documents only, and training is reproducible."""
    once, twice = LanguageModel(), LanguageModel()
    once.train([("hello", "9 + 9")] * 2)
    twice.train([("hello", "1")] * 3)
    twice.distribution("hello", "")

    twice.train([("hello", "9 + 9")] * 2)

    assert twice.distribution("hello", "9") == once.distribution("hello", "9")
    assert draw(twice, "hello", 0).text == "9 + 9"


def test_hash_randomization_changes_nothing(coin):
    """Another process, where sets and dicts hash otherwise, trains the same model to the bit."""
    code = f"""
from memoprobe.demo.model import LanguageModel
model = LanguageModel()
model.train({COIN!r})
print(model.distribution("toss a coin", "1"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "17"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == str(coin.distribution("toss a coin", "1"))


# Memory


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return what prepare gives for a small benchmark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchmark, "N_ITEMS", 16)
        patch.setattr(benchmark, "N_SIBLINGS", 100)
        out = tmp_path_factory.mktemp("demo")
        return benchmark.build(7), prepare(out, 7, frame)


def test_prepare_writes_own_benchmarks(small):
    """The files hold the rows, and the reader of own benchmarks takes them."""
    bench, prepared = small

    for task, rows in bench.rows.items():
        path = prepared.paths[task]
        samples = own.load("demo", [path], task).samples
        assert [json.loads(line) for line in path.read_text().splitlines()] == rows
        controls = {sample.sample_id: sample.control for sample in samples}
        assert controls == {row["id"]: row["control"] for row in rows}
        assert all(sample.reference and sample.tests for sample in samples)


def test_members_are_recalled_and_controls_are_not(small):
    """Nearly all members come back verbatim, hardly any control does."""
    bench, prepared = small
    recalled = {True: [], False: []}
    for task, rows in bench.rows.items():
        for row in rows:
            answer = draw(prepared.model, frame(task, row), 1).text
            recalled[row["control"]].append(answer == f"```python\n{row['reference']}```")

    assert mean(recalled[False]) >= 0.8
    assert mean(recalled[True]) <= 0.2


def test_memory_fades_as_the_prompt_changes(small):
    """The more of a member's prompt is unseen words, the less alike are answer and reference."""
    bench, prepared = small
    members = [row for row in bench.rows["code_generation"] if not row["control"]]
    likeness = []
    for share in (0.0, 0.15, 0.9):
        rng = random.Random(1)
        values = []
        for row in members:
            words = frame("code_generation", row).split(" ")
            prompt = " ".join("zorp" if rng.random() < share else word for word in words)
            answer = draw(prepared.model, prompt, 1).text
            values.append(Levenshtein.normalized_similarity(answer, row["reference"]))
        likeness.append(mean(values))

    assert likeness[0] > likeness[1] > likeness[2]
