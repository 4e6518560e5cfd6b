"""Give every base URL of a model its lane, and its share of the samples."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from memoprobe import engine, plan
from memoprobe.endpoints.client import Client
from memoprobe.endpoints.flow import Flow
from memoprobe.endpoints.pool import Pool
from memoprobe.engine import Lane
from memoprobe.errors import StoreUnavailable
from memoprobe.records import Request, Sample
from memoprobe.study import ModelSpec

RequestsOf = Callable[[Sequence[Sample]], Iterator[Request]]
"""Give the requests about some samples, in their order."""


def lanes(
    spec: ModelSpec,
    key: str | None,
    shares: Sequence[Sequence[Sample]],
    requests_of: RequestsOf,
    *,
    most: Callable[[str], int] = lambda _: engine.MOST_CHOICES,
    client: type[Client] = Client,
) -> list[Lane]:
    """Return a lane per base URL of a model.

    Args:
        spec: The model.
        key: For its endpoints.
        shares: The samples of each base URL.
        requests_of: What is asked about them.
        most: Base URL -> the most choices a request.
        client: How it is asked.
    """
    pool = Pool([requests_of(share) for share in shares])
    return [
        Lane(
            model=spec.name,
            pool=pool,
            replica=number,
            client=client(
                base_url=base_url,
                api_key=key,
                timeout_s=spec.timeout_s,
                extra_body=spec.extra_body,
            ),
            flow=Flow(
                max_in_flight=spec.max_in_flight,
                requests_per_minute=spec.requests_per_minute,
                tokens_per_minute=spec.tokens_per_minute,
            ),
            max_n=most(base_url),
        )
        for number, base_url in enumerate(spec.base_urls)
    ]


def shares(order: Sequence[Sample], spec: ModelSpec) -> Sequence[Sequence[Sample]]:
    """Return the samples of each base URL in the order in which they are asked.

    A sample's place is always the same, for its prompt cache.
    """
    if len(spec.base_urls) == 1:
        return [order]
    found: list[list[Sample]] = [[] for _ in spec.base_urls]
    for sample in order:
        found[plan.replica(sample, len(found))].append(sample)
    return found


def is_fatal(lane: Lane) -> bool:
    """Tell whether a lane's fault left work undone: other replicas may have taken it over."""
    return lane.fault is not None and (
        lane.pool.abandoned or isinstance(lane.fault, StoreUnavailable)
    )


def facts(all_lanes: Sequence[Lane]) -> Mapping[str, object]:
    """Return what a run remembers of the servers, and what was found out of them."""
    found: dict[str, object] = {}
    for lane in all_lanes:
        client = lane.client
        if isinstance(client, Client) and client.server is not None:
            learned = {"max_n": lane.max_n} if lane.max_n < engine.MOST_CHOICES else {}
            found[f"server/{lane.model}/{client.asked}"] = {**client.server.facts(), **learned}
    return found
