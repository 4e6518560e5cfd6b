"""Write made-up copies of benchmarks in their own layouts, and read samples from a copy."""

import json
from collections import Counter

from memoprobe.benchmarks import files, sources

BUGGY = (
    'from a import b\n\ndef add(x, y):\n    """Gone."""\n    return x - y  # or +\n'
    '\n"""\nAdd x to y.\n"""\n'
)
JAVA = """package java_programs;
import java.util.*;
import java_programs.Node;
/**
 * Made up.
 */
public class ADD {
    public static int add(int x, int y) {
        return x - y; // + in the correct version
    }
}
"""
JUNIT = """package java_testcases.junit;
import java_programs.ADD;
public class ADD_TEST {
    @org.junit.Test
    public void test_0() {
        int result = java_programs.ADD.add(1, 2);
        String shown = java_testcases.junit.QuixFixOracleHelper.format(result, true);
        org.junit.Assert.assertEquals("3", shown);
    }
}
"""


def write_quixbugs(folder):
    """Write a clone of one program, two helpers and an old driver."""
    test = 'def test_add(input_data, expected):\n    """Doc."""\n'
    texts = {
        "python_programs/add.py": BUGGY,
        "python_programs/add_test.py": "print(1)",
        "python_programs/node.py": "class Node: pass",
        "correct_python_programs/add.py": BUGGY.replace("-", "+"),
        "python_testcases/test_add.py": f"{test}    assert add(*input_data) == expected\n",
        "python_testcases/node.py": "class Node: pass",
        "json_testcases/add.json": "[[1, 2], 3]\n\n[[2, 2], 4]\n",
        "java_programs/ADD.java": JAVA,
        "java_programs/Node.java": "class Node {}",
        "correct_java_programs/ADD.java": JAVA.replace("package ", "package correct_").replace(
            "x - y", "x + y"
        ),
        "java_testcases/junit/ADD_TEST.java": JUNIT,
        "conftest.py": "import pytest\n",
        "README.md": "read me",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def quixbugs_mirror():
    """Return the same program as the hub's mirror has it."""
    code, _, told = BUGGY.partition('\n"""')
    return {
        "name": "add",
        "buggy_program": code,
        "docstring": told,
        "solution": code.replace("-", "+"),
        "tests": "one = 1\nassert add(one,2)==3\nassert add(2, 2) == 4\n",
    }


def copied(folder, name, rows):
    """Write rows as JSON Lines."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(map(json.dumps, rows)))
    return folder / name


def write_parquet(path, rows):
    """Write rows as parquet."""
    import pyarrow
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def sampled(benchmark, path, **options):
    """Return the samples of a copy, its rows stored in between, and other rows by reason."""
    read = benchmark.read(files.Copy(path, benchmark.source))
    rows = json.loads(json.dumps(list(read)))
    options = sources.complete(benchmark, options)
    results = [benchmark.sample(row, options) for row in rows]
    skipped = Counter(r.reason for r in results if isinstance(r, sources.Skipped))
    return [r for r in results if not isinstance(r, sources.Skipped)], skipped
