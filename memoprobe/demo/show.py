"""Run the ordinary pipeline against the demo's server and say what there is to see."""

from collections.abc import Callable, Iterator
from pathlib import Path

from memoprobe import demo, prompts
from memoprobe.demo.benchmark import Row
from memoprobe.demo.server import serve
from memoprobe.engine import Progress
from memoprobe.errors import ConfigError, MemoprobeError
from memoprobe.pipeline import asking, derive, present
from memoprobe.records import Sample, Sampling, Task
from memoprobe.report import page, terminal
from memoprobe.store import open_store
from memoprobe.study import BenchmarkSpec, ModelSpec, Study

INTRODUCTION = """\
A small language model was just trained on this machine. It was given one half of a benchmark
of {n} items three times over, beside many other items of the same kind; the other half, the
controls, it has never seen. Now it is asked all of them like any model on any server.
"""

EXPLANATION = """\
What to see: recall is the performance on the original prompts. On the controls the model does
well above the floor, by what it learned of such items; on the items it has seen it does better
still. When the prompts are reworded or renamed, the seen items fall (calibrated), the controls
much less: the difference, with its interval, is what a memory leaves behind, and without
controls nobody could tell it from a task that merely became harder. The placebo, prompts
changed in next to nothing, shows how far a model falls for no reason.
"""


def run(out: Path, seed: int, show: Callable[[Progress], None]) -> Iterator[str]:
    """Yield what there is to print, doing the work in between.

    Raises:
        MemoprobeError: The folder cannot be written, or the run cannot end.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{out}: cannot be used as a folder: {error.strerror}"
        raise ConfigError(msg) from error
    db = out / "demo.db"
    for old in (db, Path(f"{db}-wal"), Path(f"{db}-shm")):
        old.unlink(missing_ok=True)
    prepared = demo.prepare(out, seed, _frame)
    yield INTRODUCTION.format(n=prepared.n_items)
    with serve(prepared.model, demo.MODEL_NAME) as url:
        asked = asking.ask(_study(prepared, url, seed), db, retry_failed=False, show=show)
    if asked.fault is not None or asked.signal is not None or asked.failed:
        msg = f"the demo's run did not end: {asked.fault or 'interrupted'}"
        raise MemoprobeError(msg)
    with open_store(db, write=True) as store:
        derive.score(store)
        data = present.report_data(store, "demo")
    yield terminal.text(data)
    yield ""
    yield EXPLANATION
    path = out / "report.html"
    present.write(path, page.render(data))
    yield f"The report, which opens without network: {path}"


def _frame(task: Task, row: Row) -> str:
    """Return the prompt that a run asks for an unperturbed item."""
    sample = Sample(
        benchmark="demo",
        sample_id="",
        task=task,
        language="python",
        input_kind="prose" if task == "code_generation" else "code",
        text=row["input"],
        context=row.get("context", ""),
        entry_point=row.get("entry_point"),
    )
    return prompts.fill(sample, sample.text, "chat")


def _study(prepared: demo.Prepared, url: str, seed: int) -> Study:
    model = ModelSpec(name=demo.MODEL_NAME, base_urls=(url,), max_in_flight=8)
    return Study(
        name="demo",
        seed=seed,
        placebo=True,
        sampling=Sampling(max_tokens=256),
        models=(model,),
        benchmarks=tuple(
            BenchmarkSpec(path=str(path), task=task) for task, path in prepared.paths.items()
        ),
    )
