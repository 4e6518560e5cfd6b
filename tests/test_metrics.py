"""Facts about the metrics: performance of an answer against a reference, in [0, 1]."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe import languages
from memoprobe.metrics import METRICS

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


@pytest.mark.parametrize("metric", METRICS)
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
