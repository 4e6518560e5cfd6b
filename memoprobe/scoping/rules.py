"""Say of a language what renaming must know: a row of data, most of it one tree-sitter query.

A query gives nodes roles. Of several patterns that match a node, the last counts, so general
patterns come first. The roles are

``scope``         the node opens a scope. Suffixes: ``class`` has members, ``function`` is where
                  lifted names go, ``closed`` hides the variables around it, ``beside`` does not
                  see what the scope directly around it declares, ``thin`` does not count where
                  a name is declared in the scope around, ``none`` opens none after all
``base``          what the scope of the same pattern inherits from
``<sort>``        the name declares a thing of a sort in SORTS; ``kept.<sort>``: and it stays
``use.<kind>``    the name stands for a thing; ``uses`` says in which groups of names that may be
``own.<group>``   a member of the class around it, such as Java's ``this.x``
``member.<group>``     a member of what stands before it, or of nobody knows what
``qualified.<group>``  the same, but an unknown owner means that it is declared elsewhere
``keep``          the spelling stays everywhere; ``words``: and so do all words of the node
``ignored``       no name that renaming is concerned with
``string``        text that may name something, where ``by_string`` matches anywhere
``sees``          the code sees all names by their spelling, so nothing can be renamed

A node that holds others passes its role on where ``spreads`` says so.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple


class Names(NamedTuple):
    """Hold the names that may be renamed and every place where a name stands for a thing."""

    renameable: list[str]  # in order of appearance
    places: list[tuple[int, int, str]]  # byte offsets into the UTF-8 text, and the name there


class Sort(NamedTuple):
    """Say where a declaration is visible, and from where on."""

    groups: tuple[str, ...] = ("value",)  # namespaces of the language; names of two never meet
    since: Literal["scope", "name", "end"] = "scope"  # of the statement, see Rules.late
    into: Literal["here", "around", "function"] = "here"  # the scope, or the one around it
    exposed: bool = False  # others may know it, so it stays where tests or context name it
    owns: bool = False  # what follows it after a dot is a member that its class declares


SORTS = {
    "variable": Sort(since="name"),
    "late": Sort(since="end"),
    "parameter": Sort(),
    "lifted": Sort(into="function"),
    "leaked": Sort(since="name", into="around"),
    "constant": Sort(since="name", exposed=True),
    "function": Sort(into="around", exposed=True),
    "inner": Sort(exposed=True),  # a function that only its own body can name
    "method": Sort(("method",), into="around", exposed=True),
    "field": Sort(("field",), exposed=True),
    "method_of": Sort(("field",), into="around", exposed=True),  # a method, named like a field
    "class": Sort(into="around", exposed=True, owns=True),  # a type, named like a variable
    "type": Sort(("type",), into="around", exposed=True, owns=True),
    "type_parameter": Sort(("type",)),
    "tag": Sort(("tag",), into="around", exposed=True),
    "tagged": Sort(("value", "tag"), into="around", exposed=True, owns=True),
    "entagged": Sort(("value", "tag"), exposed=True, owns=True),  # the same by what opens no scope
    "label": Sort(("label",), into="function"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Describe the scopes and names of one language."""

    query: str
    names: Mapping[str, str]  # leaf kind that is a name -> its role where the query gives none
    uses: Mapping[str, tuple[str, ...]]  # kind of use -> groups in which it is looked up
    spreads: Mapping[str, str | None] = field(default_factory=dict)  # kind -> field, None: all
    late: Mapping[str, str | None] = field(default_factory=dict)  # kind -> field at whose end
    braces: re.Pattern[str] = re.compile(r"[{}]")  # in unparsed text: scopes cannot be trusted
    harmless: frozenset[str] = frozenset()  # bases whose members are all among ``library``
    builtins: frozenset[str] = frozenset()  # stay, whatever they name
    library: frozenset[str] = frozenset()  # stay where they name more than a variable
    exported: re.Pattern[str] | None = None  # names at the top that others see
    macros: bool = False  # beside an unknown macro, a keyword may pass for a name


def words(text: str) -> frozenset[str]:
    """Return the words of ``text``."""
    return frozenset(text.split())
