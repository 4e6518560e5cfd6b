"""Ask every model how likely the references are: the likelihood track of a run (METHOD 6)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memoprobe import engine, likelihood, plan
from memoprobe.endpoints.flow import Flow
from memoprobe.endpoints.forced import Scorer
from memoprobe.endpoints.pool import Pool
from memoprobe.engine import Lane, Progress
from memoprobe.errors import MemoprobeError, StoreUnavailable
from memoprobe.plan import Design
from memoprobe.records import Failure, Request, Response, Sample, Variant
from memoprobe.study import ModelSpec

LeftOut = Counter[tuple[str, str]]
"""Model and benchmark -> variants without a reference, or with one that continues no prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Hold what one model is asked."""

    spec: ModelSpec
    key: str | None  # for its endpoints
    design: Design


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Hold where likelihoods are kept, and what they are asked of."""

    variants: Callable[[Sample], Iterable[Variant]]  # all that a model is asked about
    closed: Callable[[str, Sample], set[bytes]]  # of a model: keys that need not be asked for
    save: Callable[..., None]  # takes Likelihoods and Failures


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
    lanes = [lane for each in askings for lane in _lanes(each, samples, keeping, left_out)]
    progress = Progress()

    def save(*outcomes: Response | Failure) -> None:
        keeping.save(*(o if isinstance(o, Failure) else likelihood.read(o) for o in outcomes))

    signal = engine.run(lanes, save, progress, show)
    return Probed(
        progress=progress,
        signal=signal,
        fault=next((lane.fault for lane in lanes if _is_fatal(lane)), None),
        left_out=left_out,
        lanes=lanes,
    )


def requests(
    design: Design, samples: Iterable[Sample], keeping: Keeping, left_out: LeftOut
) -> Iterator[Request]:
    """Yield the requests for the likelihoods that are missing, a sample's levels together."""
    for sample in samples:
        closed = keeping.closed(design.model, sample)
        for variant in keeping.variants(sample):
            request = likelihood.request(sample, variant, design)
            if request is None:
                left_out[design.model, sample.benchmark] += 1
            elif request.slots[0].key not in closed:
                yield request


def _lanes(
    asking: Asking, samples: Sequence[Sample], keeping: Keeping, left_out: LeftOut
) -> list[Lane]:
    """Return a lane per base URL; a sample's place is the one that has its prompts cached."""
    spec = asking.spec
    shares: list[list[Sample]] = [[] for _ in spec.base_urls]
    for sample in samples:
        shares[plan.replica(sample, len(shares))].append(sample)
    pool = Pool([requests(asking.design, share, keeping, left_out) for share in shares])
    return [
        Lane(
            model=spec.name,
            pool=pool,
            replica=number,
            client=Scorer(
                base_url=base_url,
                api_key=asking.key,
                timeout_s=spec.timeout_s,
                extra_body=spec.extra_body,
            ),
            flow=Flow(
                max_in_flight=spec.max_in_flight,
                requests_per_minute=spec.requests_per_minute,
                tokens_per_minute=spec.tokens_per_minute,
            ),
            max_n=1,
        )
        for number, base_url in enumerate(spec.base_urls)
    ]


def _is_fatal(lane: Lane) -> bool:
    """Tell whether a lane's fault left work undone that no other replica took over."""
    return lane.pool.abandoned or isinstance(lane.fault, StoreUnavailable)
