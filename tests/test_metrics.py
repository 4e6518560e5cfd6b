"""Facts about the metrics: performance of an answer against a reference, in [0, 1]."""

import gzip
import json
from dataclasses import replace
from functools import cache

import pytest
import textdistance
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from memoprobe import languages
from memoprobe.metrics import METRICS
from memoprobe.metrics.label import verdict
from memoprobe.records import Sample
from tests.local import SHARED, needs_shared

CODE = st.lists(
    st.sampled_from(["x", "yy", " = ", "+ 1", "\n", "(", "'s t'", "# c", "def f():\n    ", "ß"]),
    max_size=8,
).map("".join)


def slow_likeness(a, b):
    """Equation 2's distance, written down from the definition and turned round."""

    @cache
    def edits(i, j):
        if i == 0 or j == 0:
            return i + j
        return min(
            edits(i - 1, j) + 1,
            edits(i, j - 1) + 1,
            edits(i - 1, j - 1) + (a[i - 1] != b[j - 1]),
        )

    longer = max(len(a), len(b))
    return 1 - edits(len(a), len(b)) / longer if longer else 1.0


@given(CODE, CODE)
def test_levenshtein_agrees_with_its_definition(answer, reference):
    """It is 1 - edits / length of the longer, in characters without comments."""
    bare = [languages.strip_comments(code, "python") for code in (answer, reference)]

    value = METRICS["levenshtein"](answer, reference, "python")

    assert value == pytest.approx(slow_likeness(*bare))


@given(CODE, CODE)
def test_token_levenshtein_agrees_with_its_definition(answer, reference):
    """It is the same over tokens."""
    found = [languages.tokens(code, "python") for code in (answer, reference)]

    value = METRICS["token_levenshtein"](answer, reference, "python")

    assert value == pytest.approx(slow_likeness(*found))


@pytest.mark.parametrize("metric", ["levenshtein", "token_levenshtein"])
@pytest.mark.parametrize(
    ("answer", "reference", "language", "expected"),
    [
        ("", "", "python", 1.0),
        ("", "x = 1", "python", 0.0),
        ("x = 1  # one", '"""Doc."""\nx = 1', "python", 1.0),
        ("a b", "a b", "klingon", 1.0),
        ("# only", "", "python", 1.0),
        ("x = '\ud835'", "x = '\ud835'", "python", 1.0),
    ],
    ids=["both empty", "no answer", "comments", "no grammar", "comment only", "half surrogate"],
)
def test_metrics_at_their_ends(metric, answer, reference, language, expected):
    """Equal texts have 1, an empty answer 0, comments never count."""
    assert METRICS[metric](answer, reference, language) == expected


def test_a_long_name_costs_one_token():
    """The two metrics differ in what one edit is."""
    answer, reference = "return total_amount", "return x"

    assert METRICS["token_levenshtein"](answer, reference, "python") == 0.5
    assert METRICS["levenshtein"](answer, reference, "python") == pytest.approx(7 / 19)


def test_only_meaningful_layout_counts():
    """Another indent width is the same tokens, another block is not."""
    token = METRICS["token_levenshtein"]
    code = "if a:\n    b()\n    c()\n"

    assert token("if a:\n  b()\n  c()\n", code, "python") == 1.0
    assert token("if a:\n    b()\nc()\n", code, "python") < 1.0


PAIRS = st.tuples(*[st.text("ab c\nDé1", max_size=30).map(lambda text: text.strip("\n"))] * 2)
RAW = "none"  # a language without comments, so that texts are compared as they are


@given(PAIRS)
def test_the_artifacts_metrics_are_reproduced(pair):
    """Character Levenshtein, cosine and NCD are textdistance's, as the artifact calls them."""
    answer, reference = pair
    expected = {
        "levenshtein": textdistance.levenshtein.normalized_similarity(answer, reference),
        "cosine": textdistance.cosine.normalized_similarity(answer, reference),
        "ncd": max(0.0, textdistance.zlib_ncd.normalized_similarity(answer, reference)),
    }
    if not answer and not reference:
        expected["cosine"] = 1.0

    found = {name: METRICS[name](answer, reference, RAW) for name in expected}

    assert found == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.sampled_from(["Sorted", "lists", "are", "listed", "a-b", "x1", "ß"])),
       st.lists(st.sampled_from(["sorting", "list", "are", "listing", "a b", "X1"])))  # fmt: skip
def test_rouge_is_the_reference_implementation(answer, reference):
    """ROUGE-1 precision and ROUGE-L F1 with stems are those of rouge-score."""
    texts = " ".join(answer), " ".join(reference)
    scorer = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
    expected = scorer.score(texts[1], texts[0])

    if answer and reference and texts[0] != "ß":
        assert METRICS["rouge1"](*texts, RAW) == pytest.approx(expected["rouge1"].precision)
        assert METRICS["rougeL"](*texts, RAW) == pytest.approx(expected["rougeL"].fmeasure)


@needs_shared
def test_the_artifacts_metrics_are_reproduced_on_real_pairs():
    """On pairs of real solutions all four agree with the artifact's own libraries to 1e-9."""
    path = SHARED / "data" / "humaneval" / "HumanEval.jsonl.gz"
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    codes = [row["canonical_solution"].strip("\n") for row in rows[:60]]
    scorer = rouge_scorer.RougeScorer(["rouge1"], use_stemmer=True)

    for answer, reference in zip(codes, codes[7:] + codes[:7], strict=True):
        found = [METRICS[name](answer, reference, RAW) for name in ("levenshtein", "cosine", "ncd")]
        found.append(METRICS["rouge1"](answer, reference, RAW))
        assert found == pytest.approx(
            [
                textdistance.levenshtein.normalized_similarity(answer, reference),
                textdistance.cosine.normalized_similarity(answer, reference),
                textdistance.zlib_ncd.normalized_similarity(answer, reference),
                scorer.score(reference, answer)["rouge1"].precision,
            ],
            abs=1e-9,
        )


def test_known_traps_are_there():
    """An anagram is perfect by letters, equal texts are not by compression."""
    assert METRICS["cosine"]("listen", "silent", RAW) == 1.0
    assert METRICS["ncd"]("a = 1\n" * 5, "a = 1\n" * 5, RAW) == pytest.approx(0.8)
    assert METRICS["rouge1"]("sorted", "return the sorted list", RAW) == 1.0
    assert METRICS["rougeL"]("sorted", "return the sorted list", RAW) == pytest.approx(0.4)
    assert METRICS["rouge1"]("", "", RAW) == METRICS["rougeL"]("", "", RAW) == 1.0
    assert METRICS["rouge1"]("", "a", RAW) == METRICS["cosine"]("", "a", RAW) == 0.0


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("YES", "yes"),
        ("No.", "no"),
        ("**Yes**, there is a buffer overflow.", "yes"),
        ("The code is vulnerable to an overflow.", "yes"),
        ("This function has a serious vulnerability.", "yes"),
        ("The function is not vulnerable.", "no"),
        ("There is no known vulnerability here.", "no"),
        ("It isn't vulnerable.", "no"),
        ("It does not contain any vulnerabilities.", "no"),
        ("It is not safe: it is vulnerable.", "yes"),
        ("No bounds are checked.\n\nAnswer: YES", "yes"),
        ("No, I thought first. Final answer: **Yes**", "yes"),
        ("Let me see.\nno check of len.\n\nYES", "yes"),
        ("Vulnerable: true", "yes"),
        ("I cannot tell.", None),
        ("", None),
    ],
)
def test_a_verdict_is_found_in_an_answer(answer, said):
    """The word that is called the answer counts, then a line or an opening that is only it."""
    assert verdict(answer) == said

    for reference in ("yes", "NO "):
        expected = float(said == reference.strip().lower())
        assert METRICS["label"](answer, reference, "prose") == expected


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("This is CWE-79 (XSS).", "CWE-79", 1.0),
        ("cwe 079", "CWE-79", 1.0),
        ("CWE-20, or CWE-79", "CWE-79", 0.0),
        ("An overflow.", "CWE-787", 0.0),
        ("B. Use after free", "B|D", 1.0),
        ("The answer is (D).", "B|D", 0.5),
        ("A", "B|D", 0.0),
        ("I do not know", "B|D", 0.0),
        ("I think option C fits", "C", 1.0),
    ],
)
def test_other_labels_are_compared(answer, reference, value):
    """The first weakness named counts; a second best choice is half of the best."""
    assert METRICS["label"](answer, reference, "prose") == value


def test_only_labels_are_labels():
    """A label is not measured as a text is, nor a text as a label."""
    verdict_item = Sample(
        benchmark="b", sample_id="1", task="vulnerability_detection", language="c",
        input_kind="code", text="int f(void);", reference="yes",
    )  # fmt: skip
    summary = replace(verdict_item, reference="The length is not checked.")
    program = replace(verdict_item, task="program_repair", reference="B")

    suited = {
        item.reference: {name for name, metric in METRICS.items() if metric.suits(item)}
        for item in (verdict_item, summary, program)
    }
    assert suited["yes"] == {"label"}
    likened = METRICS.keys() - {"label", "tests"}
    assert suited["B"] == likened
    assert suited["The length is not checked."] == likened - {"canonical_levenshtein"}
    assert METRICS["tests"].suits(replace(program, tests="{}"))
    assert not METRICS["tests"].suits(replace(summary, tests="{}"))
    assert not METRICS["tests"].suits(replace(program, tests='{"kind": "named"}'))
    with pytest.raises(ValueError, match="runs the tests"):
        METRICS["tests"]("x = 1", "x = 1", "python")
    with pytest.raises(ValueError, match="no label"):
        METRICS["label"]("yes", "The length is not checked.", "prose")


@pytest.mark.parametrize(
    ("answer", "reference", "language"),
    [
        ("def f(a, b):\n    c = a + b\n    return c\n",
         "def g(x, y):\n    total = x + y\n    return total\n", "python"),
        ("int f(int a) { int b = a; return b; }", "int f(int x) { int y = x; return y; }", "java"),
        ("x", "x", "cobol"),
    ],
    ids=["python", "java", "no grammar"],
)  # fmt: skip
def test_names_do_not_count_canonically(answer, reference, language):
    """Programs that differ in their own names alone are the same."""
    assert METRICS["canonical_levenshtein"](answer, reference, language) == 1.0


def test_other_peoples_names_count_canonically():
    """A builtin or an attribute is no choice of the program, and broken code keeps its names."""
    one = "def f(a):\n    return sum(a)\n"

    assert METRICS["canonical_levenshtein"](one, one.replace("sum", "len"), "python") < 1.0
    broken = "def f(a:\n    return (a\n"
    assert METRICS["canonical_levenshtein"](broken, broken, "python") == 1.0
    assert METRICS["canonical_levenshtein"](broken, broken.replace("a", "b"), "python") < 1.0
