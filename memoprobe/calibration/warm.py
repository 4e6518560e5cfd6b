"""Draw answers at a high temperature, as CDD's authors do; an ordinary run draws at its own."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from memoprobe import engine, plan, rivals
from memoprobe.endpoints.client import Client
from memoprobe.endpoints.flow import Flow
from memoprobe.endpoints.pool import Pool
from memoprobe.engine import Lane, Progress
from memoprobe.errors import complete
from memoprobe.plan import Design
from memoprobe.records import Failure, Request, Response, Sample, Sampling, Sensitivity, Variant
from memoprobe.study import ModelSpec

MAX_TOKENS = 128  # of every answer
WARM = Sampling(temperature=0.8, top_p=1.0, max_tokens=MAX_TOKENS)
N_WARM = 10  # answers at WARM; CDD's authors draw 50

Show = Callable[[Progress], None]


def peaked(
    spec: ModelSpec,
    design: Design,
    items: Sequence[tuple[Sample, Variant]],
    greedy: Mapping[str, Response],
    show: Show,
) -> Iterator[Sensitivity]:
    """Yield CDD of items, on answers at WARM.

    Args:
        spec: Whom to ask.
        design: Of the ordinary run.
        items: Each with its level 0.
        greedy: The greedy answer of a sample's id.
        show: Called about once a second.

    Raises:
        Interrupted: A signal came.
        MemoprobeError: Something was not answered.
    """
    warm = replace(design, sampling=WARM, answers=N_WARM, repeats=1, width=N_WARM)
    requests = (plan.request(sample, original, warm) for sample, original in items)
    drawn: dict[str, list[Response]] = defaultdict(list)
    for response in _answers(spec, requests, show):
        drawn[response.sample_id].append(response)
    for sample, original in items:
        answers = [greedy[sample.sample_id], *drawn[sample.sample_id]]
        row = rivals.cdd(sample, original, answers, design.interface)
        if row is not None:
            yield row


def _answers(spec: ModelSpec, requests: Iterator[Request], show: Show) -> list[Response]:
    (base_url,) = spec.base_urls
    lane = Lane(
        model=spec.name,
        pool=Pool([requests]),
        client=Client(base_url=base_url, api_key=None, timeout_s=spec.timeout_s, extra_body={}),
        flow=Flow(max_in_flight=spec.max_in_flight),
    )
    found: list[Response | Failure] = []
    signal = engine.run([lane], lambda *each: found.extend(each), Progress(), show)
    complete(signal, lane.fault, sum(isinstance(each, Failure) for each in found))
    return [each for each in found if isinstance(each, Response)]
