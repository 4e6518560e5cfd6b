"""Paraphrases by models and files pass the same gates, and a run remembers where they came from."""

import json
import random
import re
from itertools import islice, pairwise

import pytest
import textdistance
from hypothesis import given
from hypothesis import strategies as st

from memoprobe import study
from memoprobe.errors import ConfigError
from memoprobe.perturbations import PERTURBATIONS, distances, sources, sources_endpoint
from memoprobe.perturbations.levels import distance
from memoprobe.perturbations.meaning import drift
from memoprobe.perturbations.paraphrase import Rejected, Way
from memoprobe.perturbations.protected import facts, loss, sentences, task_identifiers
from memoprobe.records import Sample
from tests import fakes
from tests.local import needs_shared
from tests.test_cli import memoprobe, rows
from tests.test_paraphrase import human_eval, mbpp

TASK = """Write a function to find the sum of all values that are in the given list.

    Return the largest value of the list as the result, and -1 for
    an empty list. The elements are given in any order.
    >>> solve([1, 2])
    3
    """
SYNONYMS = {
    "find": "compute",
    "given": "supplied",
    "values": "entries",
    "function": "routine",
    "elements": "items",
    "result": "outcome",
    "write": "create",
    "return": "yield",
}


def sample(text, **fields):
    return Sample(
        **{
            "benchmark": "own",
            "sample_id": "1",
            "task": "code_generation",
            "language": "python",
            "input_kind": "prose",
            "text": text,
            "entry_point": "solve",
        }
        | fields
    )


def synonyms(text, n):
    """Return a text with its words of the first ``n`` entries of SYNONYMS replaced."""
    chosen = dict(list(SYNONYMS.items())[:n])

    def new(match):
        word = chosen.get(match[0].lower(), match[0])
        return word.capitalize() if match[0][0].isupper() else word

    return re.sub(r"\w+", new, text)


def reworded(text, rewordings, levels=5, **fields):
    way = Way("fixed")
    perturb = sources.reworded(lambda _: rewordings, way)
    return perturb(sample(text, **fields), levels, random.Random(0))


def by_synonyms(texts, draw):
    """Return rewordings that differ in their number of synonyms; a second draw has none."""
    return [[] if draw else [synonyms(text, n) for n in range(1, 9)] for text in texts]


def test_sentences_are_reworded_one_by_one_and_blocks_stay():
    """Levels rise, lose nothing, extend each other and keep examples and line breaks."""
    item = sample(TASK)
    levels = reworded(TASK, by_synonyms)
    texts = [variant.text for variant in levels.variants]

    assert len(texts) == 6
    known = facts(TASK, task_identifiers(item))
    for weaker, stronger in pairwise(levels.variants):
        assert weaker.distance < stronger.distance
        assert weaker.edit_share < stronger.edit_share
        assert loss(TASK, known, stronger.text) is None
        assert stronger.text.endswith("\n    >>> solve([1, 2])\n    3\n    ")
    assert "Create a routine to compute the sum of all entries that are in the supplied" in texts[5]
    assert (
        "\n\n    Yield the largest value of the list as the outcome, and -1 for an\n    empty"
        in texts[5]
    )
    assert set(levels.rejected) == {"equal"}


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        ("Compute the sum of 3 values, or `x`", "identifier"),
        ("Compute the total of 4 values by solve, or `x`", "number"),
        ("Compute the total of 3 values by solve, or x", "code"),
        ("Compute the 'total' of 3 values by solve, or `x`", "quote"),
        ("FIND the sum of  3 values by solve, or `x`.", "equal"),
        ("Do not find the sum of 3 values by solve, or `x`", "negation"),
        ("Find the difference of 3 values by solve, or `x`", "opposite"),
        ("Find the average sum of 3 values by solve, or `x`", "term"),
        ("Find the sum of > 3 values by solve, or `x`", "symbol"),
        ("Find " + "the very " * 20 + "sum of 3 values by solve, or `x`", "length"),
        (Rejected("unread"), "unread"),
    ],
)
def test_a_sentence_that_lost_its_meaning_costs_only_itself(new, reason):
    """It is counted by its reason, and the other sentence is reworded all the same."""
    text = "Find the sum of 3 values by solve, or `x`. Return the given result of it."
    levels = reworded(text, lambda texts, draw: [[new], [synonyms(texts[1], 9)]])

    assert [variant.text for variant in levels.variants] == [
        text,
        "Find the sum of 3 values by solve, or `x`. Yield the supplied outcome of it.",
    ]
    assert levels.rejected[reason] >= 1


@pytest.mark.parametrize(
    ("original", "candidate", "reason"),
    [
        ("Find the largest number.", "Find the biggest number.", None),
        ("Find the largest number.", "Find the smallest number.", "opposite"),
        ("Find the largest and smallest.", "Find the smallest and the largest.", None),
        ("Sort in ascending order.", "Sort them in descending order.", "term"),
        ("Find the first and last item.", "Find the first item.", "opposite"),
        ("Find the first item.", "Find the item at the beginning.", None),
        ("Remove all even numbers.", "Remove all odd numbers.", "term"),
        ("Find the cumulative sum of it.", "Find the sum of it.", "term"),
        ("Find the mean of the list.", "Find the average of the array.", None),
        ("Return it if x <= y.", "Return it if x < y.", "symbol"),
        ("Check whether it is so or not.", "Check if it is so.", None),
        ("Given a non-empty list.", "Given a list.", "negation"),
        ("Check if it is a prime.", "Check if it is not a prime.", "negation"),
        ("Do it unless x is empty.", "Do it if x is empty.", "negation"),
        ("Don't use a list.", "Do not use a list.", None),
        ("Return it.", "Give it back to the caller please.", None),
        ("Return the sum of all numbers in the list of lists.", "Sum.", "length"),
        ("Sort the list.", "Order an array.", "stranger"),
    ],
)
def test_signs_of_another_meaning(original, candidate, reason):
    """Terms, symbols, negations, opposites, lengths and texts without a common word tell."""
    assert drift(original, candidate) == reason


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ('"Compute the sum"', "Compute the sum."),
        ("**Compute the\n sum**", "Compute the sum."),
        ("- Compute the sum", "Compute the sum."),
        ("Compute the sum!", "Compute the sum!"),
    ],
)
def test_what_models_put_around_a_sentence_is_taken_off(new, expected):
    """Quotation marks and stars go, a lost full stop comes back."""
    levels = reworded("Find the sum.", lambda texts, draw: [[new]])

    assert levels.variants[1].text == expected


def test_a_sentence_without_full_stop_gets_none():
    """The end of a text is left as it was."""
    levels = reworded("find the sum", lambda texts, draw: [["Compute the sum."]])

    assert levels.variants[1].text == "Compute the sum"


def test_each_draw_is_told_its_number_and_the_best_is_kept():
    """A source that finds more when it is asked again is asked again."""
    text, drawn = "Find all the given values of it.", []

    def wider(texts, draw):
        drawn.append(draw)
        return [[synonyms(each, n) for n in range(1, draw + 2)] for each in texts]

    levels = reworded(text, wider, levels=3)

    assert drawn == [0, 1, 2]
    assert len(levels.variants) == 4


def test_code_has_no_prose_to_paraphrase():
    """A perturbation of prose says so of code."""
    with pytest.raises(ConfigError, match="fixed alters prose"):
        reworded("x = 1", by_synonyms, input_kind="code")


@given(st.text(max_size=300) | st.text(st.sampled_from(" \n.`'\"aAnfi>#{}-12"), max_size=300))
def test_any_text_can_be_given_to_a_source(text):
    """Level 0 is the text, and no level loses anything of it."""
    levels = reworded(text, lambda texts, draw: [[f"please {each}"] for each in texts])

    assert levels.variants[0].text == text
    known = facts(text, {"solve"})
    assert all(loss(text, known, each.text) is None for each in levels.variants[1:])


# Orders ----------------------------------------------------------------------------------


@given(st.text("ab c", max_size=30), st.text("ab c", max_size=30))
def test_the_artifacts_order_is_the_cosine_of_letters(text, other):
    """It agrees with the library that the artifact uses."""
    measured = distances.by_letters(text, [other])

    assert measured == [pytest.approx(textdistance.cosine.distance(text, other), abs=1e-12)]
    assert distances.by_letters(text, [text]) == [0]


def test_orders_may_disagree_and_the_levels_follow_theirs():
    """An anagram is near by letters and far by words; the stored distance is the order's."""
    text = "sum the tops list"
    new = ["mus the spot list", "sum the tops array xyz"]
    found = {}
    for order in ("words", "artifact"):
        perturb = sources.given(lambda _: new, Way("fixed", distances.ORDERS[order]()))
        found[order] = perturb(sample(text), 2, random.Random(0)).variants[1:]

    assert [each.text for each in found["words"]] == new[::-1]
    assert [each.text for each in found["artifact"]] == new
    assert found["artifact"][0].distance == 0
    assert [each.distance for each in found["words"]] == [distance(text, t) for t in new[::-1]]


# A study's table -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "perturbation", "message"),
    [
        ({"source": "file"}, None, "paraphrase-file needs path"),
        ({"source": "endpoint", "model": "m"}, None, "paraphrase-endpoint needs base_url"),
        ({}, "paraphrase-endpoint", "needs base_url, model"),
        ({"source": "bart", "path": "x"}, None, "path under .paraphrase.: no keys"),
        ({"order": "words"}, None, "no keys of source = 'lexical'"),
        ({"source": "bart"}, "paraphrase-file", "needs source = 'file' under"),
        ({"source": "bart", "beams": 1}, None, "beams"),
        ({"source": "brat"}, None, "must be one of lexical, bart, endpoint, file"),
        ({"sauce": "bart"}, None, "did you mean 'source'"),
        ({"source": "bart", "order": "letters"}, None, "one of words, embeddings, artifact"),
        ({"source": "bart"}, "lexical", None),
        ({"source": "bart"}, None, None),
        ({}, "bart", None),
    ],
)
def test_a_paraphrase_table_is_checked(tmp_path, table, perturbation, message):
    """What is missing, foreign, contradictory or unknown is said; what fits is read."""
    lines = [f"perturbation = {json.dumps(perturbation)}"] if perturbation else []
    lines += ["[paraphrase]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    lines += ['[[models]]\nname = "m"\nbase_urls = ["http://localhost/v1"]']
    lines += ['[[benchmarks]]\nname = "mbpp"\n']
    path = tmp_path / "s.toml"
    path.write_text("\n".join(lines), encoding="utf-8")

    if message:
        with pytest.raises(ConfigError, match=message):
            study.load(path)
    else:
        assert study.load(path).paraphrase.source == table.get("source")


# Whole runs ------------------------------------------------------------------------------

TEXTS = [
    "Write a function to find the sum of all values that are in the given list.",
    "Write a function to return the largest of the given elements as the result.",
    "Write a function that will find and return all values of the given list.",
]


def write_study(path, fake, table):
    """Write a study over three prose items and a repair, paraphrased as a table says."""
    items = [{"id": f"p{n}", "input": text, "reference": "def solve(): pass"}
             for n, text in enumerate(TEXTS)]  # fmt: skip
    (path / "prose.jsonl").write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    code = {"id": "r", "input": "def f(one, two):\n    return one - two\n",
            "reference": "def f(one, two):\n    return one + two\n"}  # fmt: skip
    (path / "code.jsonl").write_text(json.dumps(code), encoding="utf-8")
    text = f"""
    repeats = 1
    answers = 1
    [paraphrase]
    {table}
    [[models]]
    name = "fake"
    base_urls = ["{fake.url}"]
    [[benchmarks]]
    path = "prose.jsonl"
    task = "code_generation"
    [[benchmarks]]
    path = "code.jsonl"
    task = "program_repair"
    """
    (path / "s.toml").write_text(text, encoding="utf-8")
    return path / "s.toml"


def paraphraser(prompt, seed):
    """Answer as a paraphraser where one is asked, some words the further the stronger."""
    numbered = re.findall(r"^(\d+)\. (.*)$", prompt, re.MULTILINE)
    if not numbered:
        return fakes.answer(prompt, seed)
    place = [s in prompt for s in sources_endpoint.STRENGTHS].index(True)
    lines = [f"{number}. {synonyms(text, place + 1 + seed % 4)}" for number, text in numbered]
    return "Sure!\n" + "\n".join(lines)


def endpoint_table(fake, more=""):
    return (
        f'source = "endpoint"\nbase_url = "{fake.url}"\nmodel = "para"\norder = "words"\n'
        f'api_key_env = "PARA_KEY"\n{more}'
    )


def served(**behaviour):
    return fakes.serve(models=["fake", "para"], text_of=paraphraser, **behaviour)


@pytest.fixture
def key(monkeypatch):
    """Set the paraphraser's key."""
    monkeypatch.setenv("PARA_KEY", "top-secret-paraphrase-key")
    return "top-secret-paraphrase-key"


def test_an_endpoint_is_asked_once_and_its_replies_are_kept(tmp_path, key):
    """Replies lie beside the answers, variants follow from them, and a second run asks nothing."""
    with served() as fake:
        path = write_study(tmp_path, fake, endpoint_table(fake))
        memoprobe("run", path, "--db", "run.db")
        asked = [request for request in fake.requests if request["model"] == "para"]
        n = len(fake.requests)
        memoprobe("run", path, "--db", "run.db")

    assert len(fake.requests) == n
    assert {request["temperature"] for request in asked} == {0.8}
    assert {request["n"] for request in asked} == {2}
    kept = rows("run.db", "SELECT * FROM responses WHERE model = 'paraphraser/para'")
    assert len(kept) == sum(request["n"] for request in asked)
    assert {row["perturbation"] for row in kept} == {"paraphrase-endpoint"}
    made = rows("run.db", "SELECT * FROM variants ORDER BY sample_id, level")
    prose = [row for row in made if row["benchmark"] == "prose"]
    assert {row["perturbation"] for row in prose} == {"paraphrase-endpoint"}
    assert {row["perturbation"] for row in made if row["benchmark"] == "code"} == {"rename"}
    for first, second in pairwise(prose):
        assert first["distance"] < second["distance"] or second["level"] == 0
    assert max(row["level"] for row in prose) >= 4
    answered = rows("run.db", "SELECT count(*) AS n FROM responses WHERE model = 'fake'")
    assert answered == [{"n": len(made)}]
    assert key.encode() not in (tmp_path / "run.db").read_bytes()
    assert any(header.get("authorization") == f"Bearer {key}" for header in fake.headers)
    status = json.loads(memoprobe("status", "run.db", "--json"))
    assert {cell["model"] for cell in status["cells"]} == {"fake"}
    pools = rows("run.db", "SELECT DISTINCT pool FROM comparison_rows")
    assert pools == [{"pool": "default"}]


def test_samples_with_too_few_candidates_are_asked_about_again(tmp_path, key):
    """A paraphraser that says the same each time is asked in three rounds and no more."""

    def parrot(prompt, seed):
        return paraphraser(prompt, 0) if "1. " not in prompt else "1. the same again"  # fmt: skip

    with fakes.serve(models=["fake", "para"], text_of=parrot) as fake:
        path = write_study(tmp_path, fake, endpoint_table(fake, "candidates = 1"))
        memoprobe("run", path, "--db", "run.db")

    asked = [request for request in fake.requests if request["model"] == "para"]
    assert len(asked) == 3 * len(TEXTS) * 5
    assert len({request["seed"] for request in asked}) == len(asked)
    rejected = rows("run.db", "SELECT sum(n) AS n FROM rejection_rows WHERE reason = 'length'")
    assert rejected == [{"n": len(asked)}]


def test_a_paraphraser_that_dies_stops_the_run_which_then_goes_on(tmp_path, key):
    """No variant is made of half the replies, and none is asked for twice."""
    refusal = (500, {}, {"error": {"message": "out of order"}})
    with served(fail_if=lambda prompt: refusal if "from scratch" in prompt else None) as fake:
        path = write_study(tmp_path, fake, endpoint_table(fake))
        text = memoprobe("run", path, "--db", "run.db", code=75)
        first = len([r for r in fake.requests if "from scratch" not in str(r)])
        assert rows("run.db", "SELECT count(*) AS n FROM variants") == [{"n": 0}]
        fake.fail_if = lambda prompt: None
        memoprobe("run", path, "--db", "run.db")

    assert "no reply about some sentences" in text
    others = [r for r in fake.requests if r["model"] == "para" and "from scratch" not in str(r)]
    assert first >= 4 * len(TEXTS)
    assert len(others) == len({(r["seed"], str(r["messages"])) for r in others})


def test_another_paraphraser_is_drift(tmp_path, key):
    """A changed model or temperature of the source is refused by name, other models may join."""
    with served() as fake:
        memoprobe("run", write_study(tmp_path, fake, endpoint_table(fake)), "--db", "run.db")
        hotter = write_study(tmp_path, fake, endpoint_table(fake, "temperature = 0.1"))
        text = memoprobe("run", hotter, "--db", "run.db", code=2)
        path = write_study(tmp_path, fake, 'source = "lexical"')
        other = memoprobe("run", path, "--db", "run.db", code=2)

    assert "paraphrase.paraphrase-endpoint.temperature: was 0.8, is 0.1" in text
    assert "perturbation.prose: was 'paraphrase-endpoint', is 'default'" in other


def test_the_key_comes_from_the_environment_alone(tmp_path):
    """A variable that is not set is named before anything is sent."""
    with served() as fake:
        path = write_study(tmp_path, fake, endpoint_table(fake))
        text = memoprobe("run", path, "--db", "run.db", code=2)

    assert "[paraphrase]: the environment variable PARA_KEY is not set" in text
    assert fake.requests == []


def test_a_plan_asks_no_paraphraser(tmp_path):
    """Its texts are reckoned as long as the originals, at every level."""
    with served() as fake:
        path = write_study(tmp_path, fake, endpoint_table(fake))
        numbers = json.loads(memoprobe("plan", path, "--json"))

    assert fake.requests == []
    assert numbers["variants"] == 3 * 6 + 4  # f, one, two


def write_candidates(path, lines):
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def candidates():
    return [
        {
            "benchmark": "prose",
            "id": f"p{n}",
            "candidates": [synonyms(text, k) for k in range(8, -1, -1)],
        }
        for n, text in enumerate(TEXTS)
    ]


def test_a_file_of_paraphrases_goes_through_the_gates(tmp_path):
    """No-ops are counted, levels rise, and an edited file is drift."""
    write_candidates(tmp_path / "para.jsonl", candidates())
    with fakes.serve() as fake:
        path = write_study(tmp_path, fake, 'source = "file"\npath = "para.jsonl"\norder = "words"')
        memoprobe("run", path, "--db", "run.db")
        write_candidates(tmp_path / "para.jsonl", candidates()[:2])
        text = memoprobe("run", path, "--db", "run.db", code=2)

    made = rows("run.db", "SELECT * FROM variants WHERE benchmark = 'prose'")
    assert {row["perturbation"] for row in made} == {"paraphrase-file"}
    assert len(made) > len(TEXTS) * 3
    assert "paraphrase.paraphrase-file.sha256: was" in text
    assert rows("run.db", "SELECT sum(n) AS n FROM rejection_rows WHERE reason = 'equal'")[0]["n"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (None, "paraphrase file para.jsonl cannot be read: No such file"),
        ([{"benchmark": "other", "id": "p0", "candidates": []}], "has no row of prose; it has ot"),
        ([{"benchmark": "prose", "id": "p0"}], "para.jsonl, line 1: "),
        ([{"benchmark": "prose", "id": "p0", "candidates": [1]}], "line 1: expected a list of t"),
        (candidates() + candidates()[:1], "line 4: prose 'p0' stands in an earlier line already"),
    ],
)
def test_a_wrong_file_of_paraphrases_is_told(tmp_path, lines, message):
    """The message names the file, the line and what is expected."""
    if lines is not None:
        write_candidates(tmp_path / "para.jsonl", lines)
    with fakes.serve() as fake:
        path = write_study(tmp_path, fake, 'source = "file"\npath = "para.jsonl"\norder = "words"')
        text = memoprobe("run", path, "--db", "run.db", code=2)

    assert message in text
    assert fake.requests == []


# Reading replies -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "n", "expected"),
    [
        ("1. one\n2. two", 2, {1: "one", 2: "two"}),
        ("Sure:\n\n**1.** one\n(2) - two", 2, {1: "one", 2: "two"}),
        ("1) one\n 2: two  ", 2, {1: "one", 2: "two"}),
        ("> 1. one", 2, {1: "one"}),
        ("just one", 1, {1: "just one"}),
        ("just one", 2, {}),
        ("Sure!\njust one", 1, {}),
        ("", 1, {}),
    ],
)
def test_replies_are_read_by_number(reply, n, expected):
    """Chatter around the numbered lines does not matter; a lone sentence needs no number."""
    assert sources_endpoint.read(reply, 1, n) == expected


def test_long_texts_are_asked_about_in_parts():
    """Each question holds ten sentences at most, and all sentences are in one of them."""
    text = " ".join(f"Add item x{number} to the list." for number in range(25))
    item = sample(text)
    asked = list(sources_endpoint.questions(item, 3))

    assert [(each.level, each.chunk) for each in asked] == [
        (level, chunk) for level in (1, 2, 3) for chunk in (0, 1, 2)
    ]
    for level in (1, 2, 3):
        prompts = "".join(each.prompt for each in asked if each.level == level)
        assert all(f"{n + 1}. Add item x{n} to" in prompts for n in range(len(sentences(text))))
        assert "x7" in asked[0].prompt.partition("\n\n1. ")[0]
    replies = {chunk: [re.sub("Add", "Append", each.prompt)]
               for chunk, each in enumerate(asked[:3])}  # fmt: skip
    found = sources_endpoint.replied(item, replies)([""] * 25, 0)
    assert found[24] == ["Append item x24 to the list."]
    assert all(len(each) == 1 for each in found)


def test_a_reply_that_repeats_the_question_is_none():
    """Nor is one without a line of that number, or one that was no answer."""
    replies = {0: ["1. Copy these without any change: x", "2. Do it", None, "1. Add it up."]}
    found = sources_endpoint.replied(sample("Add it all."), replies)(["Add it all."], 0)

    assert found == [[Rejected("echo"), Rejected("unread"), Rejected("unread"), "Add it up."]]


def test_a_question_tells_what_must_stay_and_how_strong_to_be():
    """The last level is the strongest whatever their number; nothing to keep is none."""
    item = sample("Add `x` to the 3 lists.")
    first, *_, last = sources_endpoint.questions(item, 9)

    assert sources_endpoint.STRENGTHS[0] in first.prompt
    assert sources_endpoint.STRENGTHS[-1] in last.prompt
    assert "the same program. Copy these without any change: `x` 3\n" in first.prompt
    plain = next(sources_endpoint.questions(sample("Add it all."), 2)).prompt
    assert "the same program.\n" in plain
    assert list(sources_endpoint.questions(sample(">>> 1"), 5)) == []


# Real tasks ------------------------------------------------------------------------------


@needs_shared
@pytest.mark.parametrize("tasks", [human_eval, mbpp])
def test_the_rules_give_five_levels_to_most_real_tasks(tasks):
    """Of 100 prompts at least 95 get five levels of rising distance; all lose nothing."""
    full = 0
    for item in islice(tasks(), 100):
        variants, rejected = PERTURBATIONS["lexical"](item, 5, random.Random(0))
        known = facts(item.text, task_identifiers(item))
        assert not rejected
        for weaker, stronger in pairwise(variants):
            assert weaker.distance < stronger.distance
            assert loss(item.text, known, stronger.text) is None
        full += len(variants) == 6

    assert full >= 95
