"""Choose by which metrics a run database is scored."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memoprobe import metrics
from memoprobe.metrics import METRICS
from memoprobe.ownfile import is_own

DEFAULT_METRICS = ("token_levenshtein", "levenshtein", "label", "tests")


class Choice(NamedTuple):
    """Hold the metrics of a database; an own one is named ``FILE.py:FUNCTION``."""

    earlier: list[str]  # those of earlier times
    names: list[str]  # all that are wanted
    lost: list[str]  # of them, own ones of earlier times whose files are not there

    @property
    def usable(self) -> list[str]:
        """Return the metrics by which answers can be scored now."""
        return [name for name in self.names if name not in self.lost]

    def outdated(self, versions: Mapping[str, int]) -> list[str]:
        """Return the metrics whose scores, of these versions by label, are not what they give."""
        return [
            name
            for name in self.usable
            if (version := metrics.find(name).version) != versions.get(metrics.label(name), version)
        ]

    def new(self, versions: Mapping[str, int]) -> list[str]:
        """Return the metrics without scores; those of an own one whose file was lost may be."""
        return [
            name
            for name in self.usable
            if name not in self.earlier or (is_own(name) and metrics.label(name) not in versions)
        ]


def choose(remembered: str | None, chosen: Sequence[str]) -> Choice:
    """Return the metrics of earlier times and the chosen ones, the defaults where there are none.

    Args:
        remembered: JSON of the names of earlier times.
        chosen: Names of metrics. An own one takes the place of an earlier one of its label.

    Raises:
        ConfigError: One is unknown, or an own one cannot be used.
    """
    for name in chosen:
        metrics.find(name)
    earlier = [name for name in json.loads(remembered or "[]") if name in METRICS or is_own(name)]
    names = list({metrics.label(name): name for name in (*earlier, *chosen)}.values())
    lost = [name for name in names if name not in chosen and not metrics.is_there(name)]
    return Choice(earlier, names or list(DEFAULT_METRICS), lost)
