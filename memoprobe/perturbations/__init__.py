"""Alter a sample's text at rising strengths: an open set of functions of one signature."""

from memoprobe.perturbations.levels import Levels, Perturbation
from memoprobe.perturbations.paraphrase import lexical
from memoprobe.perturbations.placebo import placebo
from memoprobe.perturbations.rename import function_name, natural, rename, single
from memoprobe.records import InputKind

__all__ = ["DEFAULT", "PERTURBATIONS", "Levels", "Perturbation"]

PERTURBATIONS: dict[str, Perturbation] = {
    "rename": rename,
    "rename-natural": natural,
    "function-name": function_name,
    "single": single,
    "lexical": lexical,
    "placebo": placebo,
}

DEFAULT: dict[InputKind, str] = {"prose": "lexical", "code": "rename"}
