"""Show what a perturbation does: the levels of one sample, or figures over a benchmark."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from statistics import median, quantiles
from types import MappingProxyType
from typing import Any, NamedTuple

from memoprobe.errors import BenchmarkError, ConfigError
from memoprobe.perturbations import Levels
from memoprobe.pipeline import meaning, paraphrasing
from memoprobe.pipeline.asking import read_benchmark
from memoprobe.pipeline.meaning import Rates, RatesOf
from memoprobe.pipeline.perturbing import names_of, variants_of
from memoprobe.pipeline.present import WITHHELD, is_shown
from memoprobe.records import Sample, Task
from memoprobe.report.diffs import segments
from memoprobe.store import Store, counts
from memoprobe.study import BenchmarkSpec, Study

COLUMNS = (
    *("level", "samples", "edit_share_q1", "edit_share", "edit_share_q3", "distance"),
    *("passed", "parsed"),
)
"""The columns of the figures over a benchmark; ``edit_share`` and ``distance`` are medians."""

_COLOURS = {"same": ("", ""), "del": ("\x1b[31;9m", "\x1b[0m"), "ins": ("\x1b[32m", "\x1b[0m")}
_MARKS = {"same": ("", ""), "del": ("[-", "-]"), "ins": ("{+", "+}")}


class Perturbed(NamedTuple):
    """Hold a sample's levels under one perturbation, and why candidates were turned down."""

    sample: Sample
    levels: Levels


def spec_of(study: Study, benchmark: str, task: Task | None, limit: int | None) -> BenchmarkSpec:
    """Return the benchmark that a user names: one of the study's, a registered one, or a file.

    Raises:
        ConfigError: A file comes without its task.
    """
    for spec in study.benchmarks:
        if benchmark in (spec.label, *spec.files):
            return spec if limit is None else replace(spec, limit=limit)
    if not benchmark.endswith((".jsonl", ".parquet")):
        return BenchmarkSpec(name=benchmark, limit=limit)
    if task is None:
        msg = f"{benchmark}: a file of your own needs --task"
        raise ConfigError(msg)
    return BenchmarkSpec(path=benchmark, task=task, limit=limit)


def made(
    study: Study, spec: BenchmarkSpec, name: str | None, sample_id: str | None = None
) -> Iterator[Perturbed]:
    """Yield the samples of a benchmark as a run of the study would perturb them.

    Args:
        study: Its seed, levels, intensity and source of paraphrases hold.
        spec: The benchmark.
        name: The perturbation; None is the one that the study gives each sample.
        sample_id: Of the one sample that is wanted; None is all of them.

    Raises:
        ConfigError: The perturbation is not known, or asks an endpoint.
        BenchmarkError: The benchmark or the sample is not there.
    """
    study = study if name is None else replace(study, perturbation=name)
    spec = spec if sample_id is None else replace(spec, limit=None)
    for sample in _wanted(read_benchmark(spec, study.seed).samples, sample_id):
        chosen = names_of(study, sample)[0]
        if chosen == paraphrasing.ASKED:
            msg = f"{chosen} asks an endpoint: look at what a run made of its replies, by --db"
            raise ConfigError(msg)
        yield Perturbed(sample, variants_of(study, sample, chosen))


def stored(
    store: Store, benchmark: str, name: str | None, sample_id: str | None = None
) -> Iterator[Perturbed]:
    """Yield the samples of a benchmark as a run has perturbed them, those with variants.

    Why candidates were turned down is kept by benchmark and not by sample.

    Raises:
        ConfigError: The run has no such benchmark, or no such variants.
        BenchmarkError: It has no such sample.
    """
    planned = {p.cell.perturbation for p in store.plans() if p.cell.benchmark == benchmark}
    if not planned or (name is not None and name not in planned):
        held = sorted({f"{p.cell.benchmark} {p.cell.perturbation}" for p in store.plans()})
        msg = f"{store.path} has nothing of {' '.join(filter(None, (benchmark, name)))}; it has"
        msg = f"{msg} {', '.join(held) or 'no plan'}"
        raise ConfigError(msg)
    for sample in _wanted(store.samples(benchmark), sample_id):
        for each in sorted({name} if name else planned):
            found = store.variants(benchmark, sample.sample_id, each)
            if found:
                yield Perturbed(sample, Levels(found, {}))


def turned_down(store: Store, benchmark: str) -> dict[str, dict[str, int]]:
    """Return perturbation -> why a run's candidates were turned down."""
    return {
        name: rejected
        for (each, name), rejected in counts.rejected(store).items()
        if each == benchmark
    }


def _wanted(samples: Sequence[Sample], sample_id: str | None) -> Sequence[Sample]:
    """Return the sample of that id, or all without one.

    Raises:
        BenchmarkError: There is none; the message gives the nearest ids.
    """
    if sample_id is None:
        return samples
    found = [sample for sample in samples if sample.sample_id == sample_id]
    if not found:
        ids = [sample.sample_id for sample in samples]
        near = ", ".join(map(repr, get_close_matches(sample_id, ids, n=3, cutoff=0)))
        msg = f"no sample {sample_id!r}; nearest: {near or 'none'}"
        raise BenchmarkError(msg)
    return found


def as_json(chosen: Perturbed) -> dict[str, Any]:
    """Return a sample's levels in the shape of ``perturb --json``; private texts are null."""
    sample, levels = chosen
    shown = is_shown(sample.benchmark)
    return {
        "benchmark": sample.benchmark,
        "sample_id": sample.sample_id,
        "perturbation": levels.variants[0].perturbation,
        "rejected": levels.rejected,
        "levels": [
            {
                "level": each.level,
                "edit_share": each.edit_share,
                "distance": each.distance,
                "text": each.text if shown else None,
                "rename_map": dict(each.rename_map) if shown else None,
            }
            for each in levels.variants
        ],
    }


def as_text(chosen: Perturbed, *, coloured: bool) -> str:
    """Return a sample's levels as differences from its text; of a private one shares alone.

    Args:
        chosen: The sample and its levels.
        coloured: By the colours of a terminal, else ``[-gone-]`` and ``{+come+}``.
    """
    sample, levels = chosen
    shown = is_shown(sample.benchmark)
    parts = []
    for each in levels.variants:
        head = f"--- {sample.benchmark} {sample.sample_id}, {each.perturbation} level {each.level}"
        if each.level:
            head += f": edit share {each.edit_share:.2f}, distance {each.distance:.3f}"
        text = _marked(sample.text, each.text, coloured=coloured) if shown else WITHHELD
        parts.append(f"{head}\n{text}")
    if len(levels.variants) == 1:
        parts.append("no level above 0: nothing in it can be altered in this way")
    if levels.rejected:
        parts.append(f"rejected: {_listed(levels.rejected)}")
    return "\n\n".join(parts)


def _marked(before: str, after: str, *, coloured: bool) -> str:
    marks = _COLOURS if coloured else _MARKS
    return "".join(text.join(marks[kind]) for kind, text in segments(before, after))


def _listed(rejected: dict[str, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in sorted(rejected.items()))


def figures(
    found: Iterable[Perturbed],
    levels: int,
    rejected: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
    rates: RatesOf = lambda _: {},
) -> list[dict[str, Any]]:
    """Return figures over the samples of a benchmark, one object a perturbation.

    ``rows`` has one object a level above 0, its keys COLUMNS: how many samples have it, the
    quartiles of their edit shares, the share whose perturbed reference passes its tests
    (``passed``), and of those that cannot be run the share that still parses, with the same
    tokens up to our edits (``parsed``); null where there are none, or nobody has looked.
    ``unaltered`` counts samples without any level above 0.

    Args:
        found: The samples.
        levels: How many there can be above 0.
        rejected: Perturbation -> why candidates were turned down, beside what the samples say.
        rates: Tells these shares.
    """
    groups: dict[str, list[Perturbed]] = {}
    for each in found:
        groups.setdefault(each.levels.variants[0].perturbation, []).append(each)
    return [
        {
            "benchmark": group[0].sample.benchmark,
            "perturbation": name,
            "samples": len(group),
            "unaltered": sum(len(each.levels.variants) == 1 for each in group),
            "rejected": _total(rejected.get(name, {}), *(e.levels.rejected for e in group)),
            "rows": list(_rows(group, levels, rates)),
        }
        for name, group in sorted(groups.items())
    ]


def _rows(group: Sequence[Perturbed], levels: int, rates: RatesOf) -> Iterator[dict[str, Any]]:
    known = rates([(sample, levels.variants) for sample, levels in group])
    for level in range(1, levels + 1):
        yield _row(group, level, known.get(level, meaning.UNKNOWN))


def _total(*tallies: Mapping[str, int]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for tally in tallies:
        total.update(tally)
    return dict(sorted(total.items()))


def _row(group: Sequence[Perturbed], level: int, known: Rates) -> dict[str, Any]:
    reached = [
        (sample, levels.variants[level]) for sample, levels in group if len(levels.variants) > level
    ]
    shares = sorted(variant.edit_share for _, variant in reached)
    low, middle, high = _quartiles(shares)
    return {
        "level": level,
        "samples": len(reached),
        "edit_share_q1": low,
        "edit_share": middle,
        "edit_share_q3": high,
        "distance": median(variant.distance for _, variant in reached) if reached else None,
        **known._asdict(),
    }


def _quartiles(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    if not values:
        return None, None, None
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return low, middle, high


def heading(figure: dict[str, Any]) -> str:
    """Return the line above the table of one perturbation."""
    parts = [f"{figure['benchmark']} {figure['perturbation']}: {figure['samples']} samples"]
    if figure["unaltered"]:
        parts.append(f"{figure['unaltered']} of them cannot be altered")
    if figure["rejected"]:
        parts.append(f"rejected: {_listed(figure['rejected'])}")
    return "; ".join(parts)
