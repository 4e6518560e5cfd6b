"""Rename in any language: each grammar has its rules, data that one resolver reads."""

import re
from collections.abc import Callable
from typing import NamedTuple

from memoprobe.languages import LANGUAGES
from memoprobe.records import Sample
from memoprobe.scoping import fragments
from memoprobe.scoping.c import CPP, C
from memoprobe.scoping.csharp import CSHARP
from memoprobe.scoping.go import GO
from memoprobe.scoping.java import JAVA
from memoprobe.scoping.javascript import JAVASCRIPT
from memoprobe.scoping.php import PHP
from memoprobe.scoping.python import python, python_agrees
from memoprobe.scoping.resolve import resolve
from memoprobe.scoping.ruby import RUBY
from memoprobe.scoping.rules import Names, Rules

__all__ = ["SCOPING", "Names", "Scoping"]

RULES: dict[str, Rules] = {  # package of the grammar -> its rules
    "tree_sitter_c": C,
    "tree_sitter_cpp": CPP,
    "tree_sitter_c_sharp": CSHARP,
    "tree_sitter_go": GO,
    "tree_sitter_java": JAVA,
    "tree_sitter_javascript": JAVASCRIPT,
    "tree_sitter_php": PHP,
    "tree_sitter_ruby": RUBY,
}


class Scoping(NamedTuple):
    """Hold what renaming needs to know of a language."""

    names: Callable[[Sample], Names | None]
    agrees: Callable[[str, str, dict[str, str]], bool]


def _names(sample: Sample) -> Names | None:
    """Return the renameable names of a fragment, None where too much does not parse."""
    parsed = fragments.fragment(sample.text, sample.language)
    rules = RULES[parsed.attempt.module]
    if not fragments.is_bounded(parsed, rules.braces):
        return None
    outside = re.findall(r"\w+", f"{sample.tests or ''} {sample.context}")
    names = resolve(parsed, rules, outside)
    kept = set(re.findall(r"\w+", sample.entry_point or ""))
    return Names(
        [name for name in names.renameable if name not in kept],
        [place for place in names.places if place[2] not in kept],
    )


def _scoping(language: str) -> Scoping:
    return Scoping(
        _names,
        lambda before, after, rename_map: fragments.agrees(before, after, language, rename_map),
    )


SCOPING = {"python": Scoping(python, python_agrees)} | {
    language: _scoping(language) for language in LANGUAGES if language != "python"
}


def reserved(language: str) -> frozenset[str]:
    """Return the words that mean something to a language, so that no new name may be one."""
    found: set[str] = set()
    for attempt in LANGUAGES[language].attempts:
        found |= fragments.keywords(attempt.module, attempt.function)
        rules = RULES.get(attempt.module)
        if rules:
            found |= rules.builtins | rules.library
    return frozenset(found)
