"""Say what a study plans: for which probe, of which model, which samples."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memoprobe import likelihood
from memoprobe.errors import ConfigError
from memoprobe.pipeline import perturbing
from memoprobe.plan import Design
from memoprobe.records import Probe, Sample
from memoprobe.store.database import Cell, PlanRow
from memoprobe.study import Study

Groups = Mapping[str, Sequence[Sample]]
"""Benchmark -> its samples."""


class Planned(NamedTuple):
    """Hold what is planned, and a sentence for each benchmark of which some cannot be."""

    rows: dict[PlanRow, list[str]]  # with the ids of the samples
    left_out: list[str]


def plan_of(study: Study, samples: Groups, designs: Mapping[str, Design]) -> Planned:
    """Return what a study plans.

    Args:
        study: What is run.
        samples: Of its benchmarks.
        designs: Of its models.

    Raises:
        ConfigError: Likelihoods alone are asked for, and no sample has a reference for one.
    """
    rows: dict[PlanRow, list[str]] = {}
    left_out: dict[tuple[str, int], list[str]] = defaultdict(list)
    askable = {
        (benchmark, interface): [s for s in group if likelihood.is_askable(s, interface)]
        for benchmark, group in samples.items()
        for interface in sorted({design.interface for design in designs.values()})
        if "likelihood" in study.probes
    }
    for probe in study.probes:
        for design in designs.values():
            for benchmark, group in samples.items():
                chosen = group if probe == "answers" else askable[benchmark, design.interface]
                rows |= _rows(study, benchmark, chosen, (probe, design))
                if n := len(group) - len(chosen):
                    left_out[benchmark, n].append(design.model)
    told = [
        f"{benchmark}: {n} of its samples have no reference that can be the answer to their"
        f" prompt, so no likelihood of one is asked ({', '.join(models)})"
        for (benchmark, n), models in left_out.items()
    ]
    if told and not rows:
        raise ConfigError("; ".join(told))
    return Planned(rows, told)


def _rows(
    study: Study, benchmark: str, samples: Iterable[Sample], asked: tuple[Probe, Design]
) -> Iterator[tuple[PlanRow, list[str]]]:
    """Yield a row per perturbation, with the ids of the samples that get it."""
    probe, design = asked
    chosen: dict[str, list[str]] = {}
    main: set[str] = set()
    for sample in samples:
        names = perturbing.names_of(study, sample)
        main.add(names[0])
        for name in names:
            chosen.setdefault(name, []).append(sample.sample_id)
    n_greedy = n_greedy_answers(study, design)
    for name, ids in chosen.items():
        cell = Cell(design.model, benchmark, name)
        if probe == "likelihood":
            yield PlanRow(cell, study.levels, 1, 1, 0, probe), ids
        else:
            greedy = n_greedy if name in main else 0
            yield PlanRow(cell, study.levels, *design.slots()[-1], greedy, probe), ids


def n_greedy_answers(study: Study, design: Design) -> int:
    """Return how many greedy answers a sample gets; a run that is greedy itself draws none."""
    return int(study.greedy and design.sampling.temperature > 0)
