"""Hold the metrics by name; each maps (answer, reference, language) to performance in [0, 1].

Two questions, never pooled. Of memory: ``token_levenshtein`` on the answer with the prompt's
renames undone and nothing else changed. Of skill: ``tests`` where there are some, else
``canonical_levenshtein``, and ``rougeL`` for prose. The others are there for parity. An own
one is a function of a Python file, named ``FILE.py:FUNCTION``, with the file's hash for version.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from memoprobe.errors import ConfigError
from memoprobe.metrics import edit, overlap, own
from memoprobe.metrics.canonical import canonical_levenshtein
from memoprobe.metrics.label import is_label
from memoprobe.metrics.label import label as _label
from memoprobe.ownfile import is_own
from memoprobe.records import ANSWERED_WITH_CODE, Sample


def _is_labelled(sample: Sample) -> bool:
    is_verdict = sample.task == "vulnerability_detection" and sample.reference is not None
    return is_verdict and is_label(sample.reference or "")


def _is_likened(sample: Sample) -> bool:
    """Tell whether an answer is measured by its likeness to a text: not to a label."""
    return not _is_labelled(sample)


def _is_any(_: Sample) -> bool:
    return True


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
    "levenshtein": Metric(measure=edit.levenshtein, version=2),
    "token_levenshtein": Metric(measure=edit.token_levenshtein, version=2),
    "canonical_levenshtein": Metric(measure=canonical_levenshtein, version=2, suits=_is_code),
    "ncd": Metric(measure=overlap.ncd, version=2),
    "cosine": Metric(measure=overlap.cosine, version=2),
    "rouge1": Metric(measure=overlap.rouge1, version=2),
    "rougeL": Metric(measure=overlap.rouge_l, version=2),
    "label": Metric(measure=_label, version=2, suits=_is_labelled),
    "tests": Metric(measure=None, version=2, suits=_is_tested),
}


def find(name: str) -> Metric:
    """Return the registered metric of that name, or the own one that it says.

    Raises:
        ConfigError: There is none; the message gives the nearest.
    """
    if name in METRICS:
        return METRICS[name]
    if is_own(name):
        return Metric(measure=own.load(name), version=own.version(name), suits=_is_any)
    near = get_close_matches(name, METRICS, n=1, cutoff=0)[0]
    msg = (
        f"unknown metric {name!r}; nearest: {near!r}; known: {', '.join(METRICS)};"
        " an own one is named FILE.py:FUNCTION"
    )
    raise ConfigError(msg)


def label(name: str) -> str:
    """Return the name under which scores are filed; an own metric's has no folder."""
    return own.label(name) if is_own(name) else name


def located(name: str) -> str:
    """Return the name by which another process, of any folder, finds the metric."""
    if not is_own(name):
        return name
    path, _, function = name.rpartition(":")
    return f"{Path(path).absolute()}:{function}"


def is_there(name: str) -> bool:
    """Tell whether a metric of an earlier time can be used: the file of an own one may be gone."""
    return name in METRICS or (is_own(name) and own.is_there(name))


def is_likeness(label: str) -> bool:
    """Tell whether scores under that label are of the likeness to a reference."""
    return is_own(label) or (label in METRICS and METRICS[label].measure is not None)
