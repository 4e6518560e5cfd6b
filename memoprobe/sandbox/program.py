"""Hold what is run in the sandbox and what comes out; plain data that can be pickled."""

import hashlib
import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Literal

Kind = Literal[
    "passed",
    "failed",
    "error",
    "timeout",
    "memory",
    "output-limit",
    "crashed",
    "blocked",
    "incomplete",
    "unsupported",
    "infrastructure",
]
Mode = Literal["calls", "stdio", "split", "shared", "bare"]

RULES = 2
"""Raised when the same program could get another verdict, so that cached ones are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Hold what one program may use; time and memory are of the whole program.

    Only in ``stdio`` the time is of each case. Memory and output are of each process and
    each file; the processes together may use twice the memory.
    """

    wall_s: float = 5.0
    cpu_s: int = 7
    memory_mib: int = 512
    output_kib: int = 1024
    scratch_mib: int = 32
    processes: int = 32  # and threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Hold one untrusted program and the tests it is to pass.

    ``tests`` is the JSON of ``Sample.tests``; where its kind is ``generated``, ``code`` is the
    program under test and the model's answer is the test.
    """

    language: str = "python"  # or java
    code: str
    tests: str
    entry_point: str | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def key(self) -> str:
        """Return a hash of all that can change the verdict."""
        parts = [
            RULES,
            self.language,
            self.code,
            self.tests,
            self.entry_point,
            asdict(self.limits),
            sys.version,
        ]
        return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Hold the outcome of one program.

    ``shared`` verdicts can be forged by a program that sets out to, and so can ``bare`` ones,
    which ran without a wall; ``infrastructure`` says nothing of the program.
    """

    kind: Kind
    mode: Mode
    n_passed: int = 0
    n_tests: int = 0
    detail: str = ""  # the first thing that went wrong, at most 300 printable characters
    seconds: float = 0.0
    lines: float | None = None  # of generated tests: share of lines covered, in [0, 1]
    branches: float | None = None  # share of branches covered; None without any
    target_lines: float | None = None  # share of the tests' target lines covered


def printable(text: str) -> str:
    """Return ``text`` on one line of at most 300 characters without control characters."""
    one_line = " ".join(text.split())[:300]
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in one_line)
