"""Read XLCoST: descriptions of programs, with the programs as tokens on one line."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from memoprobe import languages
from memoprobe.benchmarks import files
from memoprobe.benchmarks.code_generation_tokens import detokenized
from memoprobe.benchmarks.files import Copy, Row
from memoprobe.benchmarks.hub import Hub
from memoprobe.benchmarks.sources import Benchmark, Options, Skipped
from memoprobe.errors import BenchmarkError
from memoprobe.records import TEXT_SLOT, Sample

_NAMES = {  # in the names of its folders and files -> ours
    "Python": "python",
    "Java": "java",
    "C++": "cpp",
    "C": "c",
    "Csharp": "csharp",
    "C#": "csharp",
    "Javascript": "javascript",
    "PHP": "php",
}
_LANGUAGES = tuple(dict.fromkeys(_NAMES.values()))
_SPLITS = {"train": "train", "test": "test", "valid": "validation", "val": "validation"}
_PARALLEL = re.compile(r"(train|test|val)-([^-]+)-desc-tok\.txt")
_HUB = re.compile(r"([^/]+)-program-level/.*?(train|test|valid)")


def _read_xlcost(copy: Copy) -> Iterator[Row]:
    """Yield the program-level rows of the zip's parallel files, or of the hub's files."""
    parallel = sorted(copy.root.glob("**/*-desc/*-desc-tok.txt"))
    for path in parallel:
        found = _PARALLEL.fullmatch(path.name)
        if found and found[2] in _NAMES:
            for text, code in _parallel(path, copy):
                yield _row(found[2], found[1], text, code)
    hub = "**/*-program-level/*.json*", "**/*-program-level/**/*.parquet"
    for path in [] if parallel else copy.find(*hub):
        found = _HUB.search(path.absolute().as_posix())
        if found is None or found[1] not in _NAMES:
            msg = f"{path}: no file such as Python-program-level/train.json; give its folder"
            raise BenchmarkError(msg)
        for place, row in copy.rows_of(path, ("text", "code")):
            files.require(row, {"text": str, "code": str}, place)
            yield _row(found[1], found[2], row["text"], row["code"])


def _parallel(path: Path, copy: Copy) -> Iterator[tuple[str, str]]:
    """Return the lines of a file of descriptions with those of the code file beside it.

    Raises:
        BenchmarkError: There is no such file, or it has another number of lines.
    """
    codes = [each for each in path.parent.glob(f"{path.stem}.*") if each.suffix != ".txt"]
    if len(codes) != 1:
        msg = f"{path}: expected one file of code beside it, found {len(codes)}"
        raise BenchmarkError(msg)
    texts, lines = (copy.text(each).removesuffix("\n").split("\n") for each in (path, codes[0]))
    if len(texts) != len(lines):
        msg = f"{codes[0]}: {len(lines)} lines, but {len(texts)} descriptions in {path.name}"
        raise BenchmarkError(msg)
    return zip(texts, lines, strict=True)


def _row(name: str, split: str, text: str, code: str) -> Row:
    return {
        "language": _NAMES[name],
        "split": _SPLITS[split],
        "text": text.strip(),
        "code": code.strip(),
    }


def xlcost_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a row of XLCoST as a sample; its id is a hash, for the hub's rows have no number.

    The description is text; the comments behind it are context, text as well, or left out.
    """
    for option in ("language", "split"):
        if options[option] != row[option]:
            return Skipped(f"of the {option} {row[option]}")
    description, bar, comments = (part.strip() for part in row["text"].partition("|"))
    reference = languages.tidy(detokenized(row["code"], row["language"]))
    if not description or not reference:
        return Skipped("no description or no code")
    digest = hashlib.sha256(f"{row['text']}\n{row['code']}".encode()).hexdigest()
    wanted = options["comments"] if bar and comments else "drop"
    return Sample(
        benchmark="xlcost",
        sample_id=f"{row['language']}/{digest[:16]}",
        task="code_generation",
        language=row["language"],
        input_kind="prose",
        text=row["text"] if wanted == "perturb" else description,
        context=f"{TEXT_SLOT} | {comments}" if wanted == "keep" else "",
        reference=reference,
    )


XLCOST = Benchmark(
    name="xlcost",
    task="code_generation",
    category="code generation",
    dataset="XLCoST",
    languages=_LANGUAGES,
    perturbation="lexical",
    reference="the code, de-tokenised",
    tests="",
    rows=9263,
    characters=600,
    hub=Hub(
        id="codeparrot/xlcost-text-to-code",
        files=(("data/*-program-level/*.json",),),
        export=(("*-program-level/*/*.parquet",),),
    ),
    licence="Apache-2.0",
    source="https://github.com/reddy-lab-code-research/XLCoST",
    options={
        "language": _LANGUAGES,
        "split": ("train", "test", "validation"),  # train as the study
        "comments": ("keep", "perturb", "drop"),
    },
    read=_read_xlcost,
    sample=xlcost_sample,
)
