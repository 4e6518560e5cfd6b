"""Become another program behind the wall: a Java compiler, or a Java program's driver."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memoprobe.sandbox.inside.confine import confine
from memoprobe.sandbox.inside.report import UP, tell

Job = Mapping[str, Any]


def main(job: Job) -> None:
    """Confine this process and become ``job["command"]``.

    Its standard input and output are the socket, where one is given, or else the job's input
    and the records.
    """
    confine(job["limits"])
    tell(job, UP)
    write_files(job["files"])
    if "socket" in job:
        given = answers = job["socket"]
    else:
        given, answers = os.memfd_create("input"), job["records"]
        with os.fdopen(os.dup(given), "wb") as file:
            file.write(job["input"].replace("SECRET", job["secret"]).encode("utf-8"))
        os.lseek(given, 0, os.SEEK_SET)
    os.dup2(given, 0)
    os.dup2(answers, 1)
    os.execv(job["command"][0], job["command"])


def write_files(files: dict[str, bytes]) -> None:
    """Write files by their paths below the working folder."""
    for name, content in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
