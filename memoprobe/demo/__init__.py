"""Hold a whole study in small: a benchmark, a model that has seen half of it, and its server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from memoprobe.demo.benchmark import Row, build
from memoprobe.demo.model import LanguageModel
from memoprobe.records import Task

MODEL_NAME = "demo-half-seen"


class Prepared(NamedTuple):
    """Hold what a demo run needs: each task's own benchmark file, and the trained model."""

    paths: dict[Task, Path]
    model: LanguageModel
    n_items: int


def prepare(out: Path, seed: int, frame: Callable[[Task, Row], str]) -> Prepared:
    """Write the benchmark of ``seed`` into ``out`` and train the model that has seen half of it.

    Args:
        out: An existing folder; a file of an earlier demo is replaced.
        seed: Decides items, membership and training texts.
        frame: Fills the prompt that the run will ask for an item unperturbed.
    """
    benchmark = build(seed)
    paths = {}
    for task, rows in benchmark.rows.items():
        paths[task] = out / f"demo_{task}.jsonl"
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        paths[task].write_text("".join(lines), encoding="utf-8")
    model = LanguageModel()
    model.train(
        (frame(task, row), f"```python\n{row['reference']}```") for task, row in benchmark.documents
    )
    return Prepared(paths, model, sum(map(len, benchmark.rows.values())))
