"""Run the ordinary pipeline against the reference model's server and say what there is to see."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from memoprobe.engine import Progress
from memoprobe.errors import ConfigError, complete
from memoprobe.pipeline import asking, derive, present
from memoprobe.records import Sampling, Task
from memoprobe.reference import corpus
from memoprobe.reference.corpus import Target
from memoprobe.reference.items import TASKS
from memoprobe.reference.model import load
from memoprobe.reference.server import serve
from memoprobe.report import page, terminal
from memoprobe.store import open_store
from memoprobe.study import BenchmarkSpec, ModelSpec, Study

N_ITEMS = 16  # of each benchmark that the model has seen, and as many controls of each task
TRAINED = 0  # the seed of the model that is asked
COPIES = 16  # times that it has seen the items of each task
ONCE = "seen_once"  # a benchmark of code_generation that it has seen one time

INTRODUCTION = """\
A small language model that comes with the package, a transformer whose whole training is known,
is asked {n} items like any model on any server. One part of them it saw {copies} times while it
was trained, one part once; the others, the controls, it has never seen.
"""

EXPLANATION = """\
What to see: recall is the performance on the original prompts. On the controls the model does
well above the floor, by what it learned of such items; what it saw {copies} times it gives back
nearly word for word. Reworded (code_generation) or renamed (program_repair, code_summarization)
those items fall (calibrated) and the controls hardly do: the difference, with its interval, is
what a memory leaves behind, and without controls nobody could tell it from a task that merely
became harder. The verdict stays at "sensitive" all the same: recall sets items and controls so
far apart that by the rule of caution they do not count as comparable. Summaries are the odd
case: on unseen code they lie near the floor, so the controls have little to lose, and the
interval of retention holds 0. And seen_once is the honest negative: the model has seen all of it,
and nothing shows. No fall is not clean. The placebo, prompts changed in next to nothing, shows
how much of a fall is none. `memoprobe calibrate` measures what is found, and how surely.
"""


def run(out: Path, seed: int, show: Callable[[Progress], None]) -> Iterator[str]:
    """Yield what there is to print, doing the work in between.

    Args:
        out: A folder for the files; those of an earlier demo are replaced.
        seed: Which items are asked, how they are perturbed, and what is drawn.
        show: Called about once a second.

    Raises:
        MemoprobeError: The folder cannot be written, or the run cannot end.
        Interrupted: A signal came.
    """
    db = _cleared(out)
    paths = _written(out, random.Random(seed))
    n_items = N_ITEMS * (2 * len(TASKS) + 1)
    yield INTRODUCTION.format(n=n_items, copies=COPIES)
    model = load(TRAINED)
    with serve(model) as url:
        asked = asking.ask(_study(model.name, url, paths, seed), db, retry_failed=False, show=show)
    complete(asked.signal, asked.fault, asked.failed)
    with open_store(db, write=True) as store:
        derive.score(store)
        data = present.report_data(store, "demo")
    yield terminal.text(data)
    yield ""
    yield EXPLANATION.format(copies=COPIES)
    path = out / "report.html"
    present.write(path, page.render(data))
    yield f"The report, which opens without network: {path}"


def _cleared(out: Path) -> Path:
    """Return where the database goes, once an earlier demo's is removed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{out}: cannot be used as a folder: {error.strerror}"
        raise ConfigError(msg) from error
    db = out / "demo.db"
    if db.exists():
        with open_store(db, write=True):
            pass  # it is a run database, and nobody is writing it
    for old in (db, Path(f"{db}-wal"), Path(f"{db}-shm")):
        old.unlink(missing_ok=True)
    return db


def _written(out: Path, rng: random.Random) -> dict[Path, Task]:
    """Write the benchmarks; which items are controls is all that a file tells of them."""
    groups: dict[str, tuple[Task, tuple[int, ...]]] = {
        **{task: (task, (COPIES, 0)) for task in TASKS},
        ONCE: ("code_generation", (1,)),
    }
    paths = {}
    for name, (task, copies) in groups.items():
        # Tests are left out: ten thousand programs would take longer than all the rest.
        lines = [
            json.dumps({key: value for key, value in corpus.row(target).items() if key != "tests"})
            for target in _chosen(task, copies, rng)
        ]
        path = out / f"demo_{name}.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        paths[path] = task
    return paths


def _chosen(task: Task, copies: tuple[int, ...], rng: random.Random) -> list[Target]:
    """Return as many targets of each number of copies, mixed."""
    known = [target for target in corpus.targets(TRAINED) if target.item.task == task]
    chosen = [
        target
        for number in copies
        for target in rng.sample([t for t in known if t.copies == number], N_ITEMS)
    ]
    rng.shuffle(chosen)
    return chosen


def _study(name: str, url: str, paths: Mapping[Path, Task], seed: int) -> Study:
    model = ModelSpec(name=name, base_urls=(url,), interface="completions", max_in_flight=32)
    return Study(
        name="demo",
        seed=seed,
        placebo=True,
        sampling=Sampling(max_tokens=128),
        models=(model,),
        benchmarks=tuple(BenchmarkSpec(path=str(path), task=task) for path, task in paths.items()),
    )
