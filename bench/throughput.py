"""Answers per second and processor time an answer, end to end, beside bare loops and a peer.

Each row runs in a process of its own against one loopback server with 200 ms latency.
Run as ``python -m bench.throughput``; ``--peer`` also installs lm-evaluation-harness into a
scratch environment and asks the same answers with its API model.
"""

import argparse
import importlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import loops

HERE = Path(__file__).parent
N = 9


@contextmanager
def server(*options: str) -> Iterator[str]:
    command = [sys.executable, "-m", "bench.server", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE.parent)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.wait()


def ours(url: str, requests: int, n: int, in_flight: int) -> None:
    """The engine and the store as `memoprobe run` uses them, the prompts being given."""
    from memoprobe import engine, plan
    from memoprobe.endpoints.client import Client
    from memoprobe.endpoints.flow import Flow
    from memoprobe.endpoints.pool import Pool
    from memoprobe.records import Request, Sample, Sampling, Slot
    from memoprobe.store import open_store

    samples = [
        Sample(
            benchmark="bench",
            sample_id=str(number),
            task="program_repair",
            language="python",
            input_kind="code",
            text=text,
        )
        for number, text in enumerate(loops.prompts(requests))
    ]

    def planned() -> Iterator[Request]:
        for sample in samples:
            number = int(sample.sample_id)
            yield Request(
                model="bench",
                served_model="bench",
                benchmark="bench",
                sample_id=sample.sample_id,
                perturbation="rename",
                level=0,
                interface="chat",
                prompt=sample.text,
                sampling=Sampling(max_tokens=256),
                slots=tuple(
                    Slot(1, i + 1, 1000 * number + i, plan.digest(number, i)) for i in range(n)
                ),
            )

    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder) / "run.db", write=True) as store,
    ):
        store.add_samples(samples)
        store.start()
        lane = engine.Lane(
            model="bench",
            pool=Pool([planned()]),
            client=Client(base_url=url),
            flow=Flow(max_in_flight=in_flight),
        )
        engine.run([lane], store.save, engine.Progress(), lambda _: None)
        store.flush()
        (row,) = store.query("SELECT count(*) AS n FROM responses")
        assert row["n"] == requests * n, (row, lane.fault)


ROWS = {
    "memoprobe, stored": ours,
    "same SDK and transport, nothing kept": loops.bare_sdk,
    "aiohttp alone, nothing kept": loops.bare_aiohttp,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--in-flight", type=int, default=256)
    parser.add_argument("--peer", action="store_true", help="install lm-eval and ask by it too")
    parser.add_argument("--peer-python", help="a Python that has lm-eval[api] already")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        for module in ("engine", "plan", "store", "endpoints.client", "endpoints.pool"):
            importlib.import_module(f"memoprobe.{module}")  # no row's time is that of imports
        act = ROWS[options.row]
        result = loops.measure(
            options.row,
            options.requests * N,
            lambda: act(options.url, options.requests, N, options.in_flight),
        )
        print(result.row())
        return
    with server() as url:
        for row in ROWS:
            command = [sys.executable, "-m", "bench.throughput", "--row", row, "--url", url]
            command += ["--requests", str(options.requests)]
            command += ["--in-flight", str(options.in_flight)]
            subprocess.run(command, check=True, cwd=HERE.parent)
        if options.peer or options.peer_python:
            ask_by_peer(options.peer_python, url, options)


def ask_by_peer(python: str | None, url: str, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if python is None:
            python = f"{folder}/bin/python"
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", "lm-eval[api]"], check=True)
        command = [python, "-m", "bench.peer", "--url", url, "--requests", str(options.requests)]
        command += ["--in-flight", str(options.in_flight)]
        subprocess.run(command, check=True, cwd=HERE.parent)


if __name__ == "__main__":
    main()
