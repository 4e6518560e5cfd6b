"""Put statements and functions into code that never run or are never used."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memoprobe.perturbations.levels import Levels
from memoprobe.perturbations.nonces import nonces
from memoprobe.perturbations.syntax import (
    Code,
    Edit,
    Grammar,
    Point,
    compiles,
    edited,
    graded,
    grammar,
    points,
    shuffled,
    skeleton,
    spread,
)
from memoprobe.records import Sample


class _Templates(NamedTuple):
    """Hold lines in which NAME is a new name and NUMBER a number; each compiles anywhere."""

    hidden: tuple[str, ...]  # leave no trace while the program runs
    seen: tuple[str, ...]  # bind a name that the program could list
    function: str  # stands before a function
    method: str = ""  # stands before a method, if it is another text
    lists: str = r"(?!)"  # code that may list names
    style: str = "spare_total"


_HIDDEN = ("if (false) { int NAME = NUMBER; }", "{ int NAME = NUMBER; }")
_C_STATEMENTS = (
    "{ int NAME = NUMBER; (void)NAME; }",
    "do { int NAME = NUMBER; (void)NAME; } while (0);",
)
_C_FUNCTION = "static int NAME(int value) { return value; }"
# A local of C and C++ stands in a block of its own, over which a goto or a case may jump. In Java
# what follows a return does not compile, so nothing is put at the end of a block; in Go an
# unused local does not.
_TEMPLATES = {
    "python": _Templates(
        ("if False: NAME = NUMBER", "while False: NAME = NUMBER", "if 0: NAME = [NUMBER]"),
        ("NAME = NUMBER", "NAME = [NUMBER, NUMBER]", "NAME = 'NAME'"),
        "def NAME(value): return value",
        "def NAME(self): return NUMBER",
        r"\b(?:locals|globals|vars|dir|inspect|getmembers|__dict__|__name__\.|sys\.modules)\b",
    ),
    "java": _Templates(
        _HIDDEN,
        ("int NAME = NUMBER;",),
        "private int NAME(int value) { return value; }",
        lists=r"getDeclared|reflect",
        style="spareTotal",
    ),
    "c": _Templates(("if (0) { int NAME = NUMBER; (void)NAME; }", *_C_STATEMENTS), (), _C_FUNCTION),
    "cpp": _Templates(
        ("if (false) { int NAME = NUMBER; (void)NAME; }", *_C_STATEMENTS), (), _C_FUNCTION
    ),
    "javascript": _Templates(
        ("if (false) { let NAME = NUMBER; }", "{ const NAME = NUMBER; }"),
        ("let NAME = NUMBER;", "const NAME = 'NAME';"),
        "function NAME(value) { return value; }",
        "NAME(value) { return value; }",
        r"getOwnProperty|ownKeys|\beval\b",
        "spareTotal",
    ),
    "php": _Templates(
        ("if (false) { $NAME = NUMBER; }", "while (false) { $NAME = NUMBER; }"),
        ("$NAME = NUMBER;", "$NAME = 'NAME';"),
        "function NAME($value) { return $value; }",
        "private function NAME($value) { return $value; }",
        r"get_defined|get_class_methods|\bcompact\b|Reflection|GLOBALS|method_exists|\$\$",
        "spareTotal",
    ),
    "go": _Templates(
        ("if false { NAME := NUMBER; _ = NAME }", "{ NAME := NUMBER; _ = NAME }"),
        (),
        "func NAME(value int) int { return value }",
        style="spareTotal",
    ),
    "ruby": _Templates(
        ("proc { |NAME| NUMBER } if false", "if false then proc { |NAME| NUMBER } end"),
        ("NAME = NUMBER", "NAME = NUMBER if false", "NAME = 'NAME'"),
        "def NAME(value); value; end",
        lists=r"local_variables|binding|methods|method_added|ObjectSpace|respond_to",
    ),
    "csharp": _Templates(
        _HIDDEN,
        ("int NAME = NUMBER;",),
        "private static int NAME(int value) { return value; }",
        lists=r"GetMethods?|GetMembers|Reflection",
        style="spareTotal",
    ),
}


def dead_code(
    sample: Sample, levels: int, rng: random.Random, *, intensity: str = "share"
) -> Levels:
    """Return the sample's code with ever more that cannot run or is not used.

    Registered as ``dead-code``. Before every other statement, at the top level, stands an
    unreachable statement or an unused variable, and before a function an unused one, each on
    a line of its own and with a name that is new to the sample. A program that lists its own
    names gets only what leaves no trace.

    Raises:
        ConfigError: The text is prose, or in a language without a grammar.
    """
    spec = grammar(sample, "dead-code", intensity)
    code = Code(sample.text, sample.language)
    before = (skeleton(code), compiles(code))

    def attempt(units: Sequence[Edit]) -> tuple[str, bool]:
        text, spans = edited(code.data, units)
        after = Code(text, sample.language)
        return text, (skeleton(after, spans), compiles(after) or not before[1]) == (before[0], True)

    units = shuffled(list(_drawn(sample, code, spec, levels, rng)), rng)
    return graded(sample, "dead-code", (levels, intensity), units, attempt)


def _drawn(
    sample: Sample, code: Code, spec: Grammar, levels: int, rng: random.Random
) -> Iterator[Edit]:
    templates = _TEMPLATES[code.language]
    is_listed = re.search(templates.lists, code.text) is not None
    places = [
        (point, choice)
        for point in points(code, spec)
        if (choice := _choice(point, spec, templates, is_listed=is_listed))
    ]
    drawn = spread(places, levels, rng)
    parts = (sample.text, sample.context, sample.reference, sample.tests, sample.entry_point)
    taken = re.findall(r"\w+", "\n".join(part or "" for part in parts))
    names = nonces([f"{templates.style}{i}" for i in range(len(drawn))], taken, rng, natural=True)
    for (point, choice), name in zip(drawn, names.values(), strict=True):
        line = re.sub("NUMBER", lambda _: str(rng.randrange(10)), rng.choice(choice))
        text = line.replace("NAME", name).encode("ascii")
        blank = code.line_end if point.before == "function" else b""
        yield Edit(point.start, point.start, point.indent + text + code.line_end + blank)


def _choice(
    point: Point, spec: Grammar, templates: _Templates, *, is_listed: bool
) -> tuple[str, ...]:
    """Return the templates that may stand at a point."""
    block = point.node.parent
    around = block and block.parent
    is_member = around is not None and around.type in spec.classes
    if point.before == "function" and not is_listed:
        is_method = is_member or point.node.type in {"method_declaration", "method_definition"}
        return ((templates.method if is_method else "") or templates.function,)
    # An attribute may mean something to a class, such as an enumeration.
    if block is None or block.type not in spec.blocks:
        return ()
    return templates.hidden if is_member or is_listed else templates.hidden + templates.seen


def undo(answer: str, original: str, altered: str) -> str:
    """Return an answer without the lines that only the altered text has.

    A model that repeats what it was given is not charged for our lines. Each but the blank
    ones holds a name that is new, so no line of the model's own is taken for one.

    Args:
        answer: The code in which a model answered.
        original: The sample's text.
        altered: The variant's, which the model was shown.
    """
    count = Counter(line.strip() for line in altered.splitlines())
    count.subtract(line.strip() for line in original.splitlines())
    ours = {line for line, more in count.items() if more > 0 and line}
    kept = [line for line in answer.splitlines(keepends=True) if line.strip() not in ours]
    return "".join(kept)
