"""Ask every model how likely the references are: the likelihood track of a run (METHOD 6)."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memoprobe import engine, likelihood, plan
from memoprobe.endpoints.forced import Scorer
from memoprobe.engine import Lane, Progress
from memoprobe.errors import MemoprobeError
from memoprobe.pipeline.lanes import is_fatal, lanes, shares
from memoprobe.plan import Design
from memoprobe.records import Failure, Request, Response, Sample, Variant
from memoprobe.study import ModelSpec

LeftOut = Counter[tuple[str, str]]
"""Model and benchmark -> samples without a reference, or with one that continues no prompt."""

UNIT = "likelihoods"
"""What the progress counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Hold what one model is asked."""

    spec: ModelSpec
    key: str | None  # for its endpoints
    design: Design
    most: Callable[[str], int] = lambda _: engine.MOST_CHOICES  # of a base URL, known of answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Hold where likelihoods are kept, and what they are asked of."""

    variants: Callable[[Sample], Iterable[Variant]]  # all that a model is asked about
    closed: Callable[[str, Sample], Collection[bytes]]  # of a model: keys not to be asked for
    save: Callable[..., None]  # takes Likelihoods and Failures
    complete: Callable[[str], Collection[tuple[str, str]]] = lambda _: ()
    """Of a model: benchmark and id of samples of which nothing is missing; need not hold all."""
    sent: Callable[[Request], None] = lambda _: None  # takes what is asked
    left: int = 0  # likelihoods that are missing, for the progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """Hold how the asking ended."""

    progress: Progress  # its answers are likelihoods
    signal: int | None  # that ended it early
    fault: MemoprobeError | None  # why an endpoint could not go on
    left_out: LeftOut
    lanes: Sequence[Lane]  # what the servers said of themselves


def probe(
    askings: Sequence[Asking],
    samples: Sequence[Sample],
    keeping: Keeping,
    show: Callable[[Progress], None],
) -> Probed:
    """Ask for every likelihood that is missing and hand it over to be kept.

    The engine asks as it asks for answers: it retries, waits, resumes and stops the same way.
    An endpoint that tells no likelihoods is a fault, found by the first request.

    Args:
        askings: One a model.
        samples: In the order in which they are asked.
        keeping: What is there already, and what keeps more; looked at in a thread.
        show: Called about once a second.
    """
    left_out: LeftOut = Counter()
    every = [lane for each in askings for lane in _lanes(each, samples, keeping, left_out)]
    progress = Progress(left=keeping.left, unit=UNIT)

    def save(*outcomes: Response | Failure) -> None:
        keeping.save(*map(_kept, outcomes))

    signal = engine.run(every, save, progress, show)
    return Probed(
        progress=progress,
        signal=signal,
        fault=next((lane.fault for lane in every if is_fatal(lane)), None),
        left_out=left_out,
        lanes=every,
    )


def _kept(outcome: Response | Failure) -> object:
    if isinstance(outcome, Failure):
        return replace(outcome, probe="likelihood")
    return likelihood.read(outcome)


def requests(
    design: Design, samples: Iterable[Sample], keeping: Keeping, left_out: LeftOut
) -> Iterator[Request]:
    """Yield the requests for the likelihoods that are missing, a sample's levels together."""
    complete = keeping.complete(design.model)
    for sample in samples:
        if (sample.benchmark, sample.sample_id) in complete:
            continue
        if not likelihood.is_askable(sample, design.interface):
            left_out[design.model, sample.benchmark] += 1
            continue
        closed = keeping.closed(design.model, sample)
        for variant in keeping.variants(sample):
            request = likelihood.request(sample, variant, design)
            if request is None:
                keeping.save(_without_reference(variant, design))
            elif request.slots[0].key not in closed:
                keeping.sent(request)
                yield request


def _without_reference(variant: Variant, design: Design) -> Failure:
    """Return that a variant's prompt is continued by no reference, though level 0's is."""
    place = (variant.benchmark, variant.sample_id, variant.perturbation, variant.level)
    return Failure(
        key=plan.digest("likelihood", "no_reference", design.model, *place),
        model=design.model,
        benchmark=variant.benchmark,
        sample_id=variant.sample_id,
        perturbation=variant.perturbation,
        level=variant.level,
        repeat=1,
        answer=1,
        kind="no_reference",
        phase="plan",
        detail="the prompt of this level does not end in the head of the reference",
        attempts=0,
        permanent=True,
        probe="likelihood",
    )


def _lanes(
    asking: Asking, samples: Sequence[Sample], keeping: Keeping, left_out: LeftOut
) -> list[Lane]:
    """Return a lane per base URL; a sample's place is the one that has its prompts cached."""
    return lanes(
        asking.spec,
        asking.key,
        shares(samples, asking.spec),
        lambda share: requests(asking.design, share, keeping, left_out),
        most=asking.most,
        client=Scorer,
    )
