"""Memory and time to the first request: a million requests planned, a million answers stored.

Planned: 8 models x 20,834 samples x 6 levels. Stored: 18,519 samples x 6 levels x 9
answers of one model, and one sample more to ask. Run as ``python -m bench.scale``.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.throughput import HERE, server

MODELS = 8
SAMPLES = 20_834
STORED = 18_519
CODE = """def solve_{n}(first, second, third):
    total = first + second * {n}
    for index in range(third):
        square = index * index
        total = total + square
    return total
"""


def row(n: int) -> dict[str, object]:
    code = CODE.format(n=n)
    return {"id": n, "input": code, "reference": code, "entry_point": f"solve_{n}"}


def write_rows(path: Path, n: int) -> None:
    path.write_text("".join(json.dumps(row(i)) + "\n" for i in range(n)), encoding="utf-8")


def write_study(path: Path, url: str, models: int, rows: Path) -> None:
    parts = [
        f'[[models]]\nname = "m{i}"\nmodel = "bench"\nbase_urls = ["{url}"]\n'
        for i in range(models)
    ]
    parts.append(f'[[benchmarks]]\npath = "{rows}"\ntask = "program_repair"\n')
    path.write_text("\n".join(parts), encoding="utf-8")


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def watch(study: Path, db: Path, url: str, seconds: float) -> None:
    """Run a study for a while; print when the first answer came and the largest memory."""
    import urllib.request

    command = [sys.executable, "-m", "memoprobe", "run", str(study), "--db", str(db)]
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=HERE.parent, stderr=subprocess.DEVNULL)
    first = None
    while process.poll() is None and (first is None or time.monotonic() - began < seconds):
        with urllib.request.urlopen(url.replace("/v1", "/counters")) as reply:
            if first is None and json.load(reply).get("requests"):
                first = time.monotonic() - began
                print(f"  first request after   {first:7.1f} s")
        memory = resident_mb(process.pid)
        time.sleep(0.05)
    print(f"  largest resident set  {memory:7.0f} MB after {time.monotonic() - began:.0f} s")
    process.terminate()
    process.wait()


def fill(study: Path, db: Path, n: int) -> None:
    """Store answers to all slots but those of the last sample in visiting order."""
    from memoprobe import plan
    from memoprobe.pipeline import asking, perturbing, settings
    from memoprobe.records import Response
    from memoprobe.store import open_store
    from memoprobe.store.database import Cell, PlanRow
    from memoprobe.study import load

    loaded = load(study)
    read = asking.read_benchmark(loaded.benchmarks[0], loaded.seed)
    with open_store(db, write=True) as store:
        samples = {loaded.benchmarks[0].label: read.samples}
        agreed = settings.settle(store, settings.settings_of(loaded, samples))
        store.add_samples(read.samples)
        design = settings.design_of(loaded, loaded.models[0], agreed["width"])
        cell = Cell(design.model, loaded.benchmarks[0].label, "rename")
        store.replace_plan(
            {PlanRow(cell, loaded.levels, *design.slots()[-1]): [s.sample_id for s in read.samples]}
        )
        for sample in plan.visiting_order(read.samples, loaded.seed)[:n]:
            for variant in perturbing.stored_variants(store, loaded, sample, "rename"):
                request = plan.request(sample, variant, design)
                for slot in request.slots:
                    store.save(
                        Response(
                            key=slot.key,
                            model=design.model,
                            benchmark=sample.benchmark,
                            sample_id=sample.sample_id,
                            perturbation="rename",
                            level=variant.level,
                            repeat=slot.repeat,
                            answer=slot.answer,
                            text=sample.text,
                            reasoning=None,
                            finish_reason="stop",
                            prompt_tokens=100,
                            completion_tokens=80,
                            latency_s=1.0,
                            seed=slot.seed,
                            endpoint="http://127.0.0.1/v1",
                        )
                    )
        store.flush()
        (found,) = store.query("SELECT count(*) AS n FROM response_rows")
        print(f"  stored {found['n']:,} answers, {db.stat().st_size / 2**20:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of both sizes")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    planned, stored = round(SAMPLES * options.scale), round(STORED * options.scale)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with server() as url:
            print(f"planned: {MODELS} models x {planned:,} samples x 6 levels")
            write_rows(folder / "planned.jsonl", planned)
            write_study(folder / "planned.toml", url, MODELS, folder / "planned.jsonl")
            watch(folder / "planned.toml", folder / "planned.db", url, options.seconds)
        with server() as url:
            print(f"stored: {stored:,} samples x 6 levels x 9 answers, one sample left")
            write_rows(folder / "stored.jsonl", stored + 1)
            write_study(folder / "stored.toml", url, 1, folder / "stored.jsonl")
            fill(folder / "stored.toml", folder / "stored.db", stored)
            watch(folder / "stored.toml", folder / "stored.db", url, 0)


if __name__ == "__main__":
    main()
