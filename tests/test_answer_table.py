"""Judge which answer is selected: one table, read by hand, and answers of a real model."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from memoprobe.answers import extract
from memoprobe.records import TEXT_SLOT, Sample, Variant

RIGHT = "def area(w, h):\n    return w * h"
DRAFT = "def area(w, h):\n    return w + h"
BUGGY = "def area(w, h):\n    return w * w"
USE = "print(area(2, 3))"
TEST = "def test_area():\n    assert area(2, 3) == 6"
SUITE = (
    "import unittest\n\nclass TestArea(unittest.TestCase):\n"
    "    def test_two(self):\n        self.assertEqual(area(1, 2), 2)"
)
METHOD = "class Solution:\n    def area(self, w, h):\n        return w * h"
HEAD = f'def area(w, h):\n    """{TEXT_SLOT}"""\n'
BODY = "    return w * h"
WITH_HEAD = f'def area(w, h):\n    """Say how large."""\n{BODY}'
DIFF = "```diff\n-    return w * w\n+    return w * h\n```"
JAVA = "public static int area(int w, int h) {\n    return w * h;\n}"
JAVA_CLASS = f"public class Area {{\n    {JAVA}\n}}".replace("\n    return", "\n        return")


def block(code, tag="python"):
    return f"```{tag}\n{code}\n```"


TASKS = {
    "generation": {
        "task": "code_generation", "input_kind": "prose", "text": "Say how large.",
        "context": HEAD,
    },
    "statement": {"task": "code_generation", "input_kind": "prose", "text": "Say how large."},
    "program": {
        "task": "code_generation", "input_kind": "prose", "text": "Print it.", "entry_point": None,
    },
    "repair": {"task": "program_repair", "text": BUGGY},
    "Java repair": {"task": "program_repair", "text": JAVA, "language": "java"},
    "test": {"task": "test_generation", "text": RIGHT},
    "flaw": {"task": "vulnerability_detection", "text": "x", "language": "c", "entry_point": None},
    "summary": {"task": "code_summarization", "text": RIGHT},
}  # fmt: skip


class Case(NamedTuple):
    """Hold what was asked, what came back, and which part of it is the answer, by which rule."""

    asked: str  # a key of TASKS
    text: str
    code: str
    rule: str
    interface: str = "chat"


CHAT = {
    # Which of several blocks.
    "one block": Case("repair", block(RIGHT), RIGHT, "fenced"),
    "draft, use, final": Case(
        "repair", f"{block(DRAFT)}\nWait.\n{block(USE)}\nSo:\n{block(RIGHT)}", RIGHT, "fenced"
    ),
    "final, then use": Case(
        "repair", f"{block(DRAFT)}\nBetter:\n{block(RIGHT)}\nUse:\n{block(USE)}", RIGHT, "fenced"
    ),
    "draft, final, use with bare fences": Case(
        "repair", f"{block(DRAFT, '')}\n{block(RIGHT, '')}\n{block(USE, '')}", RIGHT, "fenced"
    ),
    "final, then its output": Case(
        "repair", f"{block(RIGHT)}\nOutput:\n{block('6', 'text')}", RIGHT, "fenced"
    ),
    "installing, then final": Case(
        "statement", f"{block('pip install x', 'bash')}\n{block(RIGHT)}", RIGHT, "fenced"
    ),
    "two parts of one program": Case(
        "program", f"{block('x = 1')}\nand\n{block('print(x)')}", "print(x)", "last_fenced"
    ),
    "a program that defines, then its use": Case(
        "program", f"{block(RIGHT)}\nUse:\n{block(USE)}", RIGHT, "last_fenced"
    ),
    "program, then its input and output": Case(
        "program", f"{block('print(input())')}\nIn:\n{block('3', '')}\nOut:\n{block('3', '')}",
        "print(input())", "last_fenced",
    ),
    "the same with bare fences": Case(
        "program", f"{block('print(input())', '')}\nInput:\n{block('3', '')}", "print(input())",
        "last_fenced",
    ),
    "program, then a remark in a block": Case(
        "program", f"{block('print(input())')}\n{block('Time: O(n)', '')}", "print(input())",
        "last_fenced",
    ),
    "another function, then nothing": Case(
        "repair", block("def perimeter(w, h):\n    return 2 * (w + h)"),
        "def perimeter(w, h):\n    return 2 * (w + h)", "last_fenced",
    ),
    # Fences.
    "no tag": Case("repair", block(RIGHT, ""), RIGHT, "fenced"),
    "short tag": Case("repair", block(RIGHT, "py"), RIGHT, "fenced"),
    "tag of a version": Case("repair", block(RIGHT, "python3"), RIGHT, "fenced"),
    "tag in capitals": Case("repair", block(RIGHT, "PYTHON"), RIGHT, "fenced"),
    "tag and blank": Case("repair", block(RIGHT, " python "), RIGHT, "fenced"),
    "wrong tag": Case("repair", block(RIGHT, "javascript"), RIGHT, "fenced"),
    "first word is no tag": Case("repair", f"```{RIGHT}\n```", RIGHT, "fenced"),
    "import on the fence's line": Case(
        "repair", f"```import math\n{RIGHT}\n```", f"import math\n{RIGHT}", "fenced"
    ),
    "tag with attributes": Case(
        "repair", f'```python title="my area.py" {{1}}\n{RIGHT}\n```', RIGHT, "fenced"
    ),
    "tag and file": Case("repair", block(RIGHT, "python:src/area.py"), RIGHT, "fenced"),
    "tag in braces": Case("repair", block(RIGHT, "{.python .numberLines}"), RIGHT, "fenced"),
    "a name like a tag": Case(
        "program", block("text = input()\nprint(text)").replace("python\n", ""),
        "text = input()\nprint(text)", "last_fenced",
    ),
    "words before the fence": Case(
        "program", f"Here it is: {block('print(input())')}\nDone.", "print(input())", "last_fenced"
    ),
    "words before a fence in a docstring": Case(
        "repair", block(f'"""Use: ```python\nx\n```"""\n{RIGHT}'),
        f'"""Use: ```python\nx\n```"""\n{RIGHT}', "fenced",
    ),
    "end of the sequence": Case("repair", f"{block(RIGHT)}<|im_end|>", RIGHT, "fenced"),
    "end of the sequence after code": Case("repair", f"{RIGHT}</s>", RIGHT, "bare"),
    "tildes": Case("repair", f"~~~\n{RIGHT}\n~~~", RIGHT, "fenced"),
    "four ticks": Case("repair", f"````python\n{RIGHT}\n````", RIGHT, "fenced"),
    "never closed": Case("repair", f"Here:\n```python\n{RIGHT}", RIGHT, "unclosed"),
    "cut off inside": Case(
        "repair", "```python\ndef area(w, h):\n    return w *", "def area(w, h):\n    return w *",
        "unclosed",
    ),
    "the prompt opened it": Case("repair", f"{RIGHT}\n```\nThat is all.", RIGHT, "opened"),
    "the prompt opened it, draft first": Case(
        "repair", f"{DRAFT}\n```\nNo:\n{block(RIGHT)}", RIGHT, "fenced"
    ),
    "in a list": Case(
        "repair", "1. Multiply:\n   ```python\n   def area(w, h):\n       return w * h\n   ```",
        RIGHT, "fenced",
    ),
    "in a quote": Case(
        "repair", "> ```python\n> def area(w, h):\n>     return w * h\n> ```", RIGHT, "fenced"
    ),
    "Windows line ends": Case("repair", block(RIGHT).replace("\n", "\r\n"), RIGHT, "fenced"),
    # No fence.
    "code alone": Case("repair", RIGHT, RIGHT, "bare"),
    "prose around it": Case(
        "repair", f"Sure! The fix:\n\n{RIGHT}\n\nIt's correct now.", RIGHT, "bare"
    ),
    "prose alone": Case("repair", "I can't see a bug.", "I can't see a bug.", "whole"),
    "inline code": Case("repair", "Write `w * h`.", "Write `w * h`.", "whole"),
    "nothing": Case("repair", " \n", "", "none"),
    # Thinking.
    "after thoughts": Case(
        "repair", f"<think>{block(DRAFT)}</think>\n{block(RIGHT)}", RIGHT, "fenced"
    ),
    "thoughts that the prompt opened": Case(
        "repair", f"{block(DRAFT)}\n</think>\n{block(RIGHT)}", RIGHT, "fenced"
    ),
    "thoughts alone": Case("repair", f"<think>\n{block(DRAFT)}", "", "none"),
    # What belongs to the answer.
    "helper after it": Case(
        "repair", block("def area(w, h):\n    return times(w, h)\n\ndef times(a, b):\n    pass"),
        "def area(w, h):\n    return times(w, h)\ndef times(a, b):\n    pass", "fenced",
    ),
    "helper before it": Case(
        "repair", block(f"K = 1\n\ndef half(x):\n    return x / 2\n\n{RIGHT}"),
        f"K = 1\n\ndef half(x):\n    return x / 2\n\n{RIGHT}", "fenced",
    ),
    "tests and main after it": Case(
        "repair", block(f"{RIGHT}\n\n{TEST}\n\nif __name__ == '__main__':\n    {USE}"),
        RIGHT, "fenced",
    ),
    "defined twice": Case("repair", block(f"{DRAFT}\n\n{RIGHT}"), f"{DRAFT}\n\n{RIGHT}", "fenced"),
    "method of a class": Case("repair", block(METHOD), METHOD, "fenced"),
    "class, then its use": Case(
        "statement", block(f"{METHOD}\n\nprint(Solution().area(2, 3))"), METHOD, "fenced"
    ),
    "comments and docstring": Case(
        "repair", block(f"# Multiply.\n{RIGHT}  # not w * w"),
        f"# Multiply.\n{RIGHT}  # not w * w", "fenced",
    ),
    "broken code": Case("repair", block("def area(w, h)\nreturn w"), "def area(w, h)\nreturn w",
                        "fenced"),
    # Repair.
    "the bug shown after the fix": Case(
        "repair", f"{block(RIGHT)}\nThe original was:\n{block(BUGGY)}", RIGHT, "unechoed_fenced"
    ),
    "the bug shown before the fix": Case(
        "repair", f"The code:\n{block(BUGGY)}\nFixed:\n{block(RIGHT)}", RIGHT, "fenced"
    ),
    "only the bug again": Case("repair", block(BUGGY), BUGGY, "fenced"),
    "a diff alone": Case(
        "repair", DIFF, "-    return w * w\n+    return w * h", "last_fenced"
    ),
    "a diff, then the whole": Case("repair", f"{DIFF}\n{block(RIGHT)}", RIGHT, "fenced"),
    "the whole, then a diff": Case("repair", f"{block(RIGHT)}\n{DIFF}", RIGHT, "fenced"),
    "Java method": Case("Java repair", block(JAVA, "java"), JAVA, "fenced"),
    "Java class": Case("Java repair", block(JAVA_CLASS, "java"), JAVA_CLASS, "fenced"),
    # Generation under a given head.
    "whole function": Case("generation", block(WITH_HEAD), WITH_HEAD, "fenced"),
    "body alone": Case("generation", block(BODY), WITH_HEAD, "continued_last_fenced"),
    # Tests.
    "test function": Case("test", block(TEST), TEST, "last_fenced"),
    "test class": Case("test", block(SUITE), SUITE, "last_fenced"),
    "test in a block with the program": Case(
        "test", block(f"{RIGHT}\n\n{TEST}"), f"{RIGHT}\n\n{TEST}", "last_fenced"
    ),
    "program, then test": Case("test", f"{block(RIGHT)}\n{block(TEST)}", TEST, "last_fenced"),
    "bare asserts": Case(
        "test", f"{block(RIGHT)}\n{block('assert area(1, 2) == 2')}", "assert area(1, 2) == 2",
        "last_fenced",
    ),
    "test, then its output": Case(
        "test", f"{block(TEST)}\n{block('1 passed', '')}", TEST, "last_fenced"
    ),
    "test, then how to run it": Case(
        "test", f"{block(TEST)}\n{block('pytest -q', 'bash')}", TEST, "last_fenced"
    ),
    # Prose.
    "yes": Case("flaw", "YES", "YES", "text"),
    "verdict with reasons": Case(
        "flaw", " **Yes**, it is vulnerable (CWE-787).\n", "**Yes**, it is vulnerable (CWE-787).",
        "text",
    ),
    "verdict after thoughts": Case("flaw", "<think>Is it?</think>\n\nNo", "No", "text"),
    "summary": Case("summary", "Multiplies two numbers.\n", "Multiplies two numbers.", "text"),
    "summary with code": Case(
        "summary", f"Multiplies:\n{block(RIGHT)}", f"Multiplies:\n{block(RIGHT)}", "text"
    ),
}  # fmt: skip
COMPLETED = {
    "goes on": Case("generation", BODY, WITH_HEAD, "continued", "completions"),
    "goes on and on": Case(
        "generation", f"{BODY}\n\n{DRAFT}\n\n{USE}\n", WITH_HEAD, "continued", "completions"
    ),
    "goes on, then closes a fence": Case(
        "generation", f"{BODY}\n```\nThis multiplies.", WITH_HEAD, "continued", "completions"
    ),
    "repeats the head": Case("generation", WITH_HEAD, WITH_HEAD, "bare", "completions"),
    "starts over": Case("repair", f"{RIGHT}\n\n# Buggy\n{BUGGY}", RIGHT, "bare", "completions"),
    "fenced": Case("generation", block(RIGHT), RIGHT, "fenced", "completions"),
    "a summary that goes on": Case("summary", " Multiplies.", "Multiplies.", "text", "completions"),
}
CASES = CHAT | COMPLETED
REAL = [
    json.loads(line)
    for line in (Path(__file__).parent / "real_answers.jsonl").read_text("utf-8").splitlines()
]
"""Answers of Qwen2.5-Coder 0.5B under llama-server, with the lines that are the answer."""


def selected(fields, text, names=None, interface="chat"):
    defaults = {"benchmark": "b", "sample_id": "s", "language": "python", "input_kind": "code"}
    sample = Sample(**defaults | {"entry_point": "area"} | fields)
    place = {"benchmark": "b", "sample_id": "s", "perturbation": "p", "level": 1}
    variant = Variant(
        **place, text=sample.text, distance=0.1, edit_share=0.1, rename_map=names or {}
    )
    return extract(text, sample, variant, interface=interface)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_answer_is_selected_by_its_rule(case):
    """And nothing of it is changed but layout, or put in front but the prompt's own head."""
    found = selected(TASKS[case.asked], case.text, interface=case.interface)

    assert found == (case.code, case.rule)


@pytest.mark.parametrize("real", REAL, ids=[each["name"] for each in REAL])
def test_answers_of_a_real_model_are_selected(real):
    """Of each task; names that the prompt renamed are the original's again."""
    first, last = real["lines"]
    expected = "\n".join(line.rstrip() for line in real["text"].split("\n")[first - 1 : last])
    for old, new in real["names"].items():
        expected = re.sub(rf"\b{new}\b", old, expected)
    fields = {name: real[name] for name in ("task", "language", "entry_point")}

    found = selected(fields | {"text": "pass"}, real["text"], real["names"])

    assert found == (expected, real["rule"])


def test_the_table_is_large_enough():
    """At least 60 cases, of every task and both interfaces."""
    assert len(CASES) + len(REAL) >= 60
    assert {each["task"] for each in REAL} == {each["task"] for each in TASKS.values()}
