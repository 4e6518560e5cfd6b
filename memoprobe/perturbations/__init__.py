"""Alter a sample's text at rising strengths: an open set of functions of one signature."""

from difflib import get_close_matches

from memoprobe.errors import ConfigError
from memoprobe.ownfile import is_own
from memoprobe.perturbations import dead_code as _dead_code
from memoprobe.perturbations import own as _own
from memoprobe.perturbations import reorder as _reorder
from memoprobe.perturbations.bitflip import bitflip
from memoprobe.perturbations.choice import NAMES
from memoprobe.perturbations.comments import comments
from memoprobe.perturbations.constants import constants
from memoprobe.perturbations.layout import layout
from memoprobe.perturbations.levels import Levels, Perturbation
from memoprobe.perturbations.paraphrase import lexical
from memoprobe.perturbations.placebo import placebo
from memoprobe.perturbations.rename import function_name, natural, rename, single
from memoprobe.records import CHANGES_MEANING, InputKind, Sample, Variant

__all__ = [
    "CHANGES_MEANING",
    "DEFAULT",
    "PARAPHRASES",
    "PERTURBATIONS",
    "Levels",
    "Perturbation",
    "find",
    "fingerprint",
    "label",
    "undo",
]

PERTURBATIONS: dict[str, Perturbation] = {
    "rename": rename,
    "rename-natural": natural,
    "function-name": function_name,
    "single": single,
    "lexical": lexical,
    "placebo": placebo,
    "format": layout,
    "comments": comments,
    "dead-code": _dead_code.dead_code,
    "reorder": _reorder.reorder,
    "constants": constants,
    "bitflip": bitflip,
}

DEFAULT: dict[InputKind, str] = {"prose": "lexical", "code": "rename"}

PARAPHRASES = frozenset(NAMES.values())
"""Those that reword prose; a study's source of paraphrases chooses one for all its prose."""


def find(name: str) -> Perturbation:
    """Return the registered perturbation of that name, or the own one that it says.

    Raises:
        ConfigError: There is none; the message gives the nearest.
    """
    if name in PERTURBATIONS:
        return PERTURBATIONS[name]
    if is_own(name):
        return _own.load(name)
    near = get_close_matches(name, PERTURBATIONS, n=1, cutoff=0)[0]
    msg = (
        f"unknown perturbation {name!r}; nearest: {near!r}; known: "
        f"{', '.join(sorted(PERTURBATIONS))}; an own one is named FILE.py:FUNCTION"
    )
    raise ConfigError(msg)


def label(name: str) -> str:
    """Return the name under which a run files a perturbation; an own one's has no folder."""
    return _own.label(name) if is_own(name) else name


def fingerprint(name: str) -> str:
    """Return what a run remembers of a perturbation: an own one's name and its file's hash."""
    return f"{label(name)} {_own.fingerprint(name)}" if is_own(name) else name


def undo(answer: str, sample: Sample, variant: Variant) -> str:
    """Return an answer in code without what the variant's own edits put into it, beside names.

    A model that repeats a program as it was given is charged for its own changes only
    (METHOD 2.1).
    """
    if variant.perturbation == "dead-code":
        return _dead_code.undo(answer, sample.text, variant.text)
    if variant.perturbation == "reorder":
        return _reorder.undo(answer, sample.text, sample.language)
    return answer
