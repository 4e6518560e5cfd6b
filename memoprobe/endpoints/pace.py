"""Find out how many requests an endpoint should have open at a time; pure.

More open requests help until the server is busy; from there on they only wait
longer and near their time limit. So the limit is doubled while that raises the rate
of answers, goes back where it did not, and now and then tries again.
"""

from dataclasses import dataclass, field

FIRST = 8
GAIN = 1.1  # a rate that much higher is worth the larger limit
WINDOW_S = 0.5  # at least, since a shorter one measures chance
PATIENCE_WINDOWS = 8  # after which a larger limit is tried again
SHRINK = 0.7


@dataclass(slots=True, kw_only=True)
class Pace:
    """Hold the limit of open requests of an endpoint; a window is a limit's worth of replies."""

    most: int
    limit: int = field(init=False)
    _settled: int = field(default=0, init=False)  # the limit of the best rate, 0 before the first
    _best: float = field(default=0.0, init=False)  # answers a second
    _windows: int = field(default=0, init=False)  # since the limit was last raised
    _began: float | None = field(default=None, init=False)
    _replies: int = field(default=0, init=False)
    _answers: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.limit = min(FIRST, self.most)

    def replied(self, now: float, answers: int) -> None:
        """Note a reply with so many answers at ``now``, in seconds."""
        if self._began is None:
            self._began = now
            return
        self._replies += 1
        self._answers += answers
        if self._replies >= self.limit and now - self._began >= WINDOW_S:
            self._judge(self._answers / (now - self._began))
            self._began, self._replies, self._answers = now, 0, 0

    def _judge(self, rate: float) -> None:
        self._windows += 1
        if rate > self._best * GAIN:
            self._best, self._settled = rate, self.limit
            self._raise()
        elif self.limit > self._settled:
            self.limit = self._settled
        elif self._windows >= PATIENCE_WINDOWS:
            self._best = rate
            self._raise()

    def _raise(self) -> None:
        self.limit = min(2 * self.limit, self.most)
        self._windows = 0

    def refused(self) -> None:
        """Shrink after the server refused a wave of requests."""
        self.limit = self._settled = max(1, int(self.limit * SHRINK))
        self._best = 0.0
        self._began, self._replies, self._answers = None, 0, 0
