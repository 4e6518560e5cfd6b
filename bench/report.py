"""Print how long a report of 8 models, 20 benchmarks and 500 samples each takes, and its size.

    python -m bench.report [FOLDER]

Answers and scores are made up, a hundredth of the answers is cut off, so that both treatments
of what was not answered are there; the sensitivities, comparisons and the page are made by
the program itself. A folder that is named keeps the database, and the next run takes it.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from memoprobe.pipeline import derive, present
from memoprobe.records import Sample, Variant
from memoprobe.report import page
from memoprobe.store import Store, open_store, results
from memoprobe.store.database import Cell, PlanRow

N_MODELS, N_BENCHMARKS, N_SAMPLES, N_CONTROLS = 8, 20, 500, 50
LEVELS, REPEATS, ANSWERS = 5, 3, 3
GOAL_S, GOAL_MB = 60, 10
TASKS = (
    *("code_generation", "program_repair", "test_generation"),
    *("vulnerability_detection", "code_summarization"),
)
PERTURBATION, METRIC = "rename", "token_levenshtein"
CODE = """def collect(values, limit):
    result = []
    for value in values:
        if value > limit and value not in result:
            result.append(value)
    return sorted(result)
"""


def performance(model: str, sample: int, level: int, repeat: int, answer: int) -> float:
    """Return a made-up performance: models and samples differ, and fall differently far."""
    start = 0.6 + 0.35 * ((sample * 7919 + len(model)) % 101) / 101
    fall = 0.3 * ((sample * 104729) % 97) / 97 * (int(model[-1]) + 1) / N_MODELS
    noise = (
        (sample * 31 + level * 17 + repeat * 13 + answer * 7 + int(model[-1])) * 2654435761
    ) % 89
    return min(1.0, max(0.0, start - fall * level / LEVELS + 0.08 * (noise / 89 - 0.5)))


def models() -> list[str]:
    """Return the models' names."""
    return [f"model-of-a-usual-name-{m}" for m in range(N_MODELS)]


def fill(store: Store) -> None:
    """Store samples, levels, answers and scores."""
    names = {f"benchmark-{b:02}": TASKS[b % len(TASKS)] for b in range(N_BENCHMARKS)}
    settings = {"model": "served", "interface": "chat", "extra_body": {}}
    store.set_info(
        {"settings": {"seed": 0, "width": ANSWERS, "models": dict.fromkeys(models(), settings)}}
    )
    for benchmark, task in names.items():
        samples = [made(benchmark, task, i) for i in range(N_SAMPLES)]
        store.add_samples(samples)
        store.save(*(variant(each, level) for each in samples for level in range(LEVELS + 1)))
    store.flush()
    cells = [Cell(model, benchmark, PERTURBATION) for model in models() for benchmark in names]
    ids = [f"item/{i}" for i in range(N_SAMPLES)]
    store.replace_plan({PlanRow(cell, LEVELS, REPEATS, ANSWERS): ids for cell in cells})
    answer(store, cells)


def made(benchmark: str, task: str, i: int) -> Sample:
    """Return a sample; the last are controls."""
    return Sample(
        benchmark=benchmark,
        sample_id=f"item/{i}",
        task=task,
        language="python",
        input_kind="code",
        text=f"# {benchmark} {i}\n{CODE}",
        reference=CODE,
        control=i >= N_SAMPLES - N_CONTROLS,
    )


def variant(sample: Sample, level: int) -> Variant:
    """Return a level of a sample, with as many names changed."""
    text = sample.text
    for name in ("collect", "values", "limit", "result", "value")[:level]:
        text = text.replace(name, f"{name}_{level}")
    return Variant(
        benchmark=sample.benchmark,
        sample_id=sample.sample_id,
        perturbation=PERTURBATION,
        level=level,
        text=text,
        distance=0.1 * level,
        edit_share=0.07 * level,
        rename_map={},
    )


def answer(store: Store, cells: list[Cell]) -> None:
    """Store a response and a score for every slot."""
    store.db.conn.create_function("performance", 5, performance, deterministic=True)
    store.db.conn.executescript(
        f"""
        CREATE TEMP TABLE slots AS SELECT c.model, c.perturbation, v.sample, v.level, v.text,
            r.value AS repeat, a.value AS answer,
            (v.sample * 54 + v.level * 9 + r.value * 3 + a.value) % 100 > 0 AS whole
        FROM selection_rows c
            JOIN variant_rows v ON v.sample = c.sample AND v.perturbation = c.perturbation,
            json_each('{json.dumps(list(range(1, REPEATS + 1)))}') r,
            json_each('{json.dumps(list(range(1, ANSWERS + 1)))}') a;
        INSERT INTO response_rows SELECT
            CAST(model || '/' || sample || '/' || level || '/' || repeat || '/' || answer AS BLOB),
            sample, model, perturbation, level, repeat, answer,
            text || '# ' || (level * repeat * answer % 4), NULL, iif(whole, 'stop', 'length'),
            200, 80, 0.2, answer, 'http://127.0.0.1:8000/v1', iif(whole, 'ok', 'truncated')
            FROM slots;
        INSERT INTO score_rows SELECT sample, model, perturbation, '{METRIC}', level, repeat,
            answer, iif(whole, performance(model, sample, level, repeat, answer), 0.0), 'fence',
            whole, NULL FROM slots;
        DROP TABLE slots;
        """
    )
    for cell in cells:
        results.write_floor(store, cell, METRIC, 0.25, 1)


def main() -> None:
    """Make the database where it is not there, measure it, and make the report."""
    with tempfile.TemporaryDirectory() as made_up:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(made_up)
        folder.mkdir(parents=True, exist_ok=True)
        db = folder / "report.db"
        if not db.exists():
            with open_store(db, write=True) as store:
                fill(store)
                start = time.perf_counter()
                derive.measure(store)
                results.mark_current(store)
                print(f"measuring and comparing, s           {time.perf_counter() - start:8.1f}")
        start, busy = time.perf_counter(), time.process_time()
        with open_store(db, write=False) as store:
            data = present.report_data(store, "report")
        gathered = time.perf_counter() - start
        text = page.render(data)
        (folder / "report.html").write_text(text, encoding="utf-8")
        seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"gathering, s                         {gathered:8.1f}")
    print(f"report, s (goal {GOAL_S})                   {seconds:8.1f}")
    print(f"  of processor time, s               {time.process_time() - busy:8.1f}")
    print(f"  peak memory, MB                    {memory:8.0f}")
    print(f"size, MB (goal {GOAL_MB})                    {len(text.encode()) / 1e6:8.2f}")


if __name__ == "__main__":
    main()
