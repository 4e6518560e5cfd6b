"""Hold the metrics by name; each maps (answer, reference, language) to performance in [0, 1].

Two questions, never pooled. Of memory: ``token_levenshtein`` on the answer with the prompt's
renames undone and nothing else changed. Of skill: ``tests`` where there are some, else
``canonical_levenshtein``, and ``rougeL`` for prose. The others are there for parity.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from memoprobe.metrics import edit, overlap
from memoprobe.metrics.canonical import canonical_levenshtein
from memoprobe.metrics.label import is_label, label
from memoprobe.records import ANSWERED_WITH_CODE, Sample


def _is_labelled(sample: Sample) -> bool:
    is_verdict = sample.task == "vulnerability_detection" and sample.reference is not None
    return is_verdict and is_label(sample.reference or "")


def _is_likened(sample: Sample) -> bool:
    """Tell whether an answer is measured by its likeness to a text: not to a label."""
    return not _is_labelled(sample)


def _is_code(sample: Sample) -> bool:
    return sample.task in ANSWERED_WITH_CODE


def _is_tested(sample: Sample) -> bool:
    """Tell whether a sample has tests that can be run; Defects4J only names its own."""
    if sample.tests is None or sample.task not in ANSWERED_WITH_CODE:
        return False
    return bool(json.loads(sample.tests).get("kind") != "named")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Hold one way to measure an answer; 1 is best."""

    measure: Callable[[str, str, str], float] | None  # None: by running the answer's tests
    version: int  # raised when values change, so that stored scores are known to be stale
    suits: Callable[[Sample], bool] = _is_likened

    def __call__(self, answer: str, reference: str, language: str) -> float:
        """Return the performance of ``answer`` against ``reference``, in [0, 1].

        Raises:
            ValueError: It is measured by running tests, not by likeness.
        """
        if self.measure is None:
            msg = "this metric runs the tests of a sample"
            raise ValueError(msg)
        return self.measure(answer, reference, language)


METRICS = {
    "levenshtein": Metric(measure=edit.levenshtein, version=1),
    "token_levenshtein": Metric(measure=edit.token_levenshtein, version=1),
    "canonical_levenshtein": Metric(measure=canonical_levenshtein, version=1, suits=_is_code),
    "ncd": Metric(measure=overlap.ncd, version=1),
    "cosine": Metric(measure=overlap.cosine, version=1),
    "rouge1": Metric(measure=overlap.rouge1, version=1),
    "rougeL": Metric(measure=overlap.rouge_l, version=1),
    "label": Metric(measure=label, version=1, suits=_is_labelled),
    "tests": Metric(measure=None, version=1, suits=_is_tested),
}
