"""Facts about lexing all code of the development data, file by file and row by row."""

import gzip
import json
import re
from functools import cache

import pytest

from memoprobe import languages
from tests.local import SHARED, needs_shared

DATA = SHARED / "data"
LAYOUT = {"<indent>", "<dedent>", "pass"}


def rows(pattern):
    for path in sorted(DATA.glob(pattern)):
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        yield from json.loads(text) if text[0] == "[" else map(json.loads, text.splitlines())


def files(pattern):
    return [path.read_text() for path in sorted(DATA.glob(pattern))]


def column(pattern, *names):
    return ["".join(row[name] for name in names) for row in rows(pattern)]


def methods():
    (lines,) = files("tl_codesum/data/valid/valid.token.code")
    return [line.split("\t")[1] for line in lines.splitlines()]


def published(language):
    return column(f"codesearchnet/{language}/**/*.jsonl.gz", "original_string")


def solutions():
    return [code for text in files("apps/**/solutions.json") for code in json.loads(text)]


# Language, code, and how much of it parses: macros, cuts and split tokens are why not all does.
CORPORA = {
    "apps": ("python", solutions, 1),
    "bigcodebench": (
        "python",
        lambda: column("bigcodebench/*.gz", "complete_prompt", "canonical_solution"),
        1,
    ),
    "bigcodebench tests": ("python", lambda: column("bigcodebench/*.gz", "test"), 1),
    "codesearchnet go": ("go", lambda: published("go"), 1),
    "codesearchnet java": ("java", lambda: published("java"), 1),
    "codesearchnet javascript": ("javascript", lambda: published("javascript"), 1),
    "codesearchnet php": ("php", lambda: published("php"), 1),
    "codesearchnet python": ("python", lambda: published("python"), 1),
    "codesearchnet ruby": ("ruby", lambda: published("ruby"), 1),
    "condefects java": ("java", lambda: files("condefects/**/*.java"), 1),
    "condefects python": ("python", lambda: files("condefects/**/*.py"), 1),
    "cvefixes": ("c", lambda: column("cvefixes/*.json", "input"), 0.82),
    "devign": ("c", lambda: column("devign/test.jsonl", "func"), 0.84),
    "diversevul": ("c", lambda: column("diversevul/*.json", "input"), 0.87),
    "humaneval": ("python", lambda: column("humaneval/*.gz", "prompt", "canonical_solution"), 1),
    "mbpp": ("python", lambda: column("mbpp/*.jsonl", "code"), 1),
    "quixbugs java": ("java", lambda: files("quixbugs/**/*.java"), 1),
    "quixbugs python": ("python", lambda: files("quixbugs/**/*.py"), 1),
    "reveal": ("c", lambda: column("reveal/*.json", "input"), 0.75),
    "testeval": ("python", lambda: column("testeval/data/leetcode-py.jsonl", "python_solution"), 1),
    "tlcodesum": ("java", lambda: column("tl_codesum/artifact/*/*.json", "text"), 1),
    "tlcodesum tokens": ("java", methods, 0.98),
    "vuldetectbench": ("cpp", lambda: column("vuldetectbench/**/*.jsonl", "code"), 0.88),
}
each_corpus = pytest.mark.parametrize("corpus", CORPORA)


@cache
def codes(corpus):
    """Return each code, and whether it parses."""
    language, read, _ = CORPORA[corpus]
    return [(code, languages.parses(code, language)) for code in dict.fromkeys(read())]


@needs_shared
@each_corpus
def test_how_much_parses(corpus):
    """Whole programs and methods do; of C, what no macro or cut keeps from it."""
    _, _, least = CORPORA[corpus]

    parsed = [parses for _, parses in codes(corpus)]
    assert sum(parsed) / len(parsed) >= least


@needs_shared
@each_corpus
def test_names_are_renamed_and_back(corpus):
    """Renaming every name there is maps the tokens one to one, and is undone to the byte."""
    language, _, _ = CORPORA[corpus]
    for code, parses in codes(corpus):
        names = dict.fromkeys(re.findall(r"[^\W\d]\w*", code))
        mapping = {name: f"zq{k}" for k, name in enumerate(names)}
        renamed = languages.rename_identifiers(code, language, mapping)

        back = {new: old for old, new in mapping.items()}
        if parses:
            found = "\n".join(languages.tokens(renamed, language))
            old = re.sub(r"\bzq\d+\b", lambda new, back=back: back[new[0]], found)
            assert old == "\n".join(languages.tokens(code, language))
            assert languages.rename_identifiers(renamed, language, back) == code


@needs_shared
@each_corpus
def test_comments_go_and_tokens_stay(corpus):
    """Code without comments has the same tokens, parses as before, and stays as it is."""
    language, _, _ = CORPORA[corpus]
    for code, parses in codes(corpus):
        bare = languages.undocumented(code, language)
        stripped = languages.strip_comments(code, language)

        assert tokens(bare, language) == tokens(code, language)
        assert languages.parses(bare, language) or not parses
        assert languages.strip_comments(stripped, language) == stripped


def tokens(code, language):
    """Return the tokens but those of layout, and ``pass``, which may stand for a docstring."""
    return [token for token in languages.tokens(code, language) if token not in LAYOUT]


@needs_shared
@pytest.mark.parametrize("corpus", ["tlcodesum", "cvefixes", "codesearchnet php"])
def test_a_method_is_a_piece_with_its_name(corpus):
    """A row that parses is one piece, which defines what it is named after."""
    language, _, _ = CORPORA[corpus]
    whole = [code for code, parses in codes(corpus) if parses]

    found = [languages.pieces(code, language) for code in whole]
    named = [piece.name for (piece, *_) in found if piece.name]
    assert len(named) == len(whole)
    assert sum(len(pieces) == 1 for pieces in found) / len(whole) > 0.97
