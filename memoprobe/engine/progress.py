"""Count what happens in a run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from memoprobe.engine.outcomes import Outcome
from memoprobe.records import Failure


@dataclass(slots=True)
class Progress:
    """Count what happened in a run so far; in its unit, unless said otherwise."""

    left: int = 0  # planned and not yet stored when the run began
    answered: int = 0
    truncated: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    retries: int = 0  # requests
    tokens: int = 0  # of completions, as far as servers say
    in_flight: dict[int, tuple[float, str]] = field(default_factory=dict)  # since, which item
    started: float = field(default_factory=monotonic)
    stopping: bool = False  # after the first Ctrl-C
    hints: list[str] = field(default_factory=list)  # what a user may want to know, each once
    unit: str = "answers"  # what is counted

    def hint(self, text: str) -> None:
        """Note a hint, unless it was noted before."""
        if text not in self.hints:
            self.hints.append(text)

    @property
    def oldest(self) -> tuple[float, str] | None:
        """Return the age in seconds and the item of the longest open request."""
        if not self.in_flight:
            return None
        since, item = min(self.in_flight.values())
        return monotonic() - since, item

    def count(self, outcomes: Sequence[Outcome]) -> None:
        """Count outcomes that were stored."""
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                self.failed[outcome.kind] += 1
            else:
                self.answered += 1
                self.truncated += outcome.finish_reason == "length"
                self.tokens += outcome.completion_tokens or 0
