"""Fan out the requests of a run, within limits, and hand over every outcome."""

from memoprobe.engine.lane import MOST_CHOICES, Lane
from memoprobe.engine.lanes import run
from memoprobe.engine.progress import Progress

__all__ = ["MOST_CHOICES", "Lane", "Progress", "run"]
