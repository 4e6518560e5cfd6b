"""Name the detectors that are judged, and what one says of one item."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from memoprobe.records import Task

METRIC = "token_levenshtein"  # of the answers

FILED: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        **{
            (METRIC, name): name
            for name in (
                *("calibrated", "total_drop", "slope", "paper", "artifact"),
                *("recall", "exact", "recall_last"),
            )
        },
        ("logprob_token", "calibrated"): "logprob.calibrated",
        ("logprob_token", "total_drop"): "logprob.total_drop",
        ("logprob_total", "ma"): "ma",
        ("logprob_token", "level0_logprob"): "level0_logprob",
        ("logprob_token", "min_k"): "min_k",
        ("peakedness", "cdd"): "cdd",
    }
)
"""Metric and definition of a sensitivity -> the detector that it is."""

DETECTORS: Mapping[str, str] = MappingProxyType(
    {
        "calibrated": "fall: level 0 minus the mean of the further levels",
        "total_drop": "fall from level 0 to the last level",
        "slope": "fall per edit share",
        "paper": "largest fall between neighbouring levels (the study's Algorithm 1)",
        "paper.excess": "the same over its noise floor",
        "artifact": "largest change between neighbouring levels (the study's code)",
        "artifact.excess": "the same over its noise floor",
        "recall": "performance at level 0",
        "exact": "share of level-0 answers equal to the reference",
        "recall_last": "performance at the last level",
        "logprob.calibrated": "fall of the reference's mean log-probability",
        "logprob.total_drop": "its fall from level 0 to the last level",
        "ma": "the study's likelihood advantage, of plain probabilities",
        "level0_logprob": "mean log-probability of the reference at level 0",
        "min_k": "Min-K % of the reference at level 0",
        "cdd": "CDD on the run's own nine answers, temperature .3",
        "cdd.warm": "CDD on ten answers at temperature .8",
    }
)
"""Name -> what it measures; each is higher where more is suspected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Hold what one detector says of one item."""

    seed: int  # of the model
    task: Task
    sample_id: str
    copies: int  # that the model has seen; 0 is none
    detector: str
    value: float
    noise_p: float | None = None  # answer_noise_p, where it has one
