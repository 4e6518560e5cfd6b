"""Run tests in the program's own process, where no other way is open.

A program that sets out to can forge every outcome here, the secret included; verdicts of
this mode are labelled.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any

from memoprobe.sandbox.inside import trial
from memoprobe.sandbox.inside.candidate import load, silence_input
from memoprobe.sandbox.inside.confine import confine
from memoprobe.sandbox.inside.report import UP, Records, tell

Job = Mapping[str, Any]


def main(job: Job) -> None:
    """Confine this process, load the program and run its tests; this never returns."""
    confine(job["limits"])
    records = Records(job["records"], job["secret"])
    silence_input()
    tell(job, UP)
    program = load(job, records)
    if program is not None:
        tests = job["tests"]
        if tests["module"]:
            sys.modules[tests["module"]] = program
        namespace: dict[str, Any] = vars(program)
        candidate = namespace.get(tests["entry"])
        for outcome in trial.run(trial.steps_of(tests, candidate, namespace)):
            records("test", *outcome)
        records("end", job["end"])
    os._exit(0)
