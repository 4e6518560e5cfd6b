"""Run a model's test on the program it tests, and measure what of the program it reaches."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from memoprobe.sandbox.inside import trial
from memoprobe.sandbox.inside.candidate import answer, load, silence_input
from memoprobe.sandbox.inside.confine import confine
from memoprobe.sandbox.inside.report import UP, Records, tell

_FILE = "candidate.py"
_REPORT = "coverage.json"


Job = Mapping[str, Any]


def main(job: Job) -> None:
    """Confine this process, load the program and run its test; this never returns."""
    confine(job["limits"])
    records = Records(job["records"], job["secret"])
    silence_input()
    tell(job, UP)
    sys.path.extend(job["path"])
    import coverage

    Path(_FILE).write_text(job["code"], encoding="utf-8")
    measure = coverage.Coverage(data_file=None, branch=True, include=[_FILE], config_file=False)
    measure.start()
    # By its path, for that is what a report can name.
    program = load({**job, "path": [], "file": str(Path(_FILE).resolve())}, records)
    if program is not None:
        run(program, job, records)
        measure.stop()
        measure.json_report(outfile=_REPORT)
        records("coverage", *reached(Path(_REPORT)))
    os._exit(0)


def run(program: ModuleType, job: Job, records: Callable[..., None]) -> None:
    """Make the calls of the test, or run it beside the program where it is more than calls."""
    if "calls" in job:
        answer(program, job, records)
        return
    for name in job["aliases"]:
        sys.modules[name] = program
    namespace: dict[str, Any] = dict(vars(program))
    for outcome in trial.run(trial.steps_of(job["tests"], None, namespace)):
        records("test", *outcome)
    records("end", job["end"])


def reached(report: Path) -> tuple[list[int], list[int], int, int]:
    """Return the lines run and missed, and the numbers of branches taken and missed."""
    (found,) = json.loads(report.read_text(encoding="utf-8"))["files"].values()
    return (
        found["executed_lines"],
        found["missing_lines"],
        len(found["executed_branches"]),
        len(found["missing_branches"]),
    )
