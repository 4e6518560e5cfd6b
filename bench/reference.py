"""Measure the probe on the reference model by the ordinary pipeline: one table a task.

python -m bench.reference [--seed 0] [--task code_generation] [--controls 60] [--folder DIR]
"""

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from memoprobe.pipeline import asking, derive
from memoprobe.records import Sampling
from memoprobe.reference import corpus
from memoprobe.reference.corpus import CELLS, Target
from memoprobe.reference.model import FOLDER, load
from memoprobe.reference.server import serve
from memoprobe.store import open_store
from memoprobe.study import BenchmarkSpec, ModelSpec, Study

METRIC = "token_levenshtein"
DEFINITIONS = ("calibrated", "paper", "artifact", "total_drop", "slope", "recall", "exact")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--task", choices=corpus.TASKS, default="code_generation")
    parser.add_argument("--controls", type=int, default=60)
    parser.add_argument("--members", type=int, default=40, help="of each number of copies")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--placebo", action="store_true")
    asked = parser.parse_args()
    targets = chosen(
        [t for t in corpus.targets(asked.seed) if t.item.task == asked.task],
        {0: asked.controls} | dict.fromkeys(CELLS, asked.members),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reference.jsonl"
        rows = [{k: v for k, v in corpus.row(t).items() if k != "tests"} for t in targets]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        found = measured(path, asked)
    for perturbation, values in found.items():
        print_table(perturbation, values, {t.sample_id: t.copies for t in targets})


def chosen(targets: Iterable[Target], most: Mapping[int, int]) -> list[Target]:
    """Return the first targets of every number of copies."""
    groups = defaultdict(list)
    for target in targets:
        groups[target.copies].append(target)
    return [target for copies, group in groups.items() for target in group[: most[copies]]]


def measured(path: Path, asked: argparse.Namespace) -> dict[str, dict[str, dict[str, list]]]:
    """Return perturbation -> definition -> sample -> value, noise p and control p."""
    started = time.monotonic()
    with serve(load(asked.seed, asked.folder)) as url:
        name = load(asked.seed, asked.folder).name
        spec = ModelSpec(name=name, base_urls=(url,), interface="completions", max_in_flight=32)
        study = Study(
            name="reference",
            seed=asked.seed,
            placebo=asked.placebo,
            sampling=Sampling(max_tokens=128),
            models=(spec,),
            benchmarks=(BenchmarkSpec(path=str(path), task=asked.task),),
        )
        db = path.parent / "reference.db"
        end = asking.ask(study, db, retry_failed=False, show=lambda _: None)
    print(f"asked in {time.monotonic() - started:.0f} s; fault {end.fault}, failed {end.failed}")
    found: dict[str, dict[str, dict[str, list]]] = defaultdict(lambda: defaultdict(dict))
    with open_store(db, write=True) as store:
        derive.score(store, (METRIC,))
        for row in store.db.query("SELECT * FROM sensitivities WHERE metric = ?", (METRIC,)):
            found[row["perturbation"]][row["definition"]][row["sample_id"]] = [
                row["value"], row["answer_noise_p"], row["control_p"]
            ]  # fmt: skip
        for row in store.db.query(
            "SELECT perturbation, level, avg(edit_share) AS share FROM variants GROUP BY 1, 2"
        ):
            print(f"{row['perturbation']} level {row['level']}: edit share {row['share']:.3f}")
    return found


def auc(members: Sequence[float], strangers: Sequence[float]) -> float:
    """Return the chance that a member is above a stranger, ties counting half."""
    here, there = np.asarray(members)[:, None], np.asarray(strangers)
    return float(((here > there) + 0.5 * (here == there)).mean())


def print_table(
    perturbation: str, found: Mapping[str, Mapping[str, list]], copies: Mapping[str, int]
) -> None:
    print(f"\n## {perturbation}\n")
    numbers = list(CELLS)
    print("| definition | mean at 0 | " + " | ".join(f"at {n}" for n in numbers), end=" | ")
    print(" | ".join(f"AUC {n}" for n in numbers) + " |  p < .05 at 0 |")
    print("|---" * (3 + 2 * len(numbers)) + "|")
    for definition in DEFINITIONS:
        groups = defaultdict(list)
        for sample, row in found[definition].items():
            groups[copies[sample]].append(row)
        values = {n: [row[0] for row in group] for n, group in groups.items()}
        means = [f"{np.mean(values[n]):.3f}" for n in (0, *numbers)]
        areas = [f"{auc(values[n], values[0]):.2f}" for n in numbers]
        noise = [row[1] < 0.05 for row in groups[0] if row[1] is not None]
        share = f"{np.mean(noise):.2f}" if noise else ""
        print(f"| {definition} | {' | '.join(means)} | {' | '.join(areas)} | {share} |")
    print({n: len(group) for n, group in groups.items()})


if __name__ == "__main__":
    main()
