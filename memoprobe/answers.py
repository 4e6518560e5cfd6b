"""Select the answer in a response's text; nothing is ever repaired.

Where the answer was found is its rule, stored with every score:

- ``fenced``: the last fenced block that defines the function under test;
- ``unclosed``: the same, and the text ends before its fence does;
- ``opened``: the same, and the text begins inside a block that the prompt opened;
- ``bare``: code without a fence that defines it, prose around it left out;
- ``last_fenced``, ``last_unclosed``, ``last_opened``: none defines it, or there is no
  function under test: the last block that defines any function or class, else the last that
  is marked as the language's, else the last that looks like code, not like input or output;
- ``unechoed_``, before any of the above, in a repair: the last such block that is not the
  prompt's own code, which a later one only repeats;
- ``whole``: the whole text, there being neither;
- ``continued``, and before any of the above, as in ``continued_last_fenced``: only the body,
  its head put in front from the prompt;
- ``text``: the whole text of an answer that is prose; ``none``: no answer beside thinking.

Of the code so found an answer keeps what is the model's: not what it repeats of the
code in the prompt's context, and after the function under test, or the class that it
stands in, only definitions that the answer uses, not demonstrations or what a base model
runs on with. A class is never taken from around its method.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from memoprobe import languages
from memoprobe.languages import Statement
from memoprobe.records import ANSWERED_WITH_CODE, TEXT_SLOT, Interface, Sample, Variant

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*?)[ \t]*$", re.MULTILINE
)
_LED = re.compile(r"^([ \t]*)(\S.*[:.!])[ \t]+((?:`{3,}|~{3,})[\w+#]+[ \t]*)$", re.MULTILINE)
_TAGGED = re.compile(r"\{?[ .]*([\w+#]+)(.*)")
_ATTRIBUTE = r"""[:,]\S*|\.?[\w-]+=(?:"[^"]*"|'[^']*'|\S+)|\{[^{}]*\}|[.#][\w-]+|\}|[\w./-]*\.\w+"""
_ATTRIBUTES = re.compile(rf"(?:[ \t]*(?:{_ATTRIBUTE}))*[ \t]*")  # of a fence, after its tag
_LIKE_CODE = re.compile(r"[(={;]")
_END = re.compile(
    r"\s*(?:</s>|<\|\w+\|>|<\uff5c[^\uff5c\n]+\uff5c>)\s*\Z"
)  # of a sequence, not of a text
_FENCE_INDENT = 3  # columns beyond its block at most: a fence further in is text, as in CommonMark
_THOUGHT = re.compile(r"\s*<think>.*?(</think>|\Z)", re.DOTALL)
_QUOTE = re.compile(r"^ {0,3}>[^\n]*(\n {0,3}>[^\n]*)*", re.MULTILINE)
_QUOTED_FENCE = re.compile(r"^ {0,3}> ?[ \t]*(`{3}|~{3})", re.MULTILINE)
_ALIASES = {
    alias: language
    for language, aliases in {
        "python": "py py3 python2 python3",
        "c": "h",
        "cpp": "c++ cc cxx hpp",
        "csharp": "c# cs",
        "go": "golang",
        "javascript": "js jsx mjs node nodejs",
        "php": "phtml php7 php8",
        "ruby": "rb",
        "typescript": "ts tsx",
    }.items()
    for alias in aliases.split()
}
_TAGS = frozenset({*_ALIASES.values(), "java", "kotlin", "rust", "scala", "swift"}) | frozenset(
    {"bash", "code", "console", "diff", "html", "json", "markdown", "md", "output", "plaintext"}
    | {"pseudocode", "pycon", "sh", "shell", "sql", "text", "toml", "txt", "xml", "yaml"}
)


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


def reference_codes(sample: Sample) -> list[str]:
    """Return the sample's references, each cut as an answer would be."""
    if sample.task not in ANSWERED_WITH_CODE:
        return [reference.strip() for reference in sample.references]
    return [
        _own_part(languages.tidy(reference), sample, "whole", first=False)
        for reference in sample.references
    ]


def program(code: str, sample: Sample) -> str:
    """Return an answer's code as a program: behind the imports and helpers that the prompt gave."""
    if sample.task != "code_generation" or TEXT_SLOT not in sample.context:
        return code
    found = languages.pieces(sample.whole(""), sample.language)
    given = [piece.text for piece in found if piece.name != sample.entry_point]
    return "\n\n".join([*given, code])


def answer_language(sample: Sample) -> str:
    """Return the language of an answer to ``sample``: its own, or ``prose``."""
    return sample.language if sample.task in ANSWERED_WITH_CODE else "prose"


def _select(text: str, sample: Sample, variant: Variant, interface: Interface) -> Answer:
    text = _END.sub("", _after_thinking(text).replace("\r\n", "\n"))
    text = _led(_QUOTE.sub(_unquoted, text))
    if not text.strip():
        return Answer("", "none")
    if sample.task not in ANSWERED_WITH_CODE:
        return Answer(text.strip(), "text")
    is_completion = interface == "completions"
    passage = _first_lines(text, sample, variant) if is_completion else None
    passage = passage or _passage(text, sample, variant)
    if _is_body(passage.code):
        passage = _with_head(passage, sample, variant)
    code = _own_part(languages.tidy(passage.code), sample, passage.rule, first=is_completion)
    return Answer(code, passage.rule)


def _function_under_test(sample: Sample) -> str | None:
    """Return the function that an answer defines; a test only calls it."""
    return None if sample.task == "test_generation" else sample.entry_point


def _after_thinking(text: str) -> str:
    """Return ``text`` without its leading thoughts; the prompt may have opened the first."""
    first = re.match(r"(?!\s*<think>).*?^</think>", text, re.DOTALL | re.MULTILINE)
    if first:
        return text[first.end() :]
    while thought := _THOUGHT.match(text):
        text = text[thought.end() :]
    return text


def _unquoted(quote: re.Match[str]) -> str:
    """Return quoted lines without their marks if they hold a fence, else as they are."""
    if not _QUOTED_FENCE.search(quote[0]):
        return quote[0]
    return re.sub(r"^ {0,3}> ?", "", quote[0], flags=re.MULTILINE)


def _led(text: str) -> str:
    """Return ``text`` with its first fence on a line of its own, where words lead up to it."""
    led, first = _LED.search(text), _FENCE.search(text)
    if led is None or (first is not None and first.start() < led.start()):
        return text
    return _LED.sub(r"\1\2\n\1\3", text, count=1)


def _defines(code: str, sample: Sample) -> bool:
    entry = _function_under_test(sample)
    return entry is not None and languages.defines(code, sample.language, entry)


def _first_lines(text: str, sample: Sample, variant: Variant) -> _Passage | None:
    """Return the text before the first fence if it goes on from the prompt, as body or as code."""
    fence = next((mark for mark in _FENCE.finditer(text) if _is_fence(mark)), None)
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
    last = found[-1] if found and not whole[found[-1].end :].strip() else None
    is_inside = last and _is_open(last, sample.language) and _holds(last, sample)
    return whole.rstrip() + "\n" if is_inside else ""


def _is_open(piece: Statement, language: str) -> bool:
    """Tell whether a definition can go on after its end, as it always can where layout ends it."""
    spec = languages.LANGUAGES.get(language)
    return not piece.complete or bool(spec and spec.blocks)


def _holds(piece: Statement, sample: Sample) -> bool:
    """Tell whether a piece is the function under test, or a class with it inside."""
    return piece.name is not None and _defines(piece.text, sample)


def _is_body(code: str) -> bool:
    return code.lstrip("\n")[:1] in {" ", "\t"}


def _passage(text: str, sample: Sample, variant: Variant) -> _Passage:
    """Return the part of ``text`` that holds the answer."""
    blocks = _blocks(text, sample.language)
    defining = [block for block in blocks if _defines(block.code, sample)]
    if defining:
        return _last(defining, sample, variant)
    found = languages.pieces(text, sample.language)
    if any(_defines(piece.text, sample) for piece in found):
        return _Passage(text, "bare")
    if not blocks:
        return _Passage(text, "whole")
    fitting = [block for block in blocks if block.tag in {None, sample.language}] or blocks
    fitting = [block._replace(rule=f"last_{block.rule}") for block in fitting]
    # A test may be bare assertions after a block that only repeats the function.
    is_test = sample.task == "test_generation"
    named = [] if is_test else [block for block in fitting if _names(block.code, sample.language)]
    return _last(named or _likeliest(fitting, sample.language), sample, variant)


def _likeliest(blocks: list[_Passage], language: str) -> list[_Passage]:
    """Return the blocks that are most likely code: an example's input stands in one too."""
    marked = [block for block in blocks if block.tag == language]
    return marked or [block for block in blocks if _LIKE_CODE.search(block.code)] or blocks


def _names(code: str, language: str) -> bool:
    """Tell whether ``code`` defines any function or class at its top level."""
    return any(piece.name for piece in languages.pieces(code, language))


def _last(blocks: list[_Passage], sample: Sample, variant: Variant) -> _Passage:
    """Return the last block, in a repair the last that does not repeat the prompt's own code."""
    last = blocks[-1]
    if sample.task != "program_repair" or len(blocks) == 1:
        return last
    asked = {tuple(languages.tokens(code, sample.language)) for code in (variant.text, sample.text)}
    for block in reversed(blocks):
        if tuple(languages.tokens(block.code, sample.language)) not in asked:
            return block if block is last else block._replace(rule=f"unechoed_{block.rule}")
    return last


def _blocks(text: str, language: str) -> list[_Passage]:
    """Return the fenced blocks of ``text`` in their order."""
    blocks: list[_Passage] = []
    fence: re.Match[str] | None = None
    for mark in _FENCE.finditer(text):
        closes = not mark["info"]
        lead = text[: mark.start()]
        is_in_code = not blocks and fence is None and _begins_with_code(lead, language)
        if (fence or is_in_code) and not _is_fence(mark, fence):
            continue
        if is_in_code and closes:
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


def _is_fence(mark: re.Match[str], opening: re.Match[str] | None = None) -> bool:
    """Tell whether a mark is indented no further than a fence, or one that closes another, is."""
    beyond = _columns(mark) - (_columns(opening) if opening else 0)
    return beyond <= _FENCE_INDENT


def _columns(mark: re.Match[str]) -> int:
    return len(mark["indent"].expandtabs(4))


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
    found = _TAGGED.fullmatch(fence["info"].lower())
    if found is None or not _ATTRIBUTES.fullmatch(found[2]):
        return None
    word = _ALIASES.get(found[1], found[1])
    return word if word in _TAGS else None


def _own_part(code: str, sample: Sample, rule: str, *, first: bool) -> str:
    """Return what of ``code`` is the answer's own, see the module's docstring.

    Of several definitions of the function under test, or else of classes that hold one,
    the first or the last counts.
    """
    language, entry = sample.language, _function_under_test(sample)
    given = _given(sample.context, language, entry)
    found = languages.pieces(code, language)
    places = [k for k, piece in enumerate(found) if piece.name == entry is not None]
    places = places or [k for k, piece in enumerate(found) if _holds(piece, sample)]
    last = places[0 if first else -1] if places else len(found) - 1
    kept, position = [], 0
    for piece in found[: last + 1]:
        kept.append("\n" if rule == "bare" else code[position : piece.start])
        if not given or _tokens(piece, language) not in given:
            kept.append(piece.text)
        position = piece.end
    if not places or (rule != "bare" and not found[last].complete):
        kept.append(code[position:])
    else:
        rest = [
            piece
            for piece in found[last + 1 :]
            if not given or _tokens(piece, language) not in given
        ]
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
