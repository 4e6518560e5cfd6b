"""Share what tests of the sandbox need: programs, and whether a wall holds on this machine."""

import json
import shutil

import pytest

from memoprobe.errors import SandboxError
from memoprobe.sandbox import Limits, Program, find_wall

try:
    find_wall()
except SandboxError as error:
    NO_WALL = str(error)
else:
    NO_WALL = ""

needs_wall = pytest.mark.skipif(bool(NO_WALL), reason=NO_WALL or "a wall holds")
needs_java = pytest.mark.skipif(shutil.which("javac") is None, reason="there is no JDK here")

QUICK = Limits(wall_s=0.5)
CASES = [([1, 2, 3], 6), ([], 0), ([5, -5, 7], 7)]
CALLS = {"kind": "calls", "cases": [{"args": [xs], "expected": total} for xs, total in CASES]}
CHECK = {
    "kind": "check",
    "test": "METADATA = {}\n\ndef check(candidate):\n"
    + "".join(f"    assert candidate({xs}) == {total}\n" for xs, total in CASES),
}
UNITTEST = {
    "kind": "unittest",
    "test": "import unittest\nclass TestCases(unittest.TestCase):\n"
    + "".join(
        f"    def test_{number}(self):\n        self.assertEqual(total({xs}), {total})\n"
        for number, (xs, total) in enumerate(CASES)
    ),
}


def program(code, tests, **options):
    """Return a program whose function under test is ``total``."""
    return Program(code=code, tests=json.dumps(tests), **{"entry_point": "total", **options})
