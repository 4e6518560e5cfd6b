"""Turn prompts and answers into the symbols and features of the demo's language model.

A name of the prompt's code, a name that the answer has used and a number or string of the
prompt are written as references ("the second name"), so that what is learned of one
function holds for the same function under other names.
"""

import builtins
import keyword
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

START, END = "<start>", "<end>"
NAME = "<name>"  # announces a name that is new, which is then chosen among names only
ANSWER = ("<said>", "<line>", "<history>")  # what features of the answer start with
HISTORY = 5  # symbols before the next one that are features
RUN = 20  # pieces in the runs of the prompt that are features, beside words and pairs

Feature = tuple[str, ...]

_PIECE = re.compile(r'```\w*|`|\n *| ?"[^"\n]*"|\.\w+| ?\w+| ?[^\w\s]|\s')
_VALUE = re.compile(r'\d+|"[^"\n]*"')
_REFERENCE = re.compile(r"( ?)(name|value)#(\d+)")
_COMMON = frozenset(keyword.kwlist) | frozenset(dir(builtins))
_MANY = 3  # occurrences of a symbol that are told apart


def pieces(text: str) -> list[str]:
    """Split ``text`` into tokens; joined they give it back."""
    return _PIECE.findall(text)


def is_name(word: str) -> bool:
    """Tell whether ``word`` is an identifier that a programmer chose."""
    return word.isidentifier() and word not in _COMMON


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Hold an answer as far as it is written, with the names and values it can refer to."""

    names: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    history: tuple[str, ...] = (START,) * HISTORY  # the last symbols, names always as references
    said: dict[str, int] = field(default_factory=dict)  # symbol -> occurrences, up to _MANY
    line: tuple[str, ...] = ()  # symbols since the last line break

    def symbol(self, piece: str) -> str:
        """Return how ``piece`` is written here: a reference where there is one."""
        word = piece.lstrip(" ")
        for kind, known in (("name", self.names), ("value", self.values)):
            if word in known:
                return f"{piece[: -len(word)]}{kind}#{known.index(word)}"
        return piece

    def piece(self, symbol: str) -> str | None:
        """Return the text that ``symbol`` stands for, None where its reference leads nowhere."""
        match = _REFERENCE.fullmatch(symbol)
        if match is None:
            return "" if symbol == NAME else symbol
        known = self.names if match[2] == "name" else self.values
        index = int(match[3])
        return match[1] + known[index] if index < len(known) else None

    def allows(self, symbol: str) -> bool:
        """Tell whether ``symbol`` can come next: it has a text, and no other way to write it."""
        piece = self.piece(symbol)
        return piece is not None and (symbol == NAME or self.symbol(piece) == symbol)

    def then(self, symbol: str) -> "Draft":
        """Return the draft with one more symbol."""
        piece = self.piece(symbol)
        if piece is None:
            msg = f"no such name or value: {symbol}"
            raise ValueError(msg)
        word = piece.lstrip(" ")
        new = is_name(word) and word not in self.names
        names = (*self.names, word) if new else self.names
        seen = f"{piece[: -len(word)]}name#{len(names) - 1}" if new else symbol
        past = [seen for seen in self.history if seen != NAME]
        history = (*((START,) * HISTORY), *past, seen)[-HISTORY:]
        return Draft(
            names=names,
            values=self.values,
            history=history,
            said=self.said | {symbol: min(self.said.get(symbol, 0) + 1, _MANY)},
            line=(symbol,) if "\n" in symbol else (*self.line, symbol),
        )

    def features(self, shortest: int) -> list[Feature]:
        """Return what the draft tells about the next symbol.

        Args:
            shortest: Length from which the ends of the history are features.
        """
        said, line, history = ANSWER
        ends = (self.history[-length:] for length in range(shortest, HISTORY + 1))
        return [
            *((said, symbol, str(times)) for symbol, times in self.said.items()),
            *((line, symbol) for symbol in dict.fromkeys(self.line)),
            *((history, *end) for end in ends),
        ]


def read_prompt(prompt: str) -> tuple[Draft, list[Feature]]:
    """Return the empty answer to ``prompt`` and what the prompt tells about every symbol.

    Words, pairs and runs are features as they stand, words and pairs also with
    references for the names and values. Names are looked for between backticks only.
    """
    names: dict[str, None] = {}
    values: dict[str, None] = {}
    plain, referring = [], []
    in_code = False
    for piece in pieces(prompt):
        word = piece.lstrip(" ")
        if word.startswith("`"):
            in_code = not in_code
        elif _VALUE.fullmatch(word):
            values[word] = None
        elif in_code and is_name(word):
            names[word] = None
        plain.append(word.lower())
        draft = Draft(names=tuple(names) if in_code else (), values=tuple(values))
        referring.append(draft.symbol(word if in_code else word.lower()))
    features = dict.fromkeys([*_grams(plain), *_grams(referring), *_runs(plain)])
    return Draft(names=tuple(names), values=tuple(values)), list(features)


def _grams(words: Sequence[str]) -> Iterable[Feature]:
    return [*((word,) for word in words), *pairwise(words)]


def _runs(words: Sequence[str]) -> Iterable[Feature]:
    return (tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1))


def read_answer(draft: Draft, answer: str) -> Iterable[tuple[Draft, str]]:
    """Yield each symbol of ``answer`` with the draft before it, the end symbol last."""
    for piece in pieces(answer):
        symbol = draft.symbol(piece)
        if symbol == piece and is_name(piece.lstrip(" ")):
            yield draft, NAME
            draft = draft.then(NAME)
        yield draft, symbol
        draft = draft.then(symbol)
    yield draft, END
