"""Hold the metrics by name; each maps (answer, reference, language) to performance in [0, 1]."""

from collections.abc import Callable
from dataclasses import dataclass

from memoprobe.metrics import edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Hold one way to compare an answer with its reference; 1 is best."""

    measure: Callable[[str, str, str], float]
    version: int  # raised when values change, so that stored scores are known to be stale

    def __call__(self, answer: str, reference: str, language: str) -> float:
        """Return the performance of ``answer`` against ``reference``, in [0, 1]."""
        return self.measure(answer, reference, language)


METRICS = {
    "levenshtein": Metric(measure=edit.levenshtein, version=1),
    "token_levenshtein": Metric(measure=edit.token_levenshtein, version=1),
}
