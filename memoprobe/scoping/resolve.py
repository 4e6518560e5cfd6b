"""Resolve the names of a program by the rules of its language.

The same spelling in the same group of names is one unit: all its declarations and uses are
found in the fragment and renamed together, or it stays. What is not declared in the fragment,
or may be declared outside it as well, stays.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import tree_sitter

from memoprobe.languages import decode
from memoprobe.scoping.fragments import (
    Fragment,
    errors,
    grammar,
    keywords,
    text_of,
)
from memoprobe.scoping.rules import SORTS, Names, Rules, Sort

_WORD = re.compile(r"\w+")
_OWNERS = frozenset(name for name, sort in SORTS.items() if sort.owns)
_FLAGS = frozenset({"base", "string", "by_string", "sees", "words", "_"})


@dataclass(slots=True, eq=False)
class _Scope:
    parent: "_Scope | None"
    flags: frozenset[str]
    bases: frozenset[str] = frozenset()  # what it inherits from, as far as that may have members
    is_open: bool = False  # has members that are declared outside the fragment
    declared: dict[tuple[str, str], list["_Declaration"]] = field(default_factory=dict)


class _Declaration(NamedTuple):
    sort: Sort
    scope: _Scope
    since: int  # byte offset from which it is visible
    stays: bool


class _Occurrence(NamedTuple):
    node: tree_sitter.Node
    spelling: str
    role: str
    scope: _Scope


class _Marks(NamedTuple):
    """Hold what the query says of a tree; nodes are given by their ids."""

    roles: dict[int, str]
    scopes: dict[int, frozenset[str]]
    bases: dict[int, list[str]]
    flagged: dict[str, list[tree_sitter.Node]]


def resolve(parsed: Fragment, rules: Rules, outside: Iterable[str]) -> Names:
    """Return the names that can be renamed and their places.

    Args:
        parsed: The fragment.
        rules: The rules of its grammar.
        outside: Words of texts that may name what is not local to a function.
    """
    marks = _marks(parsed, rules)
    if "sees" in marks.flagged:
        return Names([], [])
    occurrences = list(_occurrences(parsed, rules, marks))
    _open(occurrences)
    for occurrence in occurrences:
        _declare(occurrence, rules)
    verdict = _Verdict(rules, frozenset(outside), occurrences, _kept_words(parsed, marks, rules))
    shift = len(parsed.attempt.before)
    places = [
        (node.start_byte - shift, node.end_byte - shift, spelling)
        for (node, spelling, _, _), groups in verdict.bound
        if not verdict.blocks(groups, spelling) and shift <= node.start_byte < parsed.end
    ]
    return Names(list(dict.fromkeys(name for _, _, name in places)), places)


@cache
def _query(source: str, module: str, function: str) -> tree_sitter.Query:
    return tree_sitter.Query(grammar(module, function), source)


def _marks(parsed: Fragment, rules: Rules) -> _Marks:
    roles: dict[int, tuple[int, str]] = {}
    scopes: dict[int, tuple[int, str]] = {}
    bases: dict[int, list[str]] = defaultdict(list)
    flagged: dict[str, list[tree_sitter.Node]] = defaultdict(list)
    query = _query(rules.query, parsed.attempt.module, parsed.attempt.function)
    for pattern, captures in tree_sitter.QueryCursor(query).matches(parsed.root):
        for role, nodes in captures.items():
            if role in _FLAGS:
                flagged[role] += nodes
                continue
            kept = scopes if role.startswith("scope") else roles
            for node in nodes:
                kept[node.id] = max(kept.get(node.id, (-1, "")), (pattern, role))
                if kept is scopes:
                    bases[node.id] += [
                        decode(base.text or b"") for base in captures.get("base", ())
                    ]
    return _Marks(
        {key: role for key, (_, role) in roles.items()},
        {
            key: frozenset(role.split(".")[1:])
            for key, (_, role) in scopes.items()
            if role != "scope.none"
        },
        bases,
        flagged,
    )


def _occurrences(parsed: Fragment, rules: Rules, marks: _Marks) -> Iterator[_Occurrence]:
    """Yield every name in order, with its role and the innermost scope around it."""
    top = _Scope(None, frozenset({"class", "function"}))
    stack: list[tuple[tree_sitter.Node, _Scope, str | None]] = [(parsed.root, top, None)]
    while stack:
        node, scope, passed = stack.pop()
        role = marks.roles.get(node.id, passed)
        if node.id in marks.scopes:
            bases = {_base(text) for text in marks.bases.get(node.id, ())}
            scope = _Scope(scope, marks.scopes[node.id], frozenset(bases - rules.harmless))
        if node.type in rules.names and node.child_count == 0:
            role = role or rules.names[node.type]
            yield _Occurrence(node, text_of(node, parsed.data), role, scope)
            continue
        heirs = _heirs(node, rules) if role else frozenset()
        stack.extend(
            (child, scope, role if child.id in heirs else None) for child in reversed(node.children)
        )


def _base(text: str) -> str:
    found = re.findall(r"[\w$]+", text.partition("<")[0])
    return found[-1] if found else text


def _heirs(node: tree_sitter.Node, rules: Rules) -> frozenset[int]:
    """Return the ids of the children to which a node passes its role."""
    if node.type not in rules.spreads:
        return frozenset()
    name = rules.spreads[node.type]
    children = node.named_children if name is None else node.children_by_field_name(name)
    return frozenset(child.id for child in children)


def _open(occurrences: Iterable[_Occurrence]) -> None:
    """Mark the scopes that inherit from more than plain classes of the fragment."""
    plain = {
        occurrence.spelling
        for occurrence in occurrences
        if occurrence.role.removeprefix("kept.") in _OWNERS and not occurrence.scope.bases
    }
    for occurrence in occurrences:
        for scope in _upward(occurrence.scope):
            scope.is_open = not scope.bases <= plain


def _declare(occurrence: _Occurrence, rules: Rules) -> None:
    role = occurrence.role.removeprefix("kept.")
    if role not in SORTS:
        return
    sort, scope = SORTS[role], occurrence.scope
    while sort.into == "around" and scope.parent:
        scope = scope.parent
        if "thin" not in scope.flags:
            break
    while sort.into == "function" and not scope.flags & {"function", "closed"} and scope.parent:
        scope = scope.parent
    since = {"scope": -1, "name": occurrence.node.start_byte, "end": 0}[sort.since]
    if sort.since == "end":
        since = _end(occurrence.node, rules)
    stays = role != occurrence.role or (scope.is_open and sort.into == "around")
    found = _Declaration(sort, scope, since, stays)
    for group in sort.groups:
        scope.declared.setdefault((group, occurrence.spelling), []).append(found)


def _end(node: tree_sitter.Node, rules: Rules) -> int:
    """Return the byte offset from which a name is visible that its own statement does not see."""
    around = node.parent
    while around and around.type not in rules.late:
        around = around.parent
    if around is None:
        return node.start_byte
    name = rules.late[around.type]
    last = around.child_by_field_name(name) if name else around
    return last.end_byte if last else node.start_byte


def _kept_words(parsed: Fragment, marks: _Marks, rules: Rules) -> set[str]:
    """Return the words of text that names may occur in without being resolved."""
    nodes = [*marks.flagged["words"], *errors(parsed.root)]
    if "by_string" in marks.flagged:
        nodes += marks.flagged["string"]
    found = {word for node in nodes for word in _WORD.findall(text_of(node, parsed.data))}
    if rules.macros:
        found |= keywords(parsed.attempt.module, parsed.attempt.function)
    return found


class _Verdict:
    """Decide which (group, spelling) can be renamed, and what each occurrence belongs to."""

    def __init__(
        self,
        rules: Rules,
        outside: frozenset[str],
        occurrences: list[_Occurrence],
        kept: set[str],
    ) -> None:
        self._rules, self._outside = rules, outside
        self._kept = kept | rules.builtins
        self._blocked: set[tuple[str, str]] = set()
        self.bound: list[tuple[_Occurrence, tuple[str, ...]]] = []
        self._members = {
            key
            for occurrence in occurrences
            for key, found in _enclosing(occurrence.scope).declared.items()
            if found
        }
        for occurrence in occurrences:
            self._judge(occurrence)
        self._join(occurrences)

    def blocks(self, groups: tuple[str, ...], spelling: str) -> bool:
        """Tell whether a name of these groups stays."""
        return spelling in self._kept or any((group, spelling) in self._blocked for group in groups)

    def _block(self, groups: Iterable[str], spelling: str) -> None:
        self._blocked |= {(group, spelling) for group in groups}

    def _judge(self, occurrence: _Occurrence) -> None:
        kind, _, detail = occurrence.role.partition(".")
        if kind == "keep":
            self._kept.add(occurrence.spelling)
        elif kind in {"own", "member", "qualified"}:
            self._judge_member(occurrence, kind, (detail,))
        elif kind == "use":
            groups = self._rules.uses[detail]
            found = _lookup(occurrence, groups)
            if found is None:
                self._block(groups, occurrence.spelling)
            else:
                self.bound.append((occurrence, found.sort.groups))
        elif kind != "ignored":
            self._judge_declaration(occurrence)

    def _judge_declaration(self, occurrence: _Occurrence) -> None:
        sort = SORTS[occurrence.role.removeprefix("kept.")]
        found = [
            declaration
            for scope in _upward(occurrence.scope)
            for declaration in scope.declared.get((sort.groups[0], occurrence.spelling), ())
        ]
        for declaration in found:
            exposed = declaration.sort.exposed or "class" in declaration.scope.flags
            if declaration.stays or (exposed and self._is_known(occurrence.spelling)):
                self._block(sort.groups, occurrence.spelling)
        self.bound.append((occurrence, sort.groups))

    def _is_known(self, spelling: str) -> bool:
        exported = self._rules.exported
        return (
            spelling in self._outside
            or spelling in self._rules.library
            or (exported is not None and exported.match(spelling) is not None)
        )

    def _judge_member(self, occurrence: _Occurrence, kind: str, groups: tuple[str, ...]) -> None:
        owner = occurrence.node.prev_named_sibling
        if kind == "own":
            found = _lookup(occurrence, groups, members_only=True) is not None
        else:
            found = bool(self._members & {(group, occurrence.spelling) for group in groups})
            if not found and kind == "qualified":
                return
            found = found and self._is_ours(owner, occurrence.scope)
        if found:
            self.bound.append((occurrence, groups))
        else:
            self._block(groups, occurrence.spelling)

    def _is_ours(self, owner: tree_sitter.Node | None, scope: _Scope) -> bool:
        """Tell whether the owner of a member is a class or namespace of the fragment."""
        if owner is None or owner.type not in self._rules.names or owner.child_count:
            return False
        named = _Occurrence(owner, decode(owner.text or b""), "", scope)
        found = _lookup(named, self._rules.uses["owner"])
        return found is not None and found.sort.owns

    def _join(self, occurrences: list[_Occurrence]) -> None:
        """Let a name stay in all groups of a declaration where it stays in one of them.

        Where classes inherit, a bare name may be a member that the resolver does not see.
        """
        inherits = any(occurrence.scope.bases for occurrence in occurrences)
        for occurrence in occurrences:
            sort = SORTS.get(occurrence.role.removeprefix("kept."))
            groups = sort.groups if sort else ()
            if inherits and set(groups) & {"value", "field"}:
                groups = (*groups, "value", "field")
            if any((group, occurrence.spelling) in self._blocked for group in groups):
                self._block(groups, occurrence.spelling)


def _upward(scope: _Scope | None) -> Iterator[_Scope]:
    while scope:
        yield scope
        scope = scope.parent


def _enclosing(scope: _Scope) -> _Scope:
    """Return the innermost scope around with members."""
    return next(around for around in _upward(scope) if "class" in around.flags)


def _lookup(
    occurrence: _Occurrence, groups: tuple[str, ...], *, members_only: bool = False
) -> _Declaration | None:
    """Return the declaration a name stands for, None where it may be outside the fragment."""
    scope: _Scope | None = occurrence.scope
    while scope:
        for group in groups:
            for found in scope.declared.get((group, occurrence.spelling), ()):
                if found.since <= occurrence.node.start_byte and (
                    "class" in scope.flags or not members_only
                ):
                    return found
        if scope.is_open:
            return None
        if "closed" in scope.flags:
            groups = tuple(group for group in groups if group != "value")
        scope = scope.parent.parent if "beside" in scope.flags and scope.parent else scope.parent
    return None
