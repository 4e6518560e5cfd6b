"""Facts about lexing and parsing code that may be broken."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe import languages

FORMS = [
    "{name} = 1\n",
    "{name}.{name}('{text}')\n",
    "f'{text} {{{name}}}'  # {text}\n",
    "{name}\n",
]
NAMES = st.sampled_from(["a", "bb", "größe", "名", "self", "xs"])


def test_tokens_leave_comments_and_docstrings_out():
    """A string is one token, blocks are an indent and a dedent, comments are none."""
    code = 'def f(x):  # why\n    """Doc."""\n    return x + "a b"\n'

    found = languages.tokens(code, "python")

    assert " ".join(found) == 'def f ( x ) : <indent> return x + "a b" <dedent>'


def test_tokens_of_an_unknown_language_are_words_and_marks():
    """Without a grammar a text is split into words and punctuation."""
    assert languages.tokens("let x2=a;", "klingon") == ["let", "x2", "=", "a", ";"]


def test_strip_comments_keeps_strings_that_look_like_comments():
    """Only comments and docstrings go, with the blank lines they leave."""
    code = 's = "# no"  # yes\n\n# gone\ndef f():\n    """Doc."""\n    return s\n'

    assert languages.strip_comments(code, "python") == 's = "# no"\ndef f():\n    return s'
    assert languages.strip_comments("\n// x\n", "klingon") == "// x"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(x):\n    return x", True),
        ("class S:\n    def f(self):\n        pass", True),
        ("async  def f(", True),
        ("x = f(1)\ndef ff(): pass\n# def f", False),
    ],
    ids=["function", "method", "broken", "other"],
)
def test_defines(code, expected):
    """A line opens the definition of that very name, whether or not the code parses."""
    assert languages.defines(code, "python", "f") is expected


def test_defines_in_an_unknown_language_is_occurrence():
    """Without a grammar the whole word is enough."""
    assert languages.defines("int f(int x)", "klingon", "f")
    assert not languages.defines("int ff(int x)", "klingon", "f")


PIECES = {
    "prose around": ("It's:\ndef f():\n    pass\nIt isn't hard.", ["def f():\n    pass"]),
    "decorator": ("@a\n@b(1)\ndef f():\n    pass\n", ["@a\n@b(1)\ndef f():\n    pass"]),
    "lines at column 0": (
        'def f(\n    x,\n):\n    """Do\nit."""\n# why\n    return x\nprint(1)',
        ['def f(\n    x,\n):\n    """Do\nit."""\n# why\n    return x'],
    ),
    "imports": ("import a\nfrom b import c\n", ["import a", "from b import c"]),
    "constants": ("X: int = 3\nx == 3\n", ["X: int = 3"]),
    "one line": ("a = 1; b = 2;  # ab\nc = 1 and so on\n", ["a = 1; b = 2;  # ab"]),
    "prose like code": ("from the top\nimport this and that\nclass act!\n", ["class act!"]),
    "broken": ("def f(x:\n    return\nprint(1)", ["def f(x:\n    return"]),
    "no body": ("def f(x):\nreturn x", ["def f(x):"]),
    "nothing": ("", []),
}


@pytest.mark.parametrize(("text", "expected"), PIECES.values(), ids=PIECES)
def test_pieces(text, expected):
    """Definitions, imports and assignments at column 0 are found between anything else."""
    found = languages.pieces(text, "python")

    assert [piece.text for piece in found] == expected
    assert all(text[piece.start : piece.end] == piece.text for piece in found)


def test_pieces_know_names_and_whether_they_are_whole():
    """A definition has a name, also where it is decorated or broken."""
    found = languages.pieces("x = 1\n@a\ndef f(): return 1\nclass C(:\n", "python")

    assert [(piece.name, piece.complete) for piece in found] == [
        (None, True),
        ("f", True),
        ("C", False),
    ]


@pytest.mark.parametrize("line", ["x = (", "def f(", "x = 'a", "@a"])
def test_pieces_of_what_never_parses_take_little_time(line):
    """A model that repeats half a line for ever does not stop the scoring."""
    text = f"{line}\n" * 600 + "import a\n"

    start = time.process_time()
    found = languages.pieces(text, "python")

    assert time.process_time() - start < 3
    assert found[-1].text == "import a" or line == "@a"


def test_an_unknown_language_has_no_pieces():
    """Without a grammar nothing is known of a text's parts."""
    assert languages.pieces("def f(): pass", "klingon") == []
    assert languages.statements("def f(): pass", "klingon") == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('def f():\n    """é one"""\n', "é one"),
        ("def g():\n    'no'\ndef f(ß):\n    import a\n    r'''two\n    '''\n", "two\n    "),
        ("def f():\n    return 'no'\n", None),
        ("def f():\n    'two' 'parts'\n", None),
        ("def g():\n    'no'\n", None),
    ],
    ids=["non-ASCII", "second function, late", "none", "joined", "another's"],
)
def test_docstring(code, expected):
    """The content between the quotes is found in the function that is named."""
    span = languages.docstring(code, "python", "f")

    assert (span and code[slice(*span)]) == expected


def test_renaming_reaches_every_identifier_and_no_text():
    """Values in f-strings, attributes and keywords count, strings and comments do not."""
    code = "é = f'x {x!r:>{w}}' + 'x'  # x\ny.x = g(x=x)\n"

    renamed = languages.rename_identifiers(code, "python", {"x": "größe", "w": "v"})

    assert renamed == "é = f'x {größe!r:>{v}}' + 'x'  # x\ny.größe = g(größe=größe)\n"


def test_renaming_without_a_grammar_reaches_whole_words():
    """In prose every whole word counts."""
    assert languages.rename_identifiers("a, ab a", "prose", {"a": "z"}) == "z, ab z"
    assert languages.rename_identifiers("a", "python", {}) == "a"


@given(st.lists(st.tuples(st.sampled_from(FORMS), NAMES)), st.sampled_from(["", "(", "return )\n"]))
def test_renaming_agrees_with_a_filled_template(parts, before):
    """However names and texts alternate, in whole code or broken, exactly the names change."""
    mapping = {"a": "n1", "größe": "ñ2"}

    def code(known):
        return before + "".join(
            form.format(name=known.get(name, name), text=name) for form, name in parts
        )

    assert languages.rename_identifiers(code({}), "python", mapping) == code(mapping)


@given(st.text("ab \t\r\n", max_size=30))
def test_tidy_is_idempotent(text):
    """A tidy text stays as it is and has no blanks at line ends, or tabs in front."""
    tidied = languages.tidy(text)

    assert languages.tidy(tidied) == tidied
    assert "\r" not in tidied
    assert all(line == line.rstrip() and not line.startswith("\t") for line in tidied.split("\n"))


def test_tidy_keeps_what_the_code_means():
    """Tabs become four columns and the program stays the same."""
    code = "\r\n\tif x:\r\n\t  \ty = '\t'  \r\n"

    assert languages.tidy(code) == "    if x:\n        y = '\t'"


def test_half_a_surrogate_pair_survives():
    """Half surrogates, which models do send, are code like any other."""
    code = "x = '\ud835'"

    assert languages.tokens(code, "python") == ["x", "=", "'\ud835'"]
    assert languages.rename_identifiers(code, "python", {"x": "y"}) == "y = '\ud835'"
