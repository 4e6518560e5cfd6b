"""Fan out the requests of a run, within limits, and hand over every outcome."""

from memoprobe.engine.lanes import MOST_CHOICES, Lane, run
from memoprobe.engine.progress import Progress

__all__ = ["MOST_CHOICES", "Lane", "Progress", "run"]
