"""Hold the registered benchmarks by name; each reads a row into a Sample.

``Sample.tests`` is a JSON object; its ``kind`` says what else it holds:

- ``check``: ``test``, Python that defines ``check(candidate)``; ``entry_point``;
- ``asserts``: ``asserts``, a list of statements; ``setup``, code that runs before them, and
  perhaps ``module``, the name by which it imports the answer;
- ``calls``: ``cases``, each with ``args`` and ``expected``, equal as JSON values, and perhaps
  ``tolerance`` (absolute), ``timeout_s`` and ``slow`` (takes minutes); ``listed``, whether
  the result is a generator to be listed first; ``setup``, imports that stand before the answer;
  ``unwrap``, whether the one element of an expected list will do for the list;
- ``stdio``: ``cases``, each with ``stdin`` and ``stdout``, and perhaps ``timeout_s``;
- ``pytest``: ``files``, their content by name; ``module``, the file the answer goes into;
- ``junit``: the same for Java, whose tests need JUnit;
- ``named``: ``tests``, names of tests that only the data set's own tools can run; ``text``, which
  part of the program the sample's text is: ``methods`` or ``hunks``;
- ``generated``: the answer is a test, to be run against the program that is the sample's text;
  ``target_lines``, those of its lines to be covered, if any are named.

``class``, in any of them, names the class that the function under test is a method of; in Java
it is static. The result of a Java call with ``formatted`` is compared as QuixBugs prints it: as
text without blanks and quotes, with brackets for parentheses and without ``.0``.
"""

from difflib import get_close_matches

from memoprobe.benchmarks import (
    code_generation,
    code_generation_contests,
    code_generation_lbpp,
    code_generation_xlcost,
    code_summarization,
    program_repair,
    quixbugs,
    test_generation,
    vulnerability_detection,
    vulnerability_detection_cvefixes,
    vulnerability_detection_questions,
)
from memoprobe.benchmarks.own import load as load_own
from memoprobe.benchmarks.sources import (
    Benchmark,
    Fetched,
    Loaded,
    Selection,
    complete,
    fetch,
    is_available,
    load,
    origin,
)
from memoprobe.errors import BenchmarkError

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Fetched",
    "Loaded",
    "Selection",
    "complete",
    "fetch",
    "find",
    "is_available",
    "load",
    "load_own",
    "origin",
]

BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        code_generation.HUMANEVAL,
        code_generation_contests.APPS,
        code_generation.MBPP,
        code_generation_lbpp.LBPP,
        code_generation_contests.CODECONTESTS,
        code_generation_xlcost.XLCOST,
        quixbugs.REPAIR,
        program_repair.DEFECTS4J,
        program_repair.CONDEFECTS,
        test_generation.BIGCODEBENCH,
        test_generation.TESTEVAL,
        quixbugs.TESTS,
        vulnerability_detection_cvefixes.CVEFIXES,
        vulnerability_detection_questions.VULDETECTBENCH,
        vulnerability_detection.VULNPATCHPAIRS,
        vulnerability_detection.DEVIGN,
        vulnerability_detection.REVEAL,
        vulnerability_detection.DIVERSEVUL,
        code_summarization.CODESEARCHNET,
        code_summarization.TLCODESUM,
    )
}


def find(name: str) -> Benchmark:
    """Return the registered benchmark of that name.

    Raises:
        BenchmarkError: There is none; the message gives the nearest.
    """
    if name in BENCHMARKS:
        return BENCHMARKS[name]
    near = get_close_matches(name, BENCHMARKS, n=1, cutoff=0)[0]
    msg = f"unknown benchmark {name!r}; nearest: {near!r}; known: {', '.join(BENCHMARKS)}"
    raise BenchmarkError(msg)
