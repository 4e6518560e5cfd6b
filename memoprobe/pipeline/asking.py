"""Perturb, ask, store: the part of a run that needs endpoints."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from memoprobe import benchmarks, engine, plan, rivals
from memoprobe.endpoints.address import address
from memoprobe.engine import Lane, Progress
from memoprobe.errors import ConfigError, EndpointDown, MemoprobeError
from memoprobe.pipeline import paraphrasing, perturbing, probing, scheduling, settings
from memoprobe.pipeline.lanes import RequestsOf, facts, is_fatal, lanes, shares
from memoprobe.pipeline.probing import Asking, Keeping
from memoprobe.plan import Design
from memoprobe.records import Probe, Request, Sample, Variant
from memoprobe.store import Store, open_store, probes
from memoprobe.store.counts import status
from memoprobe.store.opening import told
from memoprobe.study import BenchmarkSpec, ModelSpec, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Hold how the asking ended."""

    progress: Progress  # of what was asked last
    signal: int | None  # that ended it early
    fault: MemoprobeError | None  # why an endpoint could not go on
    failed: int  # slots of the database that have a failure instead of an answer
    warnings: list[str]
    n_samples: int = 0  # that were chosen to be asked about


def read_benchmark(spec: BenchmarkSpec, seed: int) -> benchmarks.Loaded:
    """Return a benchmark with the samples that the study chooses."""
    selection = benchmarks.Selection(
        limit=spec.limit,
        seed=seed,
        after=spec.after,
        before=spec.before,
        control=spec.control,
        references=spec.n_references,
        options=spec.options,
    )
    if spec.files and spec.task is not None:
        paths = [Path(each) for each in spec.files]
        return benchmarks.load_own(spec.label, paths, spec.task, spec.fields, selection)
    return benchmarks.load(benchmarks.find(spec.label), settings.home(), selection)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Hold what is asked, of whom, and where it is kept."""

    store: Store
    study: Study
    keys: Mapping[str, str | None]  # model -> for its endpoints
    designs: Mapping[str, Design]
    order: Sequence[Sample]
    retry_failed: bool
    show: Callable[[Progress], None]


class _Round(NamedTuple):
    """Hold how the asking for one probe ended."""

    progress: Progress
    signal: int | None
    lanes: Sequence[Lane]

    @property
    def ended_early(self) -> bool:
        """Tell whether what is asked next would be asked too early."""
        return self.signal is not None or any(map(is_fatal, self.lanes))


def ask(
    study: Study,
    db: Path,
    *,
    retry_failed: bool,
    show: Callable[[Progress], None],
    shard: plan.Shard | None = None,
) -> Asked:
    """Ask every model for what is missing in the database and store what comes back.

    A ``shard`` is asked about its own samples; the study is the same for all of them.

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
        width = agreed.get("width", study.answers)
        designs = {m.name: settings.design_of(study, m, width) for m in study.models}
        perturbing.settle_strength(store, study, samples)
        if shard is not None:
            samples = {k: [s for s in group if shard.holds(s)] for k, group in samples.items()}
        planned = scheduling.plan_of(study, samples, designs)
        store.replace_plan(planned.rows)
        store.start()
        if (early := _paraphrase(store, study, samples, show)) is not None:
            return early
        every = (sample for group in samples.values() for sample in group)
        run = _Run(
            store=store,
            study=study,
            keys=keys,
            designs=designs,
            order=plan.visiting_order(every, study.seed),
            retry_failed=retry_failed,
            show=show,
        )
        asked = _ask(run)
    warnings = [*planned.left_out, *asked.warnings]
    return replace(asked, warnings=warnings, n_samples=len(run.order))


def _ask(run: _Run) -> Asked:
    """Ask for one probe after the other, until one of them ends early."""
    store, rounds = run.store, list[_Round]()
    for probe in run.study.probes:
        rounds.append(_ROUNDS[probe](run))
        store.flush()
        if rounds[-1].ended_early:
            break
    every = [lane for each in rounds for lane in each.lanes]
    store.set_info({"ended": datetime.now(UTC).isoformat(timespec="seconds")})
    store.set_info(facts(every[::-1]))  # what answers show of a server is the last to be written
    fault = next((_told(lane, store) for lane in every if is_fatal(lane)), None)
    spared = [
        f"{lane.client.name} dropped out, the other endpoints of {lane.model} did its work: "
        f"{lane.fault}"
        for lane in every
        if lane.fault is not None and not is_fatal(lane)
    ]
    return Asked(
        progress=rounds[-1].progress,
        signal=rounds[-1].signal,
        fault=fault,
        failed=sum(sum(row["failed"].values()) for row in status(store)),
        warnings=[hint for each in rounds for hint in each.progress.hints] + spared,
    )


def _ask_for_answers(run: _Run) -> _Round:
    store = run.store

    def requests_of(model: ModelSpec) -> RequestsOf:
        design = run.designs[model.name]
        return lambda share: missing(store, run.study, share, design, retry_failed=run.retry_failed)

    every = [
        lane
        for model in run.study.models
        for lane in _lanes(
            store, model, run.keys[model.name], shares(run.order, model), requests_of(model)
        )
    ]
    progress = Progress(left=_left(store, "answers"))
    signal = engine.run(every, store.save, progress, run.show)
    if progress.answered:
        seconds = monotonic() - progress.started
        store.set_info({"answers_per_second": progress.answered / seconds})
    return _Round(progress, signal, every)


def _ask_for_likelihoods(run: _Run) -> _Round:
    store, study = run.store, run.study

    def variants(sample: Sample) -> Iterator[Variant]:
        with told(store.path):
            for name in perturbing.names_of(study, sample):
                yield from perturbing.stored_variants(store, study, sample, name)

    def closed(model: str, sample: Sample) -> set[bytes]:
        with told(store.path):
            return store.closed(model, sample, retry_failed=run.retry_failed)

    def complete(model: str) -> set[tuple[str, str]]:
        with told(store.path):
            return probes.complete(store, model)

    probed = probing.probe(
        [
            Asking(
                spec=model,
                key=run.keys[model.name],
                design=run.designs[model.name],
                most=_most(store, model.name),
            )
            for model in study.models
        ],
        run.order,
        Keeping(
            variants=variants,
            closed=closed,
            complete=complete,
            save=store.save,
            sent=store.save_prompt,
            left=_left(store, "likelihood"),
        ),
        run.show,
    )
    return _Round(probed.progress, probed.signal, probed.lanes)


_ROUNDS: Mapping[Probe, Callable[[_Run], _Round]] = {
    "answers": _ask_for_answers,
    "likelihood": _ask_for_likelihoods,
}


def _left(store: Store, probe: Probe) -> int:
    return sum(row["left"] for row in status(store, probe))


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
        lambda spec, requests: _lanes(store, spec, key, [order], requests),
        lambda sample: len(perturbing.variants_of(study, sample, name, store).variants) - 1,
        show,
    )
    if early is None:
        return None
    progress, signal, fault = early
    return Asked(
        progress=progress,
        signal=signal,
        fault=fault,
        failed=progress.failed.total(),
        warnings=progress.hints,
    )


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


def _lanes(
    store: Store,
    spec: ModelSpec,
    key: str | None,
    shared: Sequence[Sequence[Sample]],
    requests_of: RequestsOf,
) -> list[Lane]:
    return lanes(spec, key, shared, requests_of, most=_most(store, spec.name))


def missing(
    store: Store, study: Study, samples: Sequence[Sample], design: Design, *, retry_failed: bool
) -> Iterator[Request]:
    """Yield the requests whose slots are not all closed, a sample's levels together.

    A greedy answer, where one is planned, is to the first of a sample's perturbations.
    """
    with told(store.path):
        repeats, answers = design.slots()[-1]
        complete = store.complete(design.model, repeats, answers)
        with_greedy = scheduling.n_greedy_answers(study, design) > 0
        have_greedy = probes.with_greedy(store, design.model) if with_greedy else set()
        for sample in samples:
            first, *others = (
                (sample.benchmark, sample.sample_id, name)
                for name in perturbing.names_of(study, sample)
            )
            lacks_greedy = with_greedy and first not in have_greedy
            lacking = [place for place in (first, *others) if place not in complete]
            if lacks_greedy and first not in lacking:
                lacking.insert(0, first)
            closed = (
                store.closed(design.model, sample, retry_failed=retry_failed) if lacking else set()
            )
            for place in lacking:
                for variant in perturbing.stored_variants(store, study, sample, place[-1]):
                    greedy = lacks_greedy and place == first and variant.level == 0
                    for whole in _requests(sample, variant, design, greedy=greedy):
                        if rest := tuple(s for s in whole.slots if s.key not in closed):
                            store.save_prompt(whole)
                            yield plan.only(whole, rest)


def _requests(
    sample: Sample, variant: Variant, design: Design, *, greedy: bool
) -> Iterator[Request]:
    yield plan.request(sample, variant, design)
    if greedy and (request := rivals.greedy_request(sample, variant, design)) is not None:
        yield request


def _most(store: Store, model: str) -> Callable[[str], int]:
    """Return base URL -> the most choices a request, as an earlier run found out."""
    start = f"server/{model}/"
    known = {
        key.removeprefix(start): json.loads(value).get("max_n", engine.MOST_CHOICES)
        for key, value in store.info().items()
        if key.startswith(start)
    }
    return lambda base_url: known.get(address(base_url, None).url, engine.MOST_CHOICES)


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
