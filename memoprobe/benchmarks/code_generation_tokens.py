"""Write code of one line of tokens, as XLCoST has it, in lines again.

In such a line blanks stand between tokens, and inside of strings between what its tokenizer
took for tokens: there ``▁`` is a blank, STRNEWLINE (or NEW_LINE) and TABSYMBOL are a line
end and a tab. NEW_LINE, INDENT and DEDENT are the layout of Python; the other languages
have none, but NEW_LINE behind what the preprocessor reads.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

_INDENT = "    "
_PREFIX = re.compile(r"(?:[rbuf]|br|rb|fr|rf)(?=\s+[\"'])", re.IGNORECASE)
_WORD = re.compile(r"[^\s\"'`]+")
_PIECE = re.compile(
    r"(?P<escape>\\\s*(?!\s|STRNEWLINE|NEW_LINE).)|(?P<line>\\?\s*(?:STRNEWLINE|NEW_LINE))"
    r"|(?P<tab>TABSYMBOL)|(?P<quote>[\"'`])|\s+|[^\s\\\"'`]|.",
    re.DOTALL,
)
_KEYWORDS = frozenset(
    {"and", "as", "assert", "await", "case", "catch", "delete", "do", "elif", "else", "except"}
    | {"finally", "for", "foreach", "from", "if", "import", "in", "is", "lambda", "new", "not"}
    | {"or", "raise", "return", "switch", "throw", "while", "with", "yield"}
)
_CLOSED = frozenset(")]}")
_SIGNS = frozenset({"-", "+", "*", "**", "&", "~", "!"})
_STEPS = frozenset({"++", "--"})
_NEVER_BEFORE = frozenset({",", ";", ")", "]", "."})
_NEVER_AFTER = frozenset({"(", "[", ".", "$"})
_TIGHT = frozenset({"::", "->", "?->"})  # in other languages than Python
_INITIAL = frozenset({"=", "]", ",", "(", "return", "[", ":", "?"})  # a brace behind holds values
_CONTINUED = frozenset({"else", "catch", "finally", "while", ";", ",", ")", "(", ".", "]"})


def detokenized(line: str, language: str) -> str:
    """Return the code that one line of tokens stands for.

    Args:
        line: The tokens with blanks between them.
        language: Of the code, a name of the registry.
    """
    found = list(_tokens(line, language))
    lines = _python_lines(found) if language == "python" else _braced_lines(found)
    return "\n".join(lines)


def _tokens(line: str, language: str) -> Iterator[str]:
    position = 0
    while position < len(line):
        if line[position].isspace():
            position += 1
            continue
        prefix = _PREFIX.match(line, position) if language == "python" else None
        start = position
        if prefix:
            start = prefix.end() + len(line[prefix.end() :]) - len(line[prefix.end() :].lstrip())
        string = _string(line, start, language) if line[start] in "\"'`" else None
        if string:
            text, position = string
            yield (prefix[0] if prefix else "") + text
        else:
            word = _WORD.match(line, position)
            yield word[0] if word else line[position]
            position = word.end() if word else position + 1


def _string(line: str, start: int, language: str) -> tuple[str, int] | None:
    """Return the string that begins at ``start`` and where it ends, None if it never does."""
    quote = line[start]
    spread = re.compile(rf"{quote}\s*{quote}\s*{quote}")
    triple = spread.match(line, start) if language == "python" else None
    if triple and (found := _content(line, triple.end(), spread, multiline=True)):
        return quote * 3 + found[0] + quote * 3, found[1]
    found = _content(line, start + 1, re.compile(quote), multiline=quote == "`")
    return (quote + found[0] + quote, found[1]) if found else None


def _content(
    line: str, start: int, end: re.Pattern[str], *, multiline: bool
) -> tuple[str, int] | None:
    """Return what a string holds from ``start`` and where its end is passed, None without one."""
    kept: list[str] = []
    position = start
    newline, tab = ("\n", "\t") if multiline else (r"\n", r"\t")
    while position < len(line):
        closing = end.match(line, position)
        if closing:
            return "".join(kept), closing.end()
        piece = _PIECE.match(line, position)
        assert piece is not None, "a piece is at least one character"
        position = piece.end()
        text = piece[0]
        if piece["escape"]:
            kept.append("\\" + text[-1].replace("▁", " "))
        elif piece["line"]:
            kept.append("\\\n" if text[0] == "\\" else newline)
        elif piece["tab"]:
            kept.append(tab)
        elif not text.isspace():
            kept.append(text.replace("▁", " "))
    return None


def _python_lines(tokens: Sequence[str]) -> Iterator[str]:
    depth, held = 0, list[str]()
    for token in [*tokens, "NEW_LINE"]:
        if token == "NEW_LINE":
            if held:
                yield _INDENT * depth + _joined(held, _python_gap)
            held = []
        elif token in {"INDENT", "DEDENT"}:
            depth = max(0, depth + (1 if token == "INDENT" else -1))
        else:
            held.append(token)


def _braced_lines(tokens: Sequence[str]) -> Iterator[str]:
    """Yield lines that end at statements and braces, indented by the blocks around them."""
    depth, held = 0, list[str]()
    change, ends = _blocks(tokens)
    for k, token in enumerate(tokens):
        if change.get(k) == -1 or token.startswith("#"):
            yield from _line(depth, held)
            held = []
        depth += min(0, change.get(k, 0))
        if token != "NEW_LINE":
            held.append(token)
        if k in ends:
            yield from _line(depth, held)
            held = []
        depth += max(0, change.get(k, 0))
    yield from _line(depth, held)


def _line(depth: int, tokens: Sequence[str]) -> Iterator[str]:
    if tokens:
        yield _INDENT * depth + _joined(tokens, _braced_gap)


class _Braces(NamedTuple):
    change: dict[int, int]  # of the depth, 1 or -1, by the places of braces around statements
    ends: set[int]  # the places after which a line ends


def _blocks(tokens: Sequence[str]) -> _Braces:
    """Tell braces around statements from braces around values, and where lines end."""
    found = _Braces({}, set())
    stack: list[tuple[bool, int]] = []  # whether it holds statements, parentheses around it
    parentheses = 0
    for k, token in enumerate(tokens):
        parentheses += {"(": 1, ")": -1}.get(token, 0)
        if token == "NEW_LINE" or (token == ";" and parentheses <= 0):
            found.ends.add(k)
        elif token == "{":
            is_inside = bool(stack) and not stack[-1][0] and tokens[k - 1] == "{"
            is_block = not (k and (tokens[k - 1] in _INITIAL or is_inside))
            stack.append((is_block, parentheses))
            if is_block:
                parentheses = 0
                found.change[k] = 1
                found.ends.add(k)
        elif token == "}" and stack:
            is_block, parentheses = stack.pop()
            if is_block:
                found.change[k] = -1
            if is_block and "".join(tokens[k + 1 : k + 2]) not in _CONTINUED:
                found.ends.add(k)
    return found


Gap = Callable[[Sequence[str], int, str], bool | None]


def _joined(tokens: Sequence[str], gap: Gap) -> str:
    """Return tokens as one line, with a blank between two unless a rule leaves it out."""
    brackets, parts = "", [tokens[0]]
    for k in range(1, len(tokens)):
        before, token = tokens[k - 1], tokens[k]
        if before in {"(", "[", "{"}:
            brackets += before
        elif before in _CLOSED:
            brackets = brackets[:-1]
        wanted = gap(tokens, k, brackets[-1:])
        if wanted is None:
            wanted = _gap(tokens, k)
        parts.append(f" {token}" if wanted else token)
    return "".join(parts)


def _gap(tokens: Sequence[str], k: int) -> bool:
    """Tell whether a blank stands before token ``k``, by what all languages share."""
    before, token = tokens[k - 1], tokens[k]
    if token in _NEVER_BEFORE:
        return token == "." and before[0].isdigit()
    if before in _NEVER_AFTER:
        return False
    if token in {"(", "["}:
        return not _is_operand(before)
    if before in _SIGNS and not (k > 1 and _is_operand(tokens[k - 2])):
        return token[0] == before[-1]
    return True


def _is_operand(token: str) -> bool:
    """Tell whether a value ends with ``token``."""
    is_word = token[-1].isalnum() or token[-1] in "_\"'`"
    return token in _CLOSED or (is_word and token not in _KEYWORDS)


def _python_gap(tokens: Sequence[str], k: int, bracket: str) -> bool | None:
    before, token = tokens[k - 1], tokens[k]
    if token in {":", "}"} or before == "{" or (k == 1 and before == "@"):
        return False
    if before == ":" and bracket == "[":
        return False
    if "=" in {before, token} and bracket == "(":
        return False
    return None


def _braced_gap(tokens: Sequence[str], k: int, _: str) -> bool | None:
    before, token = tokens[k - 1], tokens[k]
    if token in _TIGHT or before in _TIGHT:
        return False
    if token in _STEPS:
        return not _is_operand(before)
    if before in _STEPS and (token[0].isalnum() or token[0] in "_$"):
        return k > 1 and _is_operand(tokens[k - 2])
    return None
