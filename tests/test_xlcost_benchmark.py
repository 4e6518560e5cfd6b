"""Facts about XLCoST and about writing its tokens as code again; rows are made up."""

import ast
import gzip
import io
import json
import re
import token
import tokenize
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe import benchmarks, languages
from memoprobe.benchmarks.code_generation_tokens import detokenized
from memoprobe.errors import BenchmarkError
from tests.benchmark_data import copied, sampled, write_parquet
from tests.local import SHARED, needs_shared

TOKENS = (
    "def f ( a , b ) : NEW_LINE INDENT if a [ 0 ] == - 1 : NEW_LINE INDENT "
    "print ( ' it \\' s ▁ _ _ x _ _ ' , end = \" ▁ \" ) NEW_LINE DEDENT return b NEW_LINE DEDENT"
)
CODE = """\
def f(a, b):
    if a[0] == -1:
        print('it\\'s __x__', end=" ")
    return b"""
COMMENTS = "Python3 program ; Driver code"
ROW = {"text": f"Do a thing | {COMMENTS}", "code": TOKENS}
CPP = (
    "#include <bits/stdc++.h> NEW_LINE using namespace std ; #define MAX 9 NEW_LINE "
    "int g [ 2 ] [ 2 ] = { { 1 , 2 } , { 3 , 4 } } ; int f ( int n , vector < int > & v ) { "
    "for ( int i = 0 ; i < n ; i ++ ) { if ( ! i && n - - i > 1 ) v . push_back ( - i ) ; "
    'else { cout << " ▁ - - STRNEWLINE " << std :: endl ; } } do { ++ n ; } while ( n < 3 ) ; '
    "char c = ' \\n ' ; p -> x ++ ; return n ; }"
)
CPP_CODE = """\
#include <bits/stdc++.h>
using namespace std;
#define MAX 9
int g[2][2] = { { 1, 2 }, { 3, 4 } };
int f(int n, vector < int > &v) {
    for (int i = 0; i < n; i++) {
        if (!i && n - -i > 1) v.push_back(-i);
        else {
            cout << " --\\n" << std::endl;
        }
    }
    do {
        ++n;
    } while (n < 3);
    char c = '\\n';
    p->x++;
    return n;
}"""
JAVASCRIPT = (
    "let f = ( a ) => { return a . map ( function ( x ) { return x + 1 ; } ) ; } ; "
    'let o = { a : 1 , b : ` x ▁ $ { y } STRNEWLINE ` } ; document . write ( " it \' s " ) ;'
)
JAVASCRIPT_CODE = """\
let f = (a) => {
    return a.map(function(x) {
        return x + 1;
    });
};
let o = { a : 1, b : `x ${y}
` };
document.write("it's");"""
JAVA = (
    "import java . util . * ; class GFG { static int [ ] f ( int n ) { int [ ] a = new int [ ] "
    "{ 1 , 2 } ; try { a [ 0 ] = n ; } catch ( Exception e ) { } finally { n -- ; } return a ; } }"
)


def spread(string):
    """Return a string literal as the data set's tokenizer writes it, words and marks apart."""
    prefix, quote, body = re.fullmatch(r"(\w*)('''|\"\"\"|'|\")(.*)\2", string, re.DOTALL).groups()
    body = body.replace(" ", " ▁ ").replace("\n", " STRNEWLINE ").replace("\t", " TABSYMBOL ")
    body = re.sub(r"([^\w\s'\"\\▁])", r" \1 ", body)
    return " ".join(filter(None, [prefix, quote, body, quote]))


def tokenized(code):
    """Return Python code as one line of tokens, comments left out, as in the data set."""
    written = {"NEWLINE": "NEW_LINE", "INDENT": "INDENT", "DEDENT": "DEDENT"}
    starts = [0, *(match.end() for match in re.finditer("\n", code))]
    words, opened = [], []
    for each in tokenize.generate_tokens(io.StringIO(code).readline):
        kind = token.tok_name[each.type]
        if kind == "FSTRING_START":  # from Python 3.12 on, before that it is one STRING
            opened.append(starts[each.start[0] - 1] + each.start[1])
        elif kind == "FSTRING_END":
            start = opened.pop()
            literal = code[start : starts[each.end[0] - 1] + each.end[1]]
            words += [] if opened else [spread(literal)]
        elif not opened and kind == "STRING":
            words.append(spread(each.string))
        elif not opened and kind not in {"COMMENT", "NL", "ENDMARKER"}:
            words.append(written.get(kind, each.string))
    return " ".join(words)


def same_tree(code):
    with warnings.catch_warnings():  # of escapes that the data set has and Python does not
        warnings.simplefilter("ignore")
        return ast.dump(ast.parse(detokenized(tokenized(code), "python"))) == ast.dump(
            ast.parse(code)
        )


@pytest.mark.parametrize(
    ("language", "line", "code"),
    [
        ("python", TOKENS, CODE),
        ("cpp", CPP, CPP_CODE),
        ("javascript", JAVASCRIPT, JAVASCRIPT_CODE),
    ],
    ids=["python", "cpp", "javascript"],
)
def test_tokens_become_lines(language, line, code):
    """Layout, strings, signs and brackets are as a person would write them."""
    assert detokenized(line, language) == code


@pytest.mark.parametrize(
    ("language", "line"),
    [("java", JAVA), ("csharp", JAVA), ("cpp", CPP), ("javascript", JAVASCRIPT)],
)
def test_tokens_of_other_languages_parse(language, line):
    """The lines have the same tokens, and the grammar finds no error."""
    code = detokenized(line.replace("import java . util . * ;", ""), language)

    if language != "javascript":
        dense = re.sub(r"NEW_LINE|\s|import java . util . \* ;", "", line)
        assert re.sub(r"\s", "", code) == dense.replace("STRNEWLINE", r"\n").replace("▁", "")
    assert languages.parses(code, language)


@pytest.mark.parametrize(
    "code",
    [
        'x = """a\n\tb"""\n',
        "x = ''\ny = ''\n",
        "x = '' 'a'\n",
        "x = f'{a} b', rb'\\d \\'', \"it's\", 'say \"hi\"'\n",
        "@d\ndef f(*a, b=1, **c) -> int:\n    return lambda x: -x, a[1:-2, ::2], {1: [2], **c}\n",
        "x = 1 .real + a @ b - - 1 + ~ 2 ** -1; y = not x\n",
        "x = 'a\\\nb'\n",
        "class A(B, metaclass=C):\n    x: int = 3\n\n    def f(self): pass\n\nasync def g():\n"
        "    async with a as b, c: await d\n    raise E from None\n",
    ],
)
def test_python_survives(code):
    """Code that becomes a line of tokens and code again has the same syntax tree."""
    assert same_tree(code)


@given(st.text(alphabet="ab1_ .,(\"'\\%\n\t", max_size=20))
def test_strings_survive(text):
    """What a string holds comes back, whatever it is."""
    code = f"x = [{text!r}, '']\n"

    assert ast.literal_eval(detokenized(tokenized(code), "python").removeprefix("x = ")) == [
        text,
        "",
    ]


@given(
    st.text(alphabet="ab (){};\"'`▁\\=-+#[]:,.", max_size=40), st.sampled_from(["python", "php"])
)
def test_any_line_becomes_something(line, language):
    """Broken tokens, open strings and braces are no exception."""
    code = detokenized(line, language)

    assert sorted(re.sub(r"[\s▁]", "", line)) == sorted(re.sub(r"[\s▁]", "", code))


@needs_shared
def test_real_python_survives():
    """Every program of MBPP and HumanEval here has its syntax tree after the way there and back."""
    lines = (SHARED / "data/mbpp/mbpp.jsonl").read_text().splitlines()
    codes = [json.loads(line)["code"].replace("\r", "") for line in lines]
    with gzip.open(SHARED / "data/humaneval/HumanEval.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    codes += [row["prompt"] + row["canonical_solution"] for row in rows]

    assert [code for code in codes if not same_tree(code)] == []


# The data set


def test_xlcost_row(tmp_path):
    """The description is text, the comments behind it are context, the code is in lines."""
    path = tmp_path / "data/Python-program-level/train.json"
    path.parent.mkdir(parents=True)
    path.symlink_to(copied(tmp_path, "blob", [ROW]))  # as in the hub's cache

    (sample,), _ = sampled(benchmarks.find("xlcost"), tmp_path)
    from_file, _ = sampled(benchmarks.find("xlcost"), path)

    assert sample.text == "Do a thing"
    assert sample.whole("A.") == f"A. | {COMMENTS}"
    assert sample.reference == CODE
    assert (sample.language, sample.tests, sample.entry_point) == ("python", None, None)
    assert from_file == [sample]


@pytest.mark.parametrize(
    ("comments", "text", "context"),
    [("perturb", ROW["text"], ""), ("drop", "Do a thing", "")],
)
def test_xlcost_comments(tmp_path, comments, text, context):
    """They can be part of the text, or be left out."""
    copied(tmp_path, "data/Python-program-level/train.json", [ROW])

    (sample,), _ = sampled(benchmarks.find("xlcost"), tmp_path, comments=comments)

    assert (sample.text, sample.context) == (text, context)


def test_all_layouts_of_xlcost_are_alike(tmp_path):
    """The zip's parallel files, JSON Lines or an array, and the export give the same samples."""
    rows = {"Python": ROW, "C++": {"text": "Do another | Code", "code": CPP}}
    for name, row in rows.items():
        folder = f"pair_data_tok_full_desc_comment/{name}-desc"
        ending = {"Python": "py", "C++": "cpp"}[name]
        zipped = tmp_path / "zip" / folder
        zipped.mkdir(parents=True)
        (zipped / f"val-{name}-desc-tok.txt").write_text(f"{row['text']}\n \n")
        (zipped / f"val-{name}-desc-tok.{ending}").write_text(f"{row['code']} \nx\n")
        (zipped / f"val-{name}-map.jsonl").write_text("10\n11\n")
        copied(tmp_path / "lines", f"data/{name}-program-level/valid.json", [row])
        array = tmp_path / f"array/data/{name}-program-level/valid.json"
        array.parent.mkdir(parents=True)
        array.write_text(json.dumps([row]))
        write_parquet(tmp_path / f"export/{name}-program-level/validation/0000.parquet", [row])
    xlcost = benchmarks.find("xlcost")

    for language in ("python", "cpp"):
        options = {"language": language, "split": "validation"}
        (sample,), skipped = sampled(xlcost, tmp_path / "lines", **options)
        assert sample.language == language
        assert skipped.total() == 1
        for layout in ("array", "export"):
            assert sampled(xlcost, tmp_path / layout, **options) == ([sample], skipped)
        samples, skipped = sampled(xlcost, tmp_path / "zip", **options)
        assert samples == [sample]
        assert skipped["no description or no code"] == 1


def test_xlcost_files_that_do_not_fit_are_refused(tmp_path):
    """A missing half, another number of lines and a file of no language are named."""
    xlcost = benchmarks.find("xlcost")
    folder = tmp_path / "zip/Python-desc"
    folder.mkdir(parents=True)
    (folder / "train-Python-desc-tok.txt").write_text("a\nb\n")
    with pytest.raises(BenchmarkError, match=r"desc-tok\.txt: expected one file of code beside it"):
        sampled(xlcost, tmp_path / "zip")
    (folder / "train-Python-desc-tok.py").write_text("a\n")
    with pytest.raises(BenchmarkError, match="1 lines, but 2 descriptions"):
        sampled(xlcost, tmp_path / "zip")
    with pytest.raises(BenchmarkError, match="no file such as Python-program-level/train"):
        sampled(xlcost, copied(tmp_path, "train.json", [ROW]))


@needs_shared
def test_real_programs_of_xlcost(tmp_path):
    """The three programs of the zip's layout parse, and one is as it was before it was tokens."""
    xlcost = benchmarks.find("xlcost")
    fetched = benchmarks.fetch(xlcost, SHARED / "data/xlcost", tmp_path)

    samples, skipped, _ = benchmarks.load(xlcost, tmp_path)

    by_text = {sample.text: sample for sample in samples}
    assert (fetched.n_rows, skipped) == (3, {})
    assert sorted(by_text) == [
        "Check if a number can be represented as sum of two positive perfect cubes",
        "Generate an N",
        "Maximum Prefix Sum possible by merging two given arrays",
    ]
    assert all(ast.parse(sample.reference) for sample in samples)
    assert all(sample.context.startswith("⟦text⟧ | Python3 ") for sample in samples)
    assert by_text["Generate an N"].reference.endswith(
        "    for i in range(N):\n"
        '        print(A[i], end=" ")\n'
        "if __name__ == '__main__':\n"
        "    arr = [4, 1, 2, 3, 4]\n"
        "    N = len(arr)\n"
        "    getArray(arr, N)"
    )
