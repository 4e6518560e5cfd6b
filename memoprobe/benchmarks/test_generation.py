"""Read benchmarks that ask for a test of a program: BigCodeBench and TestEval.

The generated tests are run against the sample's own text, so that names that may be renamed
need not stand in its tests as well.
"""

import json
import re
from collections.abc import Iterator

from memoprobe import languages
from memoprobe.benchmarks import files
from memoprobe.benchmarks.files import Copy, Row
from memoprobe.benchmarks.hub import Hub
from memoprobe.benchmarks.sources import Benchmark, Options, Skipped
from memoprobe.records import Sample

_CATEGORY = "test generation"
_GENERATED = "the generated test is run against the program"
_VERSION = re.compile(r"v\d+\.\d+\.\d+(_hf)?")
_SIGNATURE = "You should write self-contained code"  # what follows repeats the program's head


def _read_bigcodebench(copy: Copy) -> Iterator[Row]:
    keys = "task_id", "code_prompt", "canonical_solution", "instruct_prompt", "test", "entry_point"
    patterns = "data/v*.parquet", "**/v*.parquet", "hf_data/BigCodeBench.jsonl*"
    for path in copy.find(*patterns, "BigCodeBench.jsonl*", "**/v*/*.parquet"):
        version = _VERSION.search(copy.name(path))
        for place, row in copy.rows_of(path, keys):
            files.require(row, dict.fromkeys(keys, str), place)
            yield {key: row[key] for key in keys} | {"version": version[0] if version else None}


def bigcodebench_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a row of BigCodeBench as a sample: its program, to be tested.

    Rows of the GitHub copy tell no version and are of any.
    """
    if row["version"] not in {options["version"], None}:
        return Skipped(f"not of version {options['version']}")
    program = languages.tidy(row["code_prompt"] + row["canonical_solution"])
    if '"""' in program or "'''" in program:
        program = languages.undocumented(program, "python")
    if not languages.parses(program, "python"):
        return Skipped("its program does not parse")
    return Sample(
        benchmark="bigcodebench",
        sample_id=row["task_id"],
        task="test_generation",
        language="python",
        input_kind="code",
        text=program,
        context=row["instruct_prompt"].partition(_SIGNATURE)[0].strip(),
        reference=languages.tidy(row["test"]),
        tests=json.dumps({"kind": "generated"}),
        entry_point=row["entry_point"],
    )


def _read_testeval(copy: Copy) -> Iterator[Row]:
    kinds = {"task_num": int, "func_name": str, "description": str, "python_solution": str}
    names = "leetcode-py-all.jsonl", "leetcode-py.jsonl"
    for place, row in copy.rows(*(f"data/{name}" for name in names), *names):
        files.require(row, kinds | {"target_lines": list, "difficulty": int}, place)
        yield {key: row[key] for key in (*kinds, "target_lines", "difficulty")}


def testeval_sample(row: Row, _: Options) -> Sample | Skipped:
    """Return a row of TestEval as a sample: its program line by line, to be tested.

    The target lines are numbers of lines of that very text. The tests name the class of
    the method, which is therefore not renamed.
    """
    program = row["python_solution"].replace("\r\n", "\n").rstrip()
    n_lines = program.count("\n") + 1
    if not languages.parses(program, "python"):
        return Skipped("its program does not parse")
    if not all(isinstance(line, int) and 1 <= line <= n_lines for line in row["target_lines"]):
        return Skipped("a target line is no line of its program")
    tests = {"kind": "generated", "class": "Solution", "target_lines": row["target_lines"]}
    return Sample(
        benchmark="testeval",
        sample_id=str(row["task_num"]),
        task="test_generation",
        language="python",
        input_kind="code",
        text=program,
        context=row["description"].strip(),
        tests=json.dumps(tests),
        entry_point=row["func_name"],
    )


BIGCODEBENCH = Benchmark(
    name="bigcodebench",
    task="test_generation",
    category=_CATEGORY,
    dataset="BigCodeBench",
    languages=("python",),
    perturbation="rename",
    reference="the test class of the row",
    tests=_GENERATED,
    rows=1140,
    characters=1400,
    hub=Hub(
        id="bigcode/bigcodebench",
        files=(("data/v*.parquet",),),
        export=(("*/v*/*.parquet",),),
    ),
    licence="Apache-2.0",
    source="https://github.com/bigcode-project/bigcodebench-annotation",
    options={"version": ("v0.1.0_hf", "v0.1.1", "v0.1.2", "v0.1.3", "v0.1.4")},
    read=_read_bigcodebench,
    sample=bigcodebench_sample,
)

TESTEVAL = Benchmark(
    name="testeval",
    task="test_generation",
    category=_CATEGORY,
    dataset="TestEval",
    languages=("python",),
    perturbation="rename",
    reference="",
    tests=f"{_GENERATED}, and covers its target lines",
    rows=210,
    characters=2050,
    hub=None,
    licence="MIT",
    source="https://github.com/LLM4SoftwareTesting/TestEval",
    read=_read_testeval,
    sample=testeval_sample,
)
