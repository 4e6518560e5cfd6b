"""Kill a run twenty times at random moments against a server with faults; nothing may be lost.

10 % of requests get 429, 5 % 500, 2 % a dropped connection, 1 % a body that is no JSON. Run
as ``python -m bench.chaos``; it ends with an error where a slot is missing or doubled.
"""

import argparse
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from bench.scale import write_rows, write_study
from bench.throughput import HERE, server

SAMPLES = 37  # 37 samples x 6 levels x 9 answers = 1,998 answers
FAULTS = ("--busy", "0.1", "--broken", "0.05", "--dropped", "0.02", "--garbled", "0.01")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with (
        tempfile.TemporaryDirectory() as name,
        server("--latency", "0.3", "--count-slots", *FAULTS) as url,
    ):
        folder = Path(name)
        write_rows(folder / "rows.jsonl", SAMPLES)
        write_study(folder / "study.toml", url, 1, folder / "rows.jsonl")
        db = folder / "run.db"
        command = [sys.executable, "-m", "memoprobe", "run", str(folder / "study.toml")]
        command += ["--db", str(db), "--max-in-flight", "4"]
        for _ in range(options.kills):
            process = subprocess.Popen(command, cwd=HERE.parent, stdout=subprocess.DEVNULL)
            time.sleep(1.2 + 1.8 * rng.random())
            process.kill()
            process.wait()
        subprocess.run(command, cwd=HERE.parent, check=True, stdout=subprocess.DEVNULL)
        with urllib.request.urlopen(url.replace("/v1", "/counters")) as reply:
            counters = json.load(reply)
        connection = sqlite3.connect(db)
        (check,) = connection.execute("PRAGMA integrity_check").fetchone()
        answers, keys = connection.execute(
            "SELECT count(*), count(DISTINCT model || benchmark || sample_id || perturbation"
            " || level || '.' || repeat || '.' || answer) FROM responses"
        ).fetchone()
        connection.close()
    planned = SAMPLES * 6 * 9
    at_risk = options.kills * 4 * 9  # in flight at each kill, beside what 250 ms may hold
    print(f"planned {planned}, stored {answers}, slots {keys}, integrity {check}")
    print(f"server: {counters}")
    print(f"answered again after a kill: {counters['doubled']} (in flight at kills: {at_risk})")
    if not planned == answers == keys or check != "ok":
        sys.exit("a slot is missing or doubled")


if __name__ == "__main__":
    main()
