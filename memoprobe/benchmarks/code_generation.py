"""Read benchmarks that ask in prose for a function."""

import json
from collections.abc import Iterator

from memoprobe import languages
from memoprobe.benchmarks import files
from memoprobe.benchmarks.files import Copy, Row
from memoprobe.benchmarks.hub import Hub
from memoprobe.benchmarks.sources import Benchmark, Options, Skipped
from memoprobe.records import TEXT_SLOT, Sample

_CATEGORY = "code generation"
_SPLITS = {  # of MBPP, by task_id; the study uses train
    "train": range(601, 975),
    "test": range(11, 511),
    "validation": range(511, 601),
    "prompt": range(1, 11),
}


def _read_humaneval(copy: Copy) -> Iterator[Row]:
    patterns = "HumanEval.jsonl*", "data/HumanEval.jsonl*", "**/test-*.parquet"
    keys = ("task_id", "prompt", "canonical_solution", "test", "entry_point")
    for place, row in copy.rows(*patterns, columns=keys):
        files.require(row, dict.fromkeys(keys, str), place)
        yield {key: row[key] for key in keys}


def humaneval_sample(row: Row, _: Options) -> Sample | Skipped:
    """Return a row of HumanEval as a sample.

    Its text is the docstring of the function under test, exactly as between the quotes;
    the rest of the prompt is context. The reference is that function without docstring.
    """
    prompt, entry = row["prompt"], row["entry_point"]
    span = languages.docstring(prompt, "python", entry)
    found = [piece for piece in languages.pieces(prompt, "python") if piece.name == entry]
    if span is None or not found:
        return Skipped("the function under test has no docstring")
    start, end = span
    first_line, rest = prompt.rfind("\n", 0, start) + 1, prompt.find("\n", end) + 1
    if first_line <= found[-1].start or not rest:
        return Skipped("the docstring shares its line with code")
    body = prompt[rest:] + row["canonical_solution"]
    tests = {"kind": "check", "test": row["test"], "entry_point": entry}
    if setup := prompt[: found[-1].start].strip():
        tests["setup"] = setup  # imports and helpers, which three of the tests use
    return Sample(
        benchmark="humaneval",
        sample_id=row["task_id"],
        task="code_generation",
        language="python",
        input_kind="prose",
        text=prompt[start:end],
        context=prompt[:start] + TEXT_SLOT + prompt[end:],
        reference=languages.tidy(prompt[found[-1].start : first_line] + body),
        tests=json.dumps(tests),
        entry_point=entry,
    )


def _read_mbpp(copy: Copy) -> Iterator[Row]:
    """Yield the rows of both versions, the full and the sanitized one, as far as they are there."""
    for place, row in copy.rows("*mbpp.json*", "mbpp/*mbpp.json*", "*/*.parquet"):
        yield _mbpp_row(row, place)


def _mbpp_row(row: Row, place: str) -> Row:
    is_full = "text" in row
    prose, setup = ("text", "test_setup_code") if is_full else ("prompt", "test_imports")
    kinds = {"task_id": int, prose: str, "code": str, setup: str if is_full else list}
    files.require(row, kinds | {"test_list": list}, place)
    for key in ("test_list",) if is_full else ("test_list", "test_imports"):
        for line in row[key]:
            files.require({key: line}, {key: str}, place)
    return {
        "version": "full" if is_full else "sanitized",
        "task_id": row["task_id"],
        "text": row[prose],
        "code": row["code"],
        "setup": row[setup] if is_full else "\n".join(row[setup]),
        "asserts": row["test_list"],
    }


def mbpp_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a row of MBPP, of either version and layout, as a sample.

    The first assert is context by default, for nothing else names the function.
    """
    split = next((name for name, ids in _SPLITS.items() if row["task_id"] in ids), "unknown")
    for option, value in (("version", row["version"]), ("split", split)):
        if options[option] != value:
            return Skipped(f"of the {option} {value}")
    code = languages.tidy(row["code"])
    names = {piece.name for piece in languages.pieces(code, "python")} - {None}
    called = [name for line in row["asserts"] for name in languages.tokens(line, "python")]
    entry = next((name for name in called if name in names), None)
    if entry is None:
        return Skipped("its tests call no function that its code defines")
    tests = {"kind": "asserts", "setup": row["setup"], "asserts": row["asserts"]}
    first = f"{TEXT_SLOT}\n\nYour code should pass this test:\n{row['asserts'][0]}"
    return Sample(
        benchmark="mbpp",
        sample_id=str(row["task_id"]),
        task="code_generation",
        language="python",
        input_kind="prose",
        text=row["text"].strip(),
        context=first if options["test"] == "first" else "",
        reference=code,
        tests=json.dumps(tests),
        entry_point=entry,
    )


HUMANEVAL = Benchmark(
    name="humaneval",
    task="code_generation",
    category=_CATEGORY,
    dataset="HumanEval",
    languages=("python",),
    perturbation="lexical",
    reference="the canonical solution with its signature",
    tests="a check function",
    rows=164,
    characters=550,
    hub=Hub(id="openai/openai_humaneval", files=(("openai_humaneval/test-*.parquet",),)),
    licence="MIT",
    source="https://github.com/openai/human-eval",
    read=_read_humaneval,
    sample=humaneval_sample,
)

MBPP = Benchmark(
    name="mbpp",
    task="code_generation",
    category=_CATEGORY,
    dataset="MBPP",
    languages=("python",),
    perturbation="lexical",
    reference="the code of the row",
    tests="assert statements",
    rows=374,
    characters=280,
    hub=Hub(
        id="google-research-datasets/mbpp",
        files=(("full/*.parquet", "sanitized/*.parquet"), ("full/*.parquet",)),
    ),
    licence="CC BY 4.0",
    source="https://github.com/google-research/google-research/tree/master/mbpp",
    options={
        "version": ("full", "sanitized"),
        "split": tuple(_SPLITS),
        "test": ("first", "none"),  # the assert in the prompt
    },
    read=_read_mbpp,
    sample=mbpp_sample,
)
