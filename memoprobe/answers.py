"""Select the answer in a response's text; nothing is ever repaired.

Where the answer was found is its rule, stored with every score:

- ``fenced``: the last fenced block that defines the function under test;
- ``unclosed``: the same, and the text ends before its fence does;
- ``opened``: the same, and the text begins inside a block that the prompt opened;
- ``bare``: code without a fence that defines it, prose around it left out;
- ``last_fenced``, ``last_unclosed``, ``last_opened``: the last block; none defines it, or
  there is no function under test;
- ``whole``: the whole text, there being neither;
- ``continued``, and before any of the above, as in ``continued_last_fenced``: only the body,
  its head put in front from the prompt;
- ``text``: the whole text of an answer that is prose; ``none``: no answer beside thinking.

Of the code so found an answer keeps what is the model's: not what it repeats of the
code in the prompt's context, and after the function under test only definitions that
the answer uses, not demonstrations or what a base model runs on with.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from memoprobe import languages
from memoprobe.languages import Statement
from memoprobe.records import Interface, Sample, Variant

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*?)[ \t]*$", re.MULTILINE
)
_ALIASES = {"py": "python", "py3": "python", "python2": "python", "python3": "python"}
_TAGS = frozenset(
    {"python", "c", "cpp", "c++", "csharp", "c#", "go", "java", "javascript", "js", "typescript"}
    | {"ts", "kotlin", "php", "ruby", "rust", "scala", "swift", "bash", "console", "sh", "shell"}
    | {"code", "diff", "html", "json", "markdown", "md", "output", "plaintext", "pseudocode"}
    | {"pycon", "sql", "text", "toml", "txt", "xml", "yaml"}
)
_ANSWERS_CODE = frozenset({"code_generation", "program_repair", "test_generation"})


class Answer(NamedTuple):
    """Hold what is scored of a response, and the rule by which it was selected."""

    code: str
    rule: str


class _Passage(NamedTuple):
    code: str
    rule: str
    tag: str | None = None  # the fence's, in lower case


def extract(
    text: str, sample: Sample, variant: Variant, *, interface: Interface, map_back: bool = True
) -> Answer:
    """Return the answer that ``text`` holds, in the names of the original sample.

    Args:
        text: The response's text.
        sample: What was asked.
        variant: In which form it was asked; its rename map is undone in the answer.
        interface: How it was asked. A completion goes on from the prompt's last line,
            so it begins with the answer, and all that repeats it comes after.
        map_back: Whether to undo the renaming at all.
    """
    answer = _select(text, sample, variant, interface)
    if not map_back:
        return answer
    names = {new: old for old, new in variant.rename_map.items()}
    code = languages.rename_identifiers(answer.code, answer_language(sample), names)
    return answer._replace(code=code)


def reference_code(sample: Sample) -> str | None:
    """Return the sample's reference cut as an answer would be, None where it has none."""
    if sample.reference is None or sample.task not in _ANSWERS_CODE:
        return sample.reference and sample.reference.strip()
    return _own_part(languages.tidy(sample.reference), sample, "whole", first=False)


def answer_language(sample: Sample) -> str:
    """Return the language of an answer to ``sample``: its own, or ``prose``."""
    return sample.language if sample.task in _ANSWERS_CODE else "prose"


def _select(text: str, sample: Sample, variant: Variant, interface: Interface) -> Answer:
    text = _after_thinking(text).replace("\r\n", "\n")
    if not text.strip():
        return Answer("", "none")
    if sample.task not in _ANSWERS_CODE:
        return Answer(text.strip(), "text")
    is_completion = interface == "completions"
    passage = _first_lines(text, sample, variant) if is_completion else None
    passage = passage or _passage(text, sample)
    if _is_body(passage.code):
        passage = _with_head(passage, sample, variant)
    code = _own_part(languages.tidy(passage.code), sample, passage.rule, first=is_completion)
    return Answer(code, passage.rule)


def _function_under_test(sample: Sample) -> str | None:
    """Return the function that an answer defines; a test only calls it."""
    return None if sample.task == "test_generation" else sample.entry_point


def _after_thinking(text: str) -> str:
    _, closed, rest = text.rpartition("</think>")
    return "" if not closed and text.lstrip().startswith("<think>") else rest


def _defines(code: str, sample: Sample) -> bool:
    entry = _function_under_test(sample)
    return entry is not None and languages.defines(code, sample.language, entry)


def _first_lines(text: str, sample: Sample, variant: Variant) -> _Passage | None:
    """Return the text before the first fence if it goes on from the prompt, as body or as code."""
    fence = _FENCE.search(text)
    lead = text[: fence.start()] if fence else text
    if not lead.strip():
        return None
    head = _head(sample, variant.text)
    if head and _is_body(lead):
        return _Passage(head + lead.lstrip("\n"), "continued")
    is_code = _begins_with_code(lead, sample.language) and _defines(lead, sample)
    return _Passage(lead, "bare") if is_code else None


def _with_head(passage: _Passage, sample: Sample, variant: Variant) -> _Passage:
    """Return the passage with the head of the prompt's function if it does not define it itself."""
    head = "" if _defines(passage.code, sample) else _head(sample, variant.text)
    if not head:
        return passage
    return _Passage(head + passage.code.lstrip("\n"), f"continued_{passage.rule}")


def _head(sample: Sample, text: str) -> str:
    """Return the lines of a prompt that ends inside the function under test, else nothing."""
    if sample.task != "code_generation" or sample.entry_point is None:
        return ""
    whole = sample.whole(text)
    found = languages.pieces(whole, sample.language)
    is_open = found and found[-1].name == sample.entry_point and not whole[found[-1].end :].strip()
    return whole.rstrip() + "\n" if is_open else ""


def _is_body(code: str) -> bool:
    return code.lstrip("\n")[:1] in {" ", "\t"}


def _passage(text: str, sample: Sample) -> _Passage:
    """Return the part of ``text`` that holds the answer."""
    blocks = _blocks(text, sample.language)
    for block in reversed(blocks):
        if _defines(block.code, sample):
            return block
    found = languages.pieces(text, sample.language)
    if any(_defines(piece.text, sample) for piece in found):
        return _Passage(text, "bare")
    fitting = [block for block in blocks if block.tag in {None, sample.language}] or blocks
    if not fitting:
        return _Passage(text, "whole")
    return fitting[-1]._replace(rule=f"last_{fitting[-1].rule}")


def _blocks(text: str, language: str) -> list[_Passage]:
    """Return the fenced blocks of ``text`` in their order."""
    blocks: list[_Passage] = []
    fence: re.Match[str] | None = None
    for mark in _FENCE.finditer(text):
        closes = not mark["info"]
        lead = text[: mark.start()]
        if not blocks and fence is None and closes and _begins_with_code(lead, language):
            blocks.append(_Passage(lead, "opened"))
        elif fence is None:
            fence = mark
        elif closes and mark["mark"].startswith(fence["mark"]):
            blocks.append(_block(fence, text[fence.end() : mark.start()], "fenced"))
            fence = None
        elif _tag(mark):  # the block before was never closed
            blocks.append(_block(fence, text[fence.end() : mark.start()], "unclosed"))
            fence = mark
    if fence:
        blocks.append(_block(fence, text[fence.end() :], "unclosed"))
    return blocks


def _begins_with_code(text: str, language: str) -> bool:
    found = languages.pieces(text, language)
    return bool(found) and not languages.strip_comments(text[: found[0].start], language)


def _block(fence: re.Match[str], body: str, rule: str) -> _Passage:
    tag = _tag(fence)
    if tag is None:
        # Not a language's name: the first line of code stands on the fence's line.
        body = fence["info"] + body
    # A block inside a list is indented as far as its fence.
    lines = re.sub(rf"^[ \t]{{0,{len(fence['indent'])}}}", "", body, flags=re.MULTILINE)
    return _Passage(lines, rule, tag)


def _tag(fence: re.Match[str]) -> str | None:
    word = fence["info"].lower()
    word = _ALIASES.get(word, word)
    return word if word in _TAGS else None


def _own_part(code: str, sample: Sample, rule: str, *, first: bool) -> str:
    """Return what of ``code`` is the answer's own, see the module's docstring.

    Of several definitions of the function under test the first or the last counts.
    """
    language, entry = sample.language, _function_under_test(sample)
    given = _given(sample.context, language, entry)
    found = languages.pieces(code, language)
    places = [k for k, piece in enumerate(found) if piece.name == entry is not None]
    last = places[0 if first else -1] if places else len(found) - 1
    kept, position = [], 0
    for piece in found[: last + 1]:
        kept.append("\n" if rule == "bare" else code[position : piece.start])
        if _tokens(piece, language) not in given:
            kept.append(piece.text)
        position = piece.end
    if not places or (rule != "bare" and not found[last].complete):
        kept.append(code[position:])
    else:
        rest = [piece for piece in found[last + 1 :] if _tokens(piece, language) not in given]
        kept += [f"\n{helper.text}" for helper in _used("".join(kept), rest, sample)]
    return languages.tidy("".join(kept))


def _used(code: str, rest: list[Statement], sample: Sample) -> list[Statement]:
    """Return the definitions among ``rest`` that ``code`` needs, directly or through another."""
    unused = {piece.name: piece for piece in reversed(rest) if piece.name != sample.entry_point}
    names, used = languages.tokens(code, sample.language) if unused else [], []
    while names:
        helpers = [unused.pop(name) for name in dict.fromkeys(names) if name in unused]
        names = [name for helper in helpers for name in _tokens(helper, sample.language)]
        used += helpers
    return sorted(used, key=lambda piece: piece.start)


@lru_cache(maxsize=1024)
def _given(context: str, language: str, entry: str | None) -> frozenset[tuple[str, ...]]:
    """Return the tokens of each import, helper and constant that the prompt's context gives."""
    found = languages.pieces(context, language)
    return frozenset(_tokens(piece, language) for piece in found if piece.name != entry)


def _tokens(piece: Statement, language: str) -> tuple[str, ...]:
    return tuple(languages.tokens(piece.text, language))
