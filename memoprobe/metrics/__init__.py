"""Hold the metrics by name; each maps (answer, reference, language) to performance in [0, 1]."""

from collections.abc import Callable
from dataclasses import dataclass

from memoprobe.metrics import edit, overlap
from memoprobe.metrics.label import is_label, label


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Hold one way to compare an answer with its reference; 1 is best."""

    measure: Callable[[str, str, str], float]
    version: int  # raised when values change, so that stored scores are known to be stale
    suits: Callable[[str], bool] = bool
    """Tell whether a reference can be measured against; an empty one never can."""

    def __call__(self, answer: str, reference: str, language: str) -> float:
        """Return the performance of ``answer`` against ``reference``, in [0, 1]."""
        return self.measure(answer, reference, language)


METRICS = {
    "levenshtein": Metric(measure=edit.levenshtein, version=1),
    "token_levenshtein": Metric(measure=edit.token_levenshtein, version=1),
    "ncd": Metric(measure=overlap.ncd, version=1),
    "cosine": Metric(measure=overlap.cosine, version=1),
    "rouge1": Metric(measure=overlap.rouge1, version=1),
    "rougeL": Metric(measure=overlap.rouge_l, version=1),
    "label": Metric(measure=label, version=1, suits=is_label),
}
