"""Facts about the benchmarks of code summarization; made-up rows are made for the test."""

import gzip
import json

import pyarrow
import pytest
from pyarrow import parquet

from memoprobe import benchmarks, prompts
from memoprobe.benchmarks import sources
from memoprobe.benchmarks.code_summarization import first_paragraph
from memoprobe.benchmarks.files import Copy
from memoprobe.errors import BenchmarkError
from tests.local import SHARED, needs_shared

HUB_NAMES = {
    "repo": "repository_name",
    "path": "func_path_in_repository",
    "func_name": "func_name",
    "original_string": "whole_func_string",
    "language": "language",
    "code": "func_code_string",
    "code_tokens": "func_code_tokens",
    "docstring": "func_documentation_string",
    "docstring_tokens": "func_documentation_tokens",
    "partition": "split_name",
    "url": "func_code_url",
}


def rows_of(name, path):
    return list(benchmarks.find(name).read(Copy(path, "the test's copy")))


def samples_of(name, path, **options):
    """Return what ``load`` would of a copy at ``path``."""
    benchmark = benchmarks.find(name)
    options = sources.complete(benchmark, options)
    return sources.collect(benchmark.sample(row, options) for row in rows_of(name, path))


def made(**changes):
    """Return a made-up row under the raw keys."""
    row = {
        "repo": "made/up",
        "path": "a.py",
        "func_name": "A.add",
        "original_string": "",
        "language": "python",
        "code": 'def add(a, b):\n        """Add.\n\n        :param a: one\n        """\n'
        "        # The sum.\n        return a + b\n",
        "code_tokens": ["def"],
        "docstring": "Add two\n        numbers.\n\n        :param a: one",
        "docstring_tokens": ["Add"],
        "sha": "1",
        "url": "https://github.com/made/up/blob/1/a.py#L1-L7",
        "partition": "test",
    }
    return row | changes


def write_raw(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def write_hub(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    renamed = [{new: row[old] for old, new in HUB_NAMES.items() if old in row} for row in rows]
    parquet.write_table(pyarrow.Table.from_pylist(renamed), path)


@needs_shared
@pytest.mark.parametrize(
    ("language", "split", "used", "undocumented"),
    [
        ("java+javascript+python", "test", 9, 0),
        ("go", "test", 3, 0),
        ("java", "train", 3, 0),
        ("php", "test", 3, 0),
        ("php", "train", 0, 3),
        ("ruby", "train", 3, 0),
        ("javascript", "train", 3, 0),
    ],
)
def test_counts_of_the_real_rows(language, split, used, undocumented):
    """All 36 rows are used or skipped for a reason; three of PHP's have tags alone."""
    folder = SHARED / "data/codesearchnet"
    loaded = samples_of("codesearchnet", folder, language=language, split=split)

    assert len(rows_of("codesearchnet", folder)) == 36
    assert len(loaded.samples) == used
    assert loaded.skipped.get("no documentation in prose", 0) == undocumented
    assert used + sum(loaded.skipped.values()) == 36


@needs_shared
def test_real_functions_of_codesearchnet():
    """The docstring is in the reference and not in the input."""
    loaded = samples_of("codesearchnet", SHARED / "data/codesearchnet")
    by_id = {sample.sample_id: sample for sample in loaded.samples}
    sample = by_id[
        "soimort/you-get/blob/b746ac01c9f39de94cac2d56f665285b0523b974/src/you_get/extractors"
        "/miomio.py#L41-L51"
    ]

    assert sample.text == (
        "def sina_xml_to_url_list(xml_data):\n    rawurl = []\n"
        "    dom = parseString(xml_data)\n    for node in dom.getElementsByTagName('durl'):\n"
        "        url = node.getElementsByTagName('url')[0]\n"
        "        rawurl.append(url.childNodes[0].data)\n    return rawurl"
    )
    assert sample.reference == "str->list Convert XML to URL List. From Biligrab."
    assert (sample.language, sample.cluster) == ("python", "soimort/you-get")
    assert (sample.context, sample.tests, sample.entry_point) == ("", None, None)
    references = {each.reference for each in loaded.samples}
    assert "Makes sure the fast-path emits in order." in references


def test_codesearchnet_in_its_layouts(tmp_path):
    """The original's lines and the hub's columns give the same samples."""
    java = made(language="java", code="int f() {\n  return 1; // one\n}", docstring="One.\n@return")
    rows = [made(), java | {"url": "https://github.com/made/up/blob/1/A.java#L1"}]
    write_raw(tmp_path / "raw/python/final/jsonl/test/python_test_0.jsonl.gz", rows[:1])
    write_raw(tmp_path / "raw/java/final/jsonl/test/java_test_0.jsonl.gz", rows[1:])
    write_hub(tmp_path / "hub/python/test-00000-of-00001.parquet", rows[:1])
    write_hub(tmp_path / "hub/java/test-00000-of-00001.parquet", rows[1:])
    loaded = [samples_of("codesearchnet", tmp_path / name) for name in ("raw", "hub")]

    assert loaded[0] == loaded[1]
    texts = {sample.text: sample.reference for sample in loaded[0].samples}
    assert texts == {
        "def add(a, b):\n        return a + b": "Add two numbers.",
        "int f() {\n  return 1;\n}": "One.",
    }
    (whole,) = samples_of(
        "codesearchnet", tmp_path / "hub", language="python", documentation="whole"
    ).samples
    assert whole.reference == made()["docstring"]


def test_a_split_is_named_by_the_row_or_its_file(tmp_path):
    """The original says valid where the hub says validation, and some copies say it nowhere."""
    rows = [made(partition=None), made(partition=None, url="")]
    write_hub(tmp_path / "python/train-00000-of-00002.parquet", rows[:1])
    write_hub(tmp_path / "python/validation-00000-of-00001.parquet", rows[1:])
    write_hub(tmp_path / "python/test/0000.parquet", [made(partition="valid", url="u")])

    found = [row["split"] for row in rows_of("codesearchnet", tmp_path)]
    (sample, other) = samples_of("codesearchnet", tmp_path, split="validation").samples

    assert sorted(found) == ["train", "validation", "validation"]
    assert {sample.sample_id, other.sample_id} == {"u", "made/up/a.py/A.add"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"docstring": " \n"}, "no documentation in prose"),
        ({"docstring": ":param a: one"}, "no documentation in prose"),
        ({"code": ""}, "no code"),
        ({"code": "a = 1\n" * 4_000}, "longer than 20,000 characters"),
        ({"partition": "train"}, "of the train split"),
        ({"language": "ruby"}, "not in java"),
    ],
)
def test_a_row_that_cannot_be_used(changes, reason):
    """It is skipped for a reason, and never raises."""
    benchmark = benchmarks.find("codesearchnet")
    raw = made(**changes)
    names = {
        "repository": "repo",
        "name": "func_name",
        "documentation": "docstring",
        "split": "partition",
    }
    row = {key: raw[names.get(key, key)] for key in ("path", "code", "language", "url", *names)}

    assert benchmark.sample(row, sources.complete(benchmark, {})).reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "language", "paragraph"),
    [
        ("One\n  and two.\n\nThree.", "python", "One and two."),
        ("Emits.\n@param a one", "java", "Emits."),
        ("Emits one\nor two.\n<p>\nMore.", "java", "Emits one or two."),
        ("<p>Emits {@code x} by a@b.c.</p> More.", "java", "Emits {@code x} by a@b.c."),
        ("Adds.\n:param int a: one", "python", "Adds."),
        ("// Add adds.\n// It does.\n//\n// More.", "go", "Add adds. It does."),
        ("# Adds.\n# @return [Integer]", "ruby", "Adds."),
        ("@inheritdoc", "php", ""),
        ("", "php", ""),
    ],
)
def test_first_paragraph(text, language, paragraph):
    """It ends at a blank line, a tag or a break, and stands on one line."""
    assert first_paragraph(text, language) == paragraph


TOKENS = "public int add ( int a ) { print ( _STR ) ; return a ; }"
RAW = 'public int add(int a) {\n  // Done.\n  print("x");\n  return a;\n}'


def tlcodesum(folder, *, split="valid", nl="7\tadds one .\n8\tnothing .\n", raw=None):
    """Write token files of two methods, and perhaps a raw file beside them."""
    place = folder / "data" / split
    place.mkdir(parents=True)
    (place / f"{split}.token.code").write_text(f"7\t{TOKENS}\n8\tvoid nothing ( ) {{ }}\n")
    (place / f"{split}.token.nl").write_text(nl)
    (place / f"{split}.token.api").write_text("7\tOut.print\n8\t\n")
    if raw is not None:
        lines = [json.dumps({"id": number, "code": code}) for number, code in raw]
        (place / f"{split}.json").write_text("\n".join(lines))
    return folder


@needs_shared
def test_real_rows_of_tlcodesum():
    """A hundred lines of tokens and two hundred of the artifact's samples."""
    folder = SHARED / "data/tl_codesum"
    every = samples_of("tlcodesum", folder)
    tokens = samples_of("tlcodesum", folder, split="validation")
    by_id = {sample.sample_id: sample for sample in every.samples}

    assert (len(rows_of("tlcodesum", folder)), len(every.samples)) == (300, 300)
    assert (len(tokens.samples), tokens.skipped) == (100, {"of the artifact split": 200})
    assert by_id["validation/77768"].text == "public void onStart ( ) { }"
    assert by_id["validation/77768"].reference == (
        "fired when the request is started , override to handle in your own code"
    )
    raw = by_id["artifact/25"]
    assert raw.text == (
        "private void registerEnd(final String prefixSingular,final String prefixPlural,"
        "final String endString){\n"
        "  prefixEndList.add(new PrefixEntry(endString,prefixSingular,prefixPlural));\n"
        "  registerPrefix(prefixSingular,prefixPlural);\n}"
    )
    assert raw.reference.startswith("Define the singular and plural prefix strings for an item")
    assert all(prompts.fill(each, each.text, "chat") for each in every.samples)


def test_the_raw_method_comes_before_its_tokens(tmp_path):
    """Where a raw file lies beside, its method is shown, without comments."""
    with_raw = tlcodesum(tmp_path / "a", raw=[(7, RAW), (8, "void other() {}")])
    row, other = rows_of("tlcodesum", with_raw)

    assert (row["api"], row["code"], row["raw"]) == ("Out.print", TOKENS, RAW)
    assert other["raw"] is None  # another method under this number: its words are not there
    first = {each.sample_id: each.text for each in samples_of("tlcodesum", with_raw).samples}
    assert first["validation/7"] == 'public int add(int a) {\n  print("x");\n  return a;\n}'
    plain = tlcodesum(tmp_path / "b")
    texts = {each.sample_id: each.text for each in samples_of("tlcodesum", plain).samples}
    assert texts == {"validation/7": TOKENS, "validation/8": "void nothing ( ) { }"}


@pytest.mark.parametrize(
    ("nl", "words"),
    [("7\tadds one .\n", "not as many lines"), ("7\tadds .\n9\tother .\n", "number 8, but")],
    ids=["short", "shifted"],
)
def test_token_files_that_do_not_belong_together(tmp_path, nl, words):
    """Line i of the three files is one method, and its number says so."""
    with pytest.raises(BenchmarkError, match=words):
        rows_of("tlcodesum", tlcodesum(tmp_path, nl=nl))


def test_rows_of_tlcodesum_that_cannot_be_used(tmp_path):
    """No comment, no code, another split or too long: counted."""
    benchmark = benchmarks.find("tlcodesum")
    row = {"split": "test", "number": "1", "code": "int a ;", "raw": None, "nl": "one", "api": ""}
    cases = [({"nl": " "}, "no comment"), ({"code": ""}, "no code"), ({"raw": "// x"}, "no code")]
    cases += [({"code": "a " * 11_000}, "longer than"), ({"split": "train"}, "of the train split")]

    for changes, reason in cases:
        assert benchmark.sample(row | changes, {"split": "test"}).reason.startswith(reason)
