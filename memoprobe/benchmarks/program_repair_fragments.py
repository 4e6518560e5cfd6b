"""Cut the buggy and the fixed code out of patches and Java files, which are too long as a whole."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

import tree_sitter

from memoprobe import languages

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_FILE = re.compile(r"\+\+\+ (?:b/)?([^\t\r\n]+)")
_ELISION = "// ..."
_METHODS = frozenset(
    {"method_declaration", "constructor_declaration", "compact_constructor_declaration"}
)
_CONTEXT = 3  # lines around a change that are shown


class Fragments(NamedTuple):
    """Hold what differs between a buggy and a fixed program, with the code around it."""

    buggy: str
    fixed: str
    kind: Literal["methods", "hunks"]  # whole methods, or changed lines and those around them
    methods: tuple[str, ...] = ()  # names of the changed methods, in their order


_Line = tuple[str, str]
"""A line of a hunk behind its mark: ``-`` of the fixed version, ``+`` of the buggy, else both."""


def of_patch(patch: str) -> Fragments | None:
    """Return the fragments of Java code in a patch that turns the fixed into the buggy program.

    So the lines marked ``-`` are the fix and those marked ``+`` the bug, as in
    Defects4J. The hunks of a file are joined by a comment, and where there are
    several files, each is headed by its name. None: no Java code is changed.
    """
    hunks: dict[str, list[list[_Line]]] = defaultdict(list)
    path, n_fixed, n_buggy = "", 0, 0
    for line in patch.replace("\r\n", "\n").split("\n"):
        if n_fixed > 0 or n_buggy > 0:
            mark = line[:1] or " "  # some tools cut the blank off an empty line
            if mark in "-+ ":
                hunks[path][-1].append((mark, line[1:]))
                n_fixed -= mark in "- "
                n_buggy -= mark in "+ "
        elif file := _FILE.match(line):
            path = file[1]
        elif size := _HUNK.match(line):
            hunks[path].append([])
            n_fixed, n_buggy = (int(count or 1) for count in size.groups())
    java = {
        path: [_without_cut_comments(hunk) for hunk in found]
        for path, found in hunks.items()
        if path.endswith(".java")
    }
    found = Fragments(_version(java, "+ "), _version(java, "- "), "hunks")
    return None if found.buggy == found.fixed else found


def _without_cut_comments(hunk: list[_Line]) -> list[_Line]:
    """Return a hunk without the unchanged ends that are half a comment, which is no code."""
    marks = "".join(mark for mark, _ in hunk)
    start, end = len(marks) - len(marks.lstrip(" ")), len(marks.rstrip(" "))
    closing = next((k for k in range(start) if "*/" in hunk[k][1]), None)
    if closing is not None and not any("/*" in code for _, code in hunk[: closing + 1]):
        hunk, end = hunk[closing + 1 :], end - closing - 1
    opening = next((k for k in reversed(range(end, len(hunk))) if "/*" in hunk[k][1]), None)
    if opening is not None and not any("*/" in code for _, code in hunk[opening:]):
        hunk = hunk[:opening]
    return hunk


def _version(hunks: Mapping[str, list[list[_Line]]], marks: str) -> str:
    texts = {
        path: f"\n{_ELISION}\n".join(
            "\n".join(code for mark, code in hunk if mark in marks) for hunk in found
        )
        for path, found in hunks.items()
    }
    return _headed(texts)


def _headed(texts: Mapping[str, str]) -> str:
    """Return the texts of files in one, each headed by the file's name where there are several."""
    if len(texts) < 2:
        return languages.tidy("".join(texts.values()))
    parts = (f"// {PurePosixPath(path).name}\n{text}" for path, text in texts.items())
    return languages.tidy("\n\n".join(parts))


def of_files(buggy: Mapping[str, str], fixed: Mapping[str, str]) -> Fragments | None:
    """Return the methods that differ between two versions of Java files, by path.

    A method that only one version has is shown in that version alone. Changes beside
    methods are not shown, unless no method has changed: then all changed lines are, with
    three lines around them. None: the code is the same.
    """
    paths = sorted({*buggy, *fixed})
    found = [_changed(buggy.get(path, ""), fixed.get(path, "")) for path in paths]
    names = tuple(dict.fromkeys(name for pair in found for name in pair.names))
    if not names:
        patch = (
            line
            for path in paths
            for line in unified_diff(
                languages.tidy(fixed.get(path, "")).split("\n"),
                languages.tidy(buggy.get(path, "")).split("\n"),
                path,
                path,
                lineterm="",
                n=_CONTEXT,
            )
        )
        return of_patch("\n".join(patch))
    places = [k for k, pair in enumerate(found) if pair.names]
    return Fragments(
        _headed({paths[k]: "\n\n".join(found[k].buggy) for k in places}),
        _headed({paths[k]: "\n\n".join(found[k].fixed) for k in places}),
        "methods",
        names,
    )


class _Changed(NamedTuple):
    """Hold the changed methods of one file."""

    buggy: list[str]
    fixed: list[str]
    names: list[str]


def _changed(buggy: str, fixed: str) -> _Changed:
    if buggy == fixed:
        return _Changed([], [], [])
    before, after = dict(_methods(buggy)), dict(_methods(fixed))
    changed = {
        key
        for key in before.keys() | after.keys()
        if before.get(key) != after.get(key)
        and _code(before.get(key, "")) != _code(after.get(key, ""))
    }
    return _Changed(
        [text for key, text in before.items() if key in changed],
        [text for key, text in after.items() if key in changed],
        [key.name for key in {**after, **before} if key in changed],
    )


def _code(method: str) -> list[str]:
    return languages.tokens(method, "java")


class _Key(NamedTuple):
    """Tell the methods of one file apart."""

    within: str  # the classes around it
    name: str
    parameters: str


def _methods(code: str) -> Iterator[tuple[_Key, str]]:
    """Yield the methods and constructors of Java code with their text, moved to column 0."""
    data = languages.encode(code)
    stack: list[tuple[tree_sitter.Node, str]] = [(languages.parse(data, "java"), "")]
    while stack:
        node, within = stack.pop()
        name = _field(node, "name", data)
        if node.type in _METHODS:
            parameters = " ".join(_field(node, "parameters", data).split())
            yield _Key(within, name, parameters), _at_column_0(node, data)
        else:
            inside = f"{within}.{name}" if node.type.endswith("_declaration") else within
            stack += [(child, inside) for child in reversed(node.children)]


def _field(node: tree_sitter.Node, field: str, data: bytes) -> str:
    found = node.child_by_field_name(field)
    return languages.decode(data[found.start_byte : found.end_byte]) if found else ""


def _at_column_0(node: tree_sitter.Node, data: bytes) -> str:
    lead = data[data.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]
    indent = languages.decode(lead[: len(lead) - len(lead.lstrip())])
    text = languages.decode(data[node.start_byte : node.end_byte])
    return re.sub(rf"^{re.escape(indent)}", "", text, flags=re.MULTILINE)
