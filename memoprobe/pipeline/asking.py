"""Perturb, ask, store: the part of a run that needs endpoints."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from memoprobe import benchmarks, engine, plan
from memoprobe.endpoints.address import address
from memoprobe.endpoints.client import Client
from memoprobe.endpoints.flow import Flow
from memoprobe.endpoints.pool import Pool
from memoprobe.engine import Lane, Progress
from memoprobe.errors import ConfigError, EndpointDown, MemoprobeError, StoreUnavailable
from memoprobe.pipeline import paraphrasing, perturbing, settings
from memoprobe.plan import Design
from memoprobe.records import Request, Sample
from memoprobe.store import Store, open_store
from memoprobe.store.counts import status
from memoprobe.store.database import Cell, PlanRow
from memoprobe.store.opening import told
from memoprobe.study import BenchmarkSpec, ModelSpec, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Hold how the asking ended."""

    progress: Progress
    signal: int | None  # that ended it early
    fault: MemoprobeError | None  # why an endpoint could not go on
    failed: int  # slots of the database that have a failure instead of an answer
    warnings: list[str]


def read_benchmark(spec: BenchmarkSpec, seed: int) -> benchmarks.Loaded:
    """Return a benchmark with the samples that the study chooses."""
    selection = benchmarks.Selection(
        limit=spec.limit,
        seed=seed,
        after=spec.after,
        before=spec.before,
        control=spec.control,
        options=spec.options,
    )
    if spec.files and spec.task is not None:
        paths = [Path(each) for each in spec.files]
        return benchmarks.load_own(spec.label, paths, spec.task, spec.fields, selection)
    return benchmarks.load(benchmarks.find(spec.label), settings.home(), selection)


def ask(study: Study, db: Path, *, retry_failed: bool, show: Callable[[Progress], None]) -> Asked:
    """Ask every model for what is missing in the database and store what comes back.

    Raises:
        MemoprobeError: The study, the data or the database cannot be used.
    """
    keys = {model.name: settings.api_key(model) for model in study.models}
    loaded = {spec.label: read_benchmark(spec, study.seed) for spec in study.benchmarks}
    samples = {name: each.samples for name, each in loaded.items()}
    for group in samples.values():
        for sample in group[:1]:
            # A wrong name is told before anything is sent.
            for name in perturbing.names_of(study, sample):
                perturbing.variants_of(study, sample, name)
    with open_store(db, write=True) as store:
        agreed = settings.settle(store, settings.settings_of(study, samples))
        _remember(store, study, loaded)
        settings.remember_families(store, study)
        designs = {m.name: settings.design_of(study, m, agreed["width"]) for m in study.models}
        store.replace_plan(dict(_plan_rows(study, samples, designs)))
        store.start()
        perturbing.settle_strength(store, study, samples)
        if (early := _paraphrase(store, study, samples, show)) is not None:
            return early

        def missing_of(model: ModelSpec) -> Callable[[list[Sample]], Iterator[Request]]:
            design = designs[model.name]
            return lambda share: missing(store, study, share, design, retry_failed=retry_failed)

        every = (sample for group in samples.values() for sample in group)
        order = plan.visiting_order(every, study.seed)
        lanes = [
            lane
            for model in study.models
            for lane in _lanes(
                store,
                model,
                keys[model.name],
                _shares(order, model),
                missing_of(model),
            )
        ]
        progress = Progress(left=sum(row["left"] for row in status(store)))
        signal = engine.run(lanes, store.save, progress, show)
        store.flush()
        store.set_info({"ended": datetime.now(UTC).isoformat(timespec="seconds")})
        _remember_servers(store, lanes)
        if progress.answered:
            seconds = monotonic() - progress.started
            store.set_info({"answers_per_second": progress.answered / seconds})
        failed = sum(sum(row["failed"].values()) for row in status(store))
        fault = next((_told(lane, store) for lane in lanes if _is_fatal(lane)), None)
        spared = [
            f"{lane.client.name} dropped out, the other endpoints of {lane.model} did its work: "
            f"{lane.fault}"
            for lane in lanes
            if lane.fault is not None and not _is_fatal(lane)
        ]
    return Asked(progress=progress, signal=signal, fault=fault, failed=failed, warnings=spared)


def _paraphrase(
    store: Store,
    study: Study,
    samples: Mapping[str, list[Sample]],
    show: Callable[[Progress], None],
) -> Asked | None:
    """Ask a paraphraser, where the study has one; return how that ended where it ended early."""
    name = paraphrasing.ASKED
    wanted = [
        sample
        for group in samples.values()
        for sample in group
        if name in perturbing.names_of(study, sample)
    ]
    if not wanted:
        return None
    order = plan.visiting_order(wanted, study.seed)
    key = settings.key_of(study.paraphrase.api_key_env, "[paraphrase]")
    early = paraphrasing.gather(
        store,
        study,
        order,
        lambda spec, requests: list(_lanes(store, spec, key, [order], requests)),
        lambda sample: len(perturbing.variants_of(study, sample, name, store).variants) - 1,
        show,
    )
    if early is None:
        return None
    progress, signal, fault = early
    failed = sum(progress.failed.values())
    return Asked(progress=progress, signal=signal, fault=fault, failed=failed, warnings=[])


def _remember(store: Store, study: Study, loaded: Mapping[str, benchmarks.Loaded]) -> None:
    """Store the samples, and what the run is made of."""
    for each in loaded.values():
        store.add_samples(each.samples)
    facts = {
        f"benchmark/{name}": {
            "fingerprint": each.fingerprint,
            "skipped": each.skipped,
            **_origin(name),
        }
        for name, each in loaded.items()
    }
    now = datetime.now(UTC).isoformat(timespec="seconds")
    store.set_info({"started": store.info().get("started", now), "ended": now})
    store.set_info({"study": study.name, "limits": asdict(study.limits), **facts})


def _origin(name: str) -> dict[str, str | None]:
    """Return where a registered benchmark's data are from, nothing for one of your own."""
    registered = benchmarks.BENCHMARKS.get(name)
    return benchmarks.origin(registered, settings.home()) if registered else {}


def _plan_rows(
    study: Study, samples: Mapping[str, list[Sample]], designs: Mapping[str, Design]
) -> Iterator[tuple[PlanRow, list[str]]]:
    """Yield what is planned for every cell, and the ids of the samples that it is planned for."""
    for model, design in designs.items():
        for benchmark, group in samples.items():
            chosen: dict[str, list[str]] = {}
            for sample in group:
                for name in perturbing.names_of(study, sample):
                    chosen.setdefault(name, []).append(sample.sample_id)
            for name, ids in chosen.items():
                yield PlanRow(Cell(model, benchmark, name), study.levels, *design.slots()[-1]), ids


def _shares(order: list[Sample], spec: ModelSpec) -> list[list[Sample]]:
    """Return the samples of each base URL in the order in which they are asked.

    A sample's place is always the same, for its prompt cache.
    """
    if len(spec.base_urls) == 1:
        return [order]
    shares: list[list[Sample]] = [[] for _ in spec.base_urls]
    for sample in order:
        shares[plan.replica(sample, len(shares))].append(sample)
    return shares


def _lanes(
    store: Store,
    spec: ModelSpec,
    key: str | None,
    shares: list[list[Sample]],
    requests_of: Callable[[list[Sample]], Iterator[Request]],
) -> Iterator[Lane]:
    """Yield a lane per base URL."""
    known = _known_limits(store, spec.name)
    pool = Pool([requests_of(share) for share in shares])
    for number, base_url in enumerate(spec.base_urls):
        yield Lane(
            model=spec.name,
            pool=pool,
            replica=number,
            client=Client(
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
            max_n=known.get(address(base_url, None).url, engine.MOST_CHOICES),
        )


def missing(
    store: Store, study: Study, samples: list[Sample], design: Design, *, retry_failed: bool
) -> Iterator[Request]:
    """Yield the requests whose slots are not all closed, a sample's levels together."""
    with told(store.path):
        repeats, answers = design.slots()[-1]
        complete = store.complete(design.model, repeats, answers)
        for sample in samples:
            names = [
                name
                for name in perturbing.names_of(study, sample)
                if (sample.benchmark, sample.sample_id, name) not in complete
            ]
            closed = (
                store.closed(design.model, sample, retry_failed=retry_failed) if names else set()
            )
            for name in names:
                for variant in perturbing.stored_variants(store, study, sample, name):
                    whole = plan.request(sample, variant, design)
                    if rest := tuple(slot for slot in whole.slots if slot.key not in closed):
                        store.save_prompt(whole)
                        yield plan.only(whole, rest)


def _known_limits(store: Store, model: str) -> dict[str, int]:
    """Return base URL -> the most choices a request, as an earlier run found out."""
    start = f"server/{model}/"
    return {
        key.removeprefix(start): json.loads(value).get("max_n", engine.MOST_CHOICES)
        for key, value in store.info().items()
        if key.startswith(start)
    }


def _remember_servers(store: Store, lanes: list[Lane]) -> None:
    """Store what the servers said of themselves, and what was found out."""
    facts = {}
    for lane in lanes:
        client = lane.client
        if isinstance(client, Client) and client.server is not None:
            learned = {"max_n": lane.max_n} if lane.max_n < engine.MOST_CHOICES else {}
            key = f"server/{lane.model}/{client.asked}"
            facts[key] = {**client.server.facts(), **learned}
    store.set_info(facts)


def _is_fatal(lane: Lane) -> bool:
    """Tell whether a lane's fault left work undone: other replicas may have taken it over."""
    return lane.fault is not None and (
        lane.pool.abandoned or isinstance(lane.fault, StoreUnavailable)
    )


def _told(lane: Lane, store: Store) -> MemoprobeError:
    """Return a lane's fault as the user should meet it.

    An endpoint that has never answered is more likely a wrong address than a server
    that is down for now.
    """
    fault = lane.fault
    assert fault is not None
    if isinstance(fault, EndpointDown) and fault.status == 0 and not store.answered(lane.model):
        return ConfigError(f"{fault}; is the server running, and is the base URL right?")
    return fault
