"""Bind the sources of paraphrases to a study, and ask a paraphraser before the models are asked.

A paraphraser's replies are stored like all answers, under the model ``paraphraser/<name>``; the
variants follow from them alone, so that they are the same whoever makes them, and when.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from memoprobe import engine, perturbations, plan
from memoprobe.benchmarks import files
from memoprobe.engine import Lane, Progress
from memoprobe.errors import BenchmarkError, ConfigError, EndpointDown, MemoprobeError
from memoprobe.perturbations import distances, sources, sources_bart, sources_endpoint
from memoprobe.perturbations.choice import NAMES, Paraphrasing, kind_of, rules
from memoprobe.perturbations.distances import ORDERS
from memoprobe.perturbations.paraphrase import Way
from memoprobe.pipeline.lanes import RequestsOf
from memoprobe.records import InputKind, Request, Sample, Sampling, Slot, content_hash, state
from memoprobe.store import Store
from memoprobe.store.opening import told
from memoprobe.store.paraphrases import replies
from memoprobe.study import ModelSpec, Study

ROUNDS = 3  # in which a sample with too few candidates is asked about
ASKED = NAMES["endpoint"]

LanesOf = Callable[[ModelSpec, RequestsOf], Sequence[Lane]]
"""Give the lanes on which a model is asked for the requests about some samples."""


def name_for(study: Study, kind: InputKind) -> str:
    """Return the perturbation of a kind of text; the study's source paraphrases prose."""
    if study.perturbation is not None:
        return study.perturbation
    return (
        NAMES[kind_of(study.paraphrase, None)] if kind == "prose" else perturbations.DEFAULT[kind]
    )


def find(study: Study, name: str, store: Store | None = None) -> perturbations.Perturbation | None:
    """Return the perturbation of a source that a study configures, None for any other name.

    Where a paraphraser was not asked yet, its samples have level 0 alone.

    Raises:
        ConfigError: The study's table does not suit the perturbation.
    """
    spec = study.paraphrase
    kind = kind_of(spec, name) if name in NAMES.values() else "lexical"
    if kind == "lexical":
        return None
    for holds, complaint in rules(spec, name):
        if not holds:
            raise ConfigError(complaint)
    way = Way(name, _measure(spec))
    if kind == "file":
        return sources.given(_candidates(Path(spec.path or "")), way)
    if kind == "bart":
        rewordings = sources_bart.bart(spec.model or sources_bart.MODEL, spec.device, spec.beams)
        return sources.reworded(lambda _: rewordings, way)
    return sources.reworded(lambda sample: _replied(study, sample, store), way)


def _measure(spec: Paraphrasing) -> distances.Measure:
    order = spec.order or distances.usual_order()
    return distances.by_meaning(spec.embedder) if order == "embeddings" else ORDERS[order]()


def identity(study: Study, samples: Mapping[str, Sequence[Sample]]) -> dict[str, dict[str, Any]]:
    """Return what a run remembers of its sources, by perturbation: another one is drift.

    Raises:
        ConfigError: A source lacks what it needs.
    """
    spec = study.paraphrase
    found = {}
    kinds = {sample.input_kind for group in samples.values() for sample in group}
    names = {name_for(study, kind) for kind in kinds} & set(NAMES.values())
    for name in sorted(names - {NAMES["lexical"]}):
        kind = kind_of(spec, name)
        order = spec.order or distances.usual_order()
        facts = {"order": order} | ({"embedder": spec.embedder} if order == "embeddings" else {})
        if kind == "file":
            facts |= {"sha256": _digest(Path(spec.path or ""))}
        elif kind == "bart":
            model = spec.model or sources_bart.MODEL
            version = sources_bart.identity(model, spec.device)
            # A folder may lie elsewhere on another machine: its content tells.
            named = {} if Path(model).is_dir() else {"model": model}
            facts |= {**named, "version": version, "beams": str(spec.beams)}
        else:
            keys = ("model", "temperature", "top_p", "max_tokens", "candidates")
            facts |= {key: asdict(spec)[key] for key in keys}
            facts |= {"question": sources_endpoint.fingerprint()}
        found[name] = facts
    return found


# From a file -----------------------------------------------------------------------------


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        msg = f"paraphrase file {path} cannot be read: {error.strerror}"
        raise ConfigError(msg) from error


def _candidates(path: Path) -> Callable[[Sample], Sequence[str]]:
    """Return how a file's candidates for a sample are looked up.

    Raises:
        ConfigError: The file cannot be read; and on use, where it has nothing on a benchmark.
        BenchmarkError: A line of it is not what it should be; the message names it.
    """
    found = _read(path, _digest(path))

    def lookup(sample: Sample) -> Sequence[str]:
        if sample.benchmark not in found:
            held = ", ".join(sorted(found)) or "no row"
            msg = f"paraphrase file {path} has no row of {sample.benchmark}; it has {held}"
            raise ConfigError(msg)
        return found[sample.benchmark].get(sample.sample_id, ())

    return lookup


@cache
def _read(path: Path, digest: str) -> Mapping[str, Mapping[str, Sequence[str]]]:  # noqa: ARG001
    """Return benchmark -> sample id -> candidates; the digest makes an edited file a new one."""
    found: dict[str, dict[str, Sequence[str]]] = defaultdict(dict)
    for place, row in files.json_lines(path):
        files.require(row, {"benchmark": str, "id": str, "candidates": list}, place)
        if not all(isinstance(each, str) for each in row["candidates"]):
            msg = f"{place}: expected a list of texts under 'candidates'"
            raise BenchmarkError(msg)
        if row["id"] in found[row["benchmark"]]:
            msg = f"{place}: {row['benchmark']} {row['id']!r} stands in an earlier line already"
            raise BenchmarkError(msg)
        found[row["benchmark"]][row["id"]] = tuple(row["candidates"])
    return dict(found)


# From an endpoint ------------------------------------------------------------------------


def model_of(study: Study) -> ModelSpec:
    """Return the paraphraser as a model to be asked."""
    spec = study.paraphrase
    return ModelSpec(
        name=f"paraphraser/{spec.model}",
        model=spec.model,
        base_urls=(spec.base_url or "",),
        api_key_env=spec.api_key_env,
        max_in_flight=spec.max_in_flight,
        timeout_s=spec.timeout_s,
    )


def requests(study: Study, sample: Sample, turn: int) -> Iterator[Request]:
    """Yield what the paraphraser is asked about a sample in a round, from 1; one a question.

    A slot's level is the strength, its repeat the round; its answers count on from question
    to question of a strength.
    """
    spec = study.paraphrase
    sampling = Sampling(temperature=spec.temperature, top_p=spec.top_p, max_tokens=spec.max_tokens)
    model = model_of(study)
    n = spec.candidates if spec.temperature else 1
    for level, chunk, prompt in sources_endpoint.questions(sample, study.levels):
        place = (sample.benchmark, sample.sample_id, level, chunk, turn)
        base = plan.digest("paraphrase", spec.model, prompt, asdict(sampling), study.seed, *place)
        first = int.from_bytes(base[:4]) >> (32 - plan.SEED_BITS)
        slots = []
        for number in range(n):
            seed = (first + number) % (1 << plan.SEED_BITS)
            key = sha256(base + content_hash(sample).encode() + b"%d" % seed).digest()[:16]
            slots.append(Slot(turn, chunk * n + number + 1, seed, key))
        yield Request(
            model=model.name,
            served_model=spec.model,
            benchmark=sample.benchmark,
            sample_id=sample.sample_id,
            perturbation=ASKED,
            level=level,
            interface="chat",
            prompt=prompt,
            sampling=sampling,
            slots=tuple(sorted(slots, key=lambda slot: slot.seed)),
        )


def _replied(study: Study, sample: Sample, store: Store | None) -> sources.Rewordings:
    """Return the rewordings that the stored replies about a sample hold."""
    n = study.paraphrase.candidates if study.paraphrase.temperature else 1
    found: dict[int, list[str | None]] = defaultdict(list)
    stored = replies(store, model_of(study).name, sample, ASKED) if store is not None else []
    for reply in stored:
        text = reply.text if state(reply) == "ok" else None
        found[(reply.answer - 1) // n].append(text)
    return sources_endpoint.replied(sample, found)


def gather(
    store: Store,
    study: Study,
    samples: Sequence[Sample],
    lanes_of: LanesOf,
    levels_of: Callable[[Sample], int],
    show: Callable[[Progress], None],
) -> tuple[Progress, int | None, MemoprobeError | None] | None:
    """Ask the paraphraser about samples without variants; None when all is there.

    A sample that has too few candidates afterwards is asked about again, ROUNDS times in all.

    Args:
        store: Where replies are looked up and kept.
        study: What is run.
        samples: Those whose prose is paraphrased by asking.
        lanes_of: How the paraphraser is asked.
        levels_of: How many levels above 0 the replies about a sample make.
        show: Called about once a second.

    Returns:
        How the asking ended where it ended early: progress, signal, fault.
    """
    waiting = [
        each for each in samples if not store.variants(each.benchmark, each.sample_id, ASKED)
    ]
    for turn in range(1, ROUNDS + 1):
        if turn > 1:
            waiting = [sample for sample in waiting if levels_of(sample) < study.levels]
        n_left = sum(len(each.slots) for each in _open(store, study, waiting, turn))
        if not n_left:
            continue
        progress = Progress(left=n_left)
        lanes = lanes_of(
            model_of(study),
            lambda share, turn=turn: _open(store, study, share, turn),  # type: ignore[misc]
        )
        signal = engine.run(lanes, store.save, progress, show)
        store.flush()
        fault = next((lane.fault for lane in lanes if lane.fault is not None), None)
        if signal is None and fault is None and any(_open(store, study, waiting, turn)):
            fault = _unfinished(progress)
        if signal is not None or fault is not None:
            return progress, signal, fault
    return None


def _open(store: Store, study: Study, samples: Iterable[Sample], turn: int) -> Iterator[Request]:
    """Yield the requests of a round with the slots that are not closed."""
    with told(store.path):
        model = model_of(study).name
        for sample in samples:
            closed = store.closed(model, sample, retry_failed=False)
            for whole in requests(study, sample, turn):
                if rest := tuple(slot for slot in whole.slots if slot.key not in closed):
                    yield replace(whole, slots=rest)


def _unfinished(progress: Progress) -> EndpointDown:
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(progress.failed.items()))
    msg = f"the paraphraser gave no reply about some sentences ({kinds}); the same command goes on"
    return EndpointDown(msg)
