"""Read benchmarks that show a function and ask what it does."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from memoprobe import languages
from memoprobe.benchmarks import files
from memoprobe.benchmarks.files import Copy, Row
from memoprobe.benchmarks.hub import Hub
from memoprobe.benchmarks.sources import Benchmark, Options, Skipped
from memoprobe.errors import BenchmarkError
from memoprobe.records import Sample

_CATEGORY = "code summarization"
STUDY = "java+javascript+python"
_LANGUAGES: Mapping[str, frozenset[str]] = MappingProxyType(
    {STUDY: frozenset({"java", "javascript", "python"})}
    | {name: frozenset({name}) for name in ("go", "java", "javascript", "php", "python", "ruby")}
)
_SPLITS = ("test", "train", "validation")
# Our key -> that of the hub's copy, that of the original and of CodeXGLUE.
_KEYS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "repository": ("repository_name", "repo"),
        "path": ("func_path_in_repository", "path"),
        "name": ("func_name", "func_name"),
        "code": ("func_code_string", "code"),
        "documentation": ("func_documentation_string", "docstring"),
        "language": ("language", "language"),
        "split": ("split_name", "partition"),
        "url": ("func_code_url", "url"),
    }
)
_MAX_CHARACTERS = 20_000  # about 6,000 tokens
_COMMENT_MARKS = re.compile(r"^[ \t]*(?://+!?|#+)[ ]?", re.MULTILINE)
_TAG = r"[ \t]*(?:[@\\]\w+\b|:\w+[^:\n]*:|\{@inheritDoc\})"
# What ends a paragraph: a blank line, a line that opens with a tag, HTML that breaks one.
_BREAK = re.compile(rf"\n[ \t]*\n|\n(?={_TAG})|</?(?:p|br|pre|ul|ol|table|div)\b[^>]*>", re.I)


def _read_codesearchnet(copy: Copy) -> Iterator[Row]:
    columns = [name for names in _KEYS.values() for name in names]
    for place, row in copy.rows("**/*.parquet", "**/*.jsonl.gz", "**/*.jsonl", columns=columns):
        is_hub = "func_code_string" in row
        names = {key: hub if is_hub else raw for key, (hub, raw) in _KEYS.items()}
        required = (names[key] for key in _KEYS if key != "split")
        files.require(row, dict.fromkeys(required, str), place)
        split = str(row.get(names["split"]) or _split(place))
        yield {key: row.get(name) for key, name in names.items()} | {"split": _split(split)}


def _split(text: str) -> str:
    """Return the split that a file's place or a row's own word names; the last one counts."""
    found = re.findall(r"(?<![a-z])(test|train|valid)(?:ation)?(?![a-z])", text.lower())
    return "validation" if found and found[-1] == "valid" else "".join(found[-1:]) or "test"


def codesearchnet_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a function of CodeSearchNet as a sample: its code without documentation.

    In Python that stands within the code. The reference is its first paragraph, or all of it.
    """
    if row["language"] not in _LANGUAGES[options["language"]]:
        return Skipped(f"not in {options['language']}")
    if row["split"] != options["split"]:
        return Skipped(f"of the {row['split']} split")
    reference = row["documentation"]
    if options["documentation"] == "paragraph":
        reference = first_paragraph(reference, row["language"])
    if not reference.strip():
        return Skipped("no documentation in prose")
    if len(row["code"]) > _MAX_CHARACTERS:
        return Skipped(f"longer than {_MAX_CHARACTERS:,} characters")
    code = languages.undocumented(row["code"].replace("\r\n", "\n"), row["language"])
    if not code.strip():
        return Skipped("no code")
    return Sample(
        benchmark="codesearchnet",
        sample_id=row["url"].removeprefix("https://github.com/")
        or f"{row['repository']}/{row['path']}/{row['name']}",
        task="code_summarization",
        language=row["language"],
        input_kind="code",
        text=code.strip("\n"),
        reference=reference.strip(),
        cluster=row["repository"],
    )


def first_paragraph(documentation: str, language: str) -> str:
    """Return the first paragraph of a documentation on one line, empty where tags alone stand.

    It ends at a blank line, a tag (``@param``, ``:param x:``) or HTML that breaks it. In Go and
    Ruby the lines may still have their comment marks.
    """
    text = _COMMENT_MARKS.sub("", documentation) if language in {"go", "ruby"} else documentation
    paragraphs = (re.sub(r"\s+", " ", part).strip() for part in _BREAK.split(text.strip()))
    first = next(filter(None, paragraphs), "")
    return "" if re.match(_TAG, first) else first


def _read_tlcodesum(copy: Copy) -> Iterator[Row]:
    """Yield the rows of each split's token files, and the artifact's samples as another split."""
    for path in copy.find("**/*"):
        if path.name.endswith(".token.code"):
            yield from _token_rows(copy, path)
        elif sample := re.fullmatch(r"sample_(\d+)\.json", path.name):
            row = files.parse_json(copy.text(path), str(path))
            files.require(row, {"text": str, "ref": str}, str(path))
            more = {"raw": row["text"], "nl": row["ref"], "api": ""}
            yield {"split": "artifact", "number": sample[1], "code": row["text"], **more}


def _token_rows(copy: Copy, path: Path) -> Iterator[Row]:
    """Yield the lines of three files that belong together, with the raw method if it is there."""
    word = path.name.removesuffix(".token.code")
    raw = _raw_methods(copy, path.with_name(f"{word}.json"))
    names = [path, path.with_suffix(".nl"), path.with_suffix(".api")]
    try:
        for triple in zip(*map(copy.lines, names), strict=True):
            numbers, texts = zip(*(line.partition("\t")[::2] for _, line in triple), strict=True)
            if len(set(numbers)) > 1:
                msg = f"{triple[0][0]}: number {numbers[0]}, but {numbers[1:]} in the others"
                raise BenchmarkError(msg)
            method = raw.get(numbers[0], "")
            yield {
                "split": _split(word),
                "number": numbers[0],
                **dict(zip(("code", "nl", "api"), texts, strict=True)),
                "raw": method if _words(texts[0]) <= _words(method) else None,
            }
    except ValueError as error:
        msg = f"{path}: not as many lines as {names[1].name} or {names[2].name} beside it"
        raise BenchmarkError(msg) from error


def _raw_methods(copy: Copy, path: Path) -> dict[str, str]:
    """Return the methods of a split by number, empty where its raw file is not there."""
    rows = copy.rows_of(path) if path.is_file() else ()
    return {str(row.get("id")): row["code"] for _, row in rows if isinstance(row.get("code"), str)}


def _words(code: str) -> set[str]:
    """Return the words of a method but the marks that stand for its literals, as _STR."""
    return set(re.findall(r"\b[^\W\d_]\w*", code))


def tlcodesum_sample(row: Row, options: Options) -> Sample | Skipped:
    """Return a row of TL-CodeSum as a sample: the raw method, else its tokens joined by blanks."""
    if options["split"] not in {"all", row["split"]}:
        return Skipped(f"of the {row['split']} split")
    if not row["nl"].strip():
        return Skipped("no comment")
    raw = row["raw"]
    code = languages.undocumented(raw.replace("\r\n", "\n"), "java") if raw else row["code"]
    if not code.strip():
        return Skipped("no code")
    if len(code) > _MAX_CHARACTERS:
        return Skipped(f"longer than {_MAX_CHARACTERS:,} characters")
    return Sample(
        benchmark="tlcodesum",
        sample_id=f"{row['split']}/{row['number']}",
        task="code_summarization",
        language="java",
        input_kind="code",
        text=code.strip("\n"),
        reference=row["nl"].strip(),
    )


def _parts(pattern: str) -> tuple[str, ...]:
    """Return a pattern for each language; they have a config each."""
    return tuple(pattern.format(name) for name in _LANGUAGES if name != STUDY)


CODESEARCHNET = Benchmark(
    name="codesearchnet",
    task="code_summarization",
    category=_CATEGORY,
    dataset="CodeSearchNet",
    languages=tuple(sorted(name for name in _LANGUAGES if name != STUDY)),
    perturbation="rename",
    reference="the first paragraph of the function's documentation",
    tests="",
    rows=55_568,
    characters=470,
    hub=Hub(
        id="code-search-net/code_search_net",
        files=(_parts("{}/test-*.parquet"), _parts("**/{}/test/*.parquet")),
        export=(_parts("{}/test/*.parquet"),),
        mirror=Hub(
            id="claudios/code_search_net",
            files=(_parts("{}/test-*.parquet"), _parts("**/{}/test*.parquet")),
            mirror=Hub(
                id="google/code_x_glue_ct_code_to_text",
                files=(_parts("{}/test-*.parquet"),),
            ),
        ),
    ),
    licence="of each function's own repository",
    source="https://github.com/github/CodeSearchNet",
    options={
        "language": tuple(_LANGUAGES),
        "split": _SPLITS,
        "documentation": ("paragraph", "whole"),
    },
    read=_read_codesearchnet,
    sample=codesearchnet_sample,
)

TLCODESUM = Benchmark(
    name="tlcodesum",
    task="code_summarization",
    category=_CATEGORY,
    dataset="TL-CodeSum",
    languages=("java",),
    perturbation="rename",
    reference="the method's comment",
    tests="",
    rows=87_136,
    characters=670,
    hub=None,
    licence="none stated",
    source="https://github.com/xing-hu/TL-CodeSum",
    options={"split": ("all", *_SPLITS, "artifact")},
    read=_read_tlcodesum,
    sample=tlcodesum_sample,
)
