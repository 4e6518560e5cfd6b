"""Lay tokens along a text: which of them lie wholly in the reference."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoprobe.endpoints.border import LONGEST_TOKEN, Part, measured

TEXTS = st.text(st.sampled_from("ab(): \n\t_éß漢字😀\ufffd"), min_size=1, max_size=12)


@st.composite
def laid(draw):
    """Return prompt, reference and the pieces that the bytes of both together are cut into."""
    prompt, reference = draw(TEXTS), draw(TEXTS)
    data = (prompt + reference).encode()
    cuts = draw(st.sets(st.integers(1, max(1, len(data) - 1)), max_size=12))
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    return prompt, reference, [data[a:b] for a, b in pairwise(edges)]


def whole_characters(pieces):
    """Return the texts of tokens as vLLM tells them, and where each begins.

    Of tokens that only together make whole characters the last tells all of their text, the
    others nothing; all begin where the first does.
    """
    texts, starts, held, place = [], [], b"", 0
    for piece in pieces:
        held += piece
        starts.append(place)
        try:
            texts.append(held.decode())
        except UnicodeDecodeError:
            texts.append("")
        else:
            place, held = place + len(held), b""
    return texts, starts


def counted(starts, prompt, reference):
    """Return the tokens that begin at or after the border, and the bytes behind the first."""
    border, end = len(prompt.encode()), len((prompt + reference).encode())
    inside = [start for start in starts if start >= border]
    return Part(len(inside), end - min(inside, default=end))


def where(pieces):
    """Return where each piece begins."""
    return [sum(map(len, pieces[:k])) for k in range(len(pieces))]


@given(laid())
@example(("é", "é", [b"\xc3", b"\xa9", b"\xc3", b"\xa9"]))
@example(("x =", " é", [b"x", b" =", b" ", b"\xc3", b"\xa9"]))
def test_counts_what_begins_behind_the_border(case):
    """However a text is cut into tokens, those that begin in the reference count, and no others."""
    prompt, reference, pieces = case
    texts, starts = whole_characters(pieces)

    found = measured(texts, prompt + reference, len(prompt.encode()))

    assert found == counted(starts, prompt, reference)


@given(laid())
def test_of_a_chat_only_the_last_turn_is_known(case):
    """Tokens in front of the known text are left alone, whatever they are."""
    prompt, reference, pieces = case
    texts, starts = whole_characters(pieces)
    before = ["<|im_start|>", "assistant", "<|im_end|>"]

    found = measured([*before, *texts], prompt + reference, len(prompt.encode()))

    assert found == counted(starts, prompt, reference)


@given(laid())
def test_a_replaced_character_never_adds_a_token(case):
    """Where texts are inexact, no token counts that begins in front of the border.

    Pieces of characters come as replacement characters, and blanks in front of words are lost.
    """
    prompt, reference, pieces = case
    texts = [piece.decode("utf-8", "replace").removeprefix(" ") for piece in pieces]

    found = measured(texts, prompt + reference, len(prompt.encode()))

    assert found is not None
    assert found.n_tokens <= counted(where(pieces), prompt, reference).n_tokens


def test_lost_blanks_are_found():
    """A SentencePiece token is told without its leading blank, and counts all the same."""
    told = ["<s>", "Fix", "this", ":", "\n", "return", "a", "  ", "b"]

    assert measured(told, "Fix this:\nreturn a   b", 10) == Part(4, 12)


def test_a_straddling_token_counts_to_neither_side():
    """Four blanks and a word that make one token across the border: counting begins behind it."""
    assert measured(["x", ":", "     re", "turn"], "x:     return", 5) == Part(1, 4)


@pytest.mark.parametrize(
    ("told", "what"),
    [
        (["de", "f f"], "cut off in front"),
        (["pass", " def", " f", "():"], "cut off at the end"),
        (["pass ", "DEF", " f", "():", "\n"], "changed"),
        ([], "none at all"),
    ],
)
def test_tokens_of_another_text_are_refused(told, what):
    """Tokens that do not spell the text are told apart from those that do."""
    assert measured(told, "pass def f():\n", 5) is None


def test_an_unknown_token_stands_for_no_more_than_a_token():
    """What a server does not tell of the first token may be a word, but not half the prompt."""
    prompt = "word " * 100

    assert measured([None, " def"], "word def", 4) == Part(1, 4)
    assert len(prompt) > LONGEST_TOKEN
    assert measured([None, "def"], f"{prompt}def", len(prompt)) is None
