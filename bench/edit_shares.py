"""Write how much each level edits on every benchmark, with and without match_edit_share.

    python -m bench.edit_shares DATA_DIR > docs/edit-shares.md

DATA_DIR holds a folder a data set, each in its original layout, as ``memoprobe fetch --from``
takes it. What is not there, or gives no sample, is named below the table.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from memoprobe import benchmarks
from memoprobe.benchmarks import BENCHMARKS
from memoprobe.errors import MemoprobeError
from memoprobe.perturbations import DEFAULT
from memoprobe.pipeline.asking import read_benchmark
from memoprobe.pipeline.perturbing import settle_strength, variants_of
from memoprobe.records import Sample
from memoprobe.store import Store, open_store
from memoprobe.study import BenchmarkSpec, Study

FOLDERS = {"quixbugs-repair": "quixbugs", "quixbugs-tests": "quixbugs", "tlcodesum": "tl_codesum"}
LEVELS = 5
FACTOR = 1.5
"""How far the level-5 medians of two benchmarks may be apart where they are matched."""

TEXT = """# How much each level edits

Written by `python -m bench.edit_shares DATA_DIR`. Median edit share over the samples that have
the level: token Levenshtein to the original over the longer of the two, of code in tokens and
of prose in words. Code is renamed (`rename`), prose reworded (`lexical`); 5 levels, seed 0.
*None* counts samples in which nothing can be altered, *5 levels* those that have them all.
"""


OTHERS = "The benchmarks of the list below are not in this study.\n"

OFF = {
    "mbpp": "a text has 15 words and marks at the median, and five levels take five edits at"
    " least, each of a word or more: half of the words. Texts this short have no weak fifth level.",
    "xlcost": "the same; three rows here.",
    "quixbugs-repair": "a program has 72 tokens at the median, and 17 of 30 have five names or"
    " more; even their five rarest names make a fifth of the tokens.",
    "quixbugs-tests": "the same programs, without their bugs.",
    "defects4j": "hunks of patches, the only layout here, begin and end inside of blocks, so that"
    " most do not parse and scopes are not known; nothing is renamed in them. What is renamed has"
    " one or two names. The export folder, with whole methods, is the layout to use.",
}
"""Benchmark -> why its strength cannot be brought to that of the others."""


def samples_of(data: Path, notes: list[str]) -> dict[str, list[Sample]]:
    """Return benchmark -> its samples, of those that are here; note why others are not."""
    found = {}
    for name, benchmark in BENCHMARKS.items():
        folder = data / FOLDERS.get(name, name)
        if not folder.is_dir():
            notes.append(f"`{name}`: no data here.")
            continue
        try:
            benchmarks.fetch(benchmark, folder, Path(os.environ["MEMOPROBE_HOME"]))
            loaded = read_benchmark(BenchmarkSpec(name=name), 0)
        except MemoprobeError:
            notes.append(f"`{name}`: the copy here holds no rows that can be asked.")
            continue
        if not loaded.samples:
            notes.append(f"`{name}`: none of the rows here can be asked.")
        found[name] = list(loaded.samples)
    return found


def shares(study: Study, samples: Sequence[Sample], store: Store | None) -> list[list[float]]:
    """Return the edit shares of each sample's levels above 0."""
    return [
        [
            variant.edit_share
            for variant in variants_of(study, each, DEFAULT[each.input_kind], store).variants[1:]
        ]
        for each in samples
    ]


def medians(found: Sequence[Sequence[float]]) -> list[float | None]:
    """Return the median of each level, and that of the samples' last levels."""
    levels = [[own[level] for own in found if len(own) > level] for level in range(LEVELS)]
    last = [own[-1] for own in found if own]
    return [median(values) if values else None for values in (*levels, last)]


def table(
    samples: Mapping[str, Sequence[Sample]], found: Mapping[str, Sequence[Sequence[float]]]
) -> list[str]:
    """Return the lines of a table, a benchmark each."""
    heads = ["benchmark", "samples", "none", "5 levels", *map(str, range(1, LEVELS + 1)), "last"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name, own in found.items():
        kind = DEFAULT[samples[name][0].input_kind]
        counts = [len(own), sum(not each for each in own), sum(len(e) == LEVELS for e in own)]
        numbers = ["" if value is None else f"{value:.3f}" for value in medians(own)]
        lines.append([f"{name} ({kind})", *map(str, counts), *numbers])
    return [f"| {' | '.join(line)} |" for line in lines]


def spread(found: Mapping[str, Sequence[Sequence[float]]]) -> str:
    """Return how far the benchmarks' level-5 medians are apart, and which are off."""
    tops = {name: top for name, own in found.items() if (top := medians(own)[LEVELS - 1])}
    ordered = sorted(tops, key=lambda name: tops[name])
    # The largest set of neighbours that one factor holds.
    groups = [
        [name for name in ordered[k:] if tops[name] <= FACTOR * tops[ordered[k]]]
        for k in range(len(ordered))
    ]
    within = max(groups, key=len)
    off = ", ".join(f"`{name}` ({tops[name]:.3f})" for name in ordered if name not in within)
    return (
        f"Level 5 of {len(within)} of {len(tops)} benchmarks lies within a factor of "
        f"{tops[within[-1]] / tops[within[0]]:.2f} of each other"
        f"{f'; the others are {off}' if off else ''}."
    )


def matched(samples: Mapping[str, Sequence[Sample]]) -> list[str]:
    """Return the lines about a study of these benchmarks that matches their strength."""
    study = Study(levels=LEVELS, match_edit_share=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder) / "run.db", write=True) as store,
    ):
        settle_strength(store, study, samples)
        found = {name: shares(study, own, store) for name, own in samples.items()}
        aims = json.loads(store.info()["edit_aims"])
    aimed = ", ".join(f"{aim:.3f}" for aim in aims)
    return [f"The levels aim at {aimed}.", "", *table(samples, found), "", spread(found)]


def page(data: Path) -> str:
    """Return the page as Markdown."""
    notes: list[str] = []
    samples = {name: own for name, own in samples_of(data, notes).items() if own}
    study = Study(levels=LEVELS)
    plain = {name: shares(study, own, None) for name, own in samples.items()}
    long = {
        name: own
        for name, own in samples.items()
        if own[0].input_kind == "code" and name not in OFF
    }
    parts = [TEXT, "## Without matching", "", *table(samples, plain), "", spread(plain)]
    parts += ["", "## With `match_edit_share`, all in one study", "", *matched(samples)]
    parts += ["", "## With `match_edit_share`, code alone", "", OTHERS, *matched(long)]
    parts += ["", "## Why some cannot be matched", "", *(f"- `{k}`: {v}" for k, v in OFF.items())]
    return "\n".join([*parts, "", "## Left out", "", *(f"- {note}" for note in notes)])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MEMOPROBE_HOME"] = folder
        print(page(Path(sys.argv[1])))
