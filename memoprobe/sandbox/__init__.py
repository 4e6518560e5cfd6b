"""Run untrusted programs behind a wall: one verdict each, which a program cannot forge.

``Program.tests`` is the JSON of ``Sample.tests`` (see benchmarks). Beyond the kinds described
there, these are known:

- ``check`` with ``setup``: code of the benchmark that the tests use beside the program;
- ``stdio`` cases with ``tolerance``: numbers may differ by it (absolute);
- ``unittest``: ``test``, code that defines TestCases; runs beside the program, ``shared``;
- ``generated``: ``test``, a model's test of ``Program.code``, and perhaps ``class``,
  ``target_lines`` and ``files`` that stand beside it; the verdict has coverage beside it;
- ``check``, ``asserts``, ``calls`` with ``entry_point`` instead of the program's.

Tests of the kind ``junit`` run beside the program, ``shared``.

A test passes when: calls answer what equals the expected value (tuples are lists, keys are
texts); a program prints the expected words, however they are spaced; an assert holds.
"""

from memoprobe.sandbox.batch import run, run_all
from memoprobe.sandbox.program import Kind, Limits, Mode, Program, Verdict
from memoprobe.sandbox.selftest import find_wall

__all__ = ["Kind", "Limits", "Mode", "Program", "Verdict", "find_wall", "run", "run_all"]
