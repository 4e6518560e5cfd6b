"""What each family changes, and the traps of each language that it steps around."""

import re

import pytest

from memoprobe.languages import tokens
from memoprobe.perturbations.bitflip import TOP_RATE
from memoprobe.perturbations.syntax import graded
from tests.test_families import perturbed, sample, texts

# What must not move: (language, text).
STAYS = {
    "a name that the other reads": ("python", "a = 1\nb = a\n"),
    "a name that both set": ("python", "a = 1\na = 2\n"),
    "a chain of names": ("python", "x = y = 0\nz = y\n"),
    "calls": ("python", "a = f()\nb = g()\n"),
    "the same container": ("python", "a = list(rows)\nb = tuple(rows)\n"),
    "items, which some containers make": ("python", "a = d[k]\nb = d[j]\n"),
    "attributes, which may be properties": ("python", "self.x = 1\nself.y = 2\n"),
    "what is caught": (
        "python",
        "try:\n    if x:\n        a = unicode\n        b = 1\nexcept NameError:\n    pass\n",
    ),
    "members of a class": ("python", "class A(Enum):\n    B = 1\n    C = 2\n"),
    "annotated fields": ("python", "class A:\n    b: int = 1\n    c: int = 2\n"),
    "docstrings": ("python", '"""a"""\n"""b"""\n'),
    "imports of everything": ("python", "from a import *\nfrom b import *\n"),
    "imports of one module": ("python", "import os\nimport os.path\n"),
    "imports that may fail": ("python", "try:\n    import a\n    import b\nexcept E: pass\n"),
    "defaults that are called": ("python", "def f(x=g()): pass\ndef h(x=g()): pass\n"),
    "a default of the other": ("python", "def f(): pass\ndef h(x=f): pass\n"),
    "a definition made anew": ("python", "def f(): pass\ndef f(x): pass\n"),
    "decorated functions": ("python", "@a\ndef f(): pass\n@b\ndef h(): pass\n"),
    "functions of C that call each other": (
        "c",
        "int f() { return 1; }\nint g() { return f(); }\n",
    ),
    "names of C that may be macros": ("c", "void f() {\n  x = NEXT;\n  y = errno;\n}\n"),
    "volatile": ("c", "volatile int a, b;\nvoid f() {\n  a = 1;\n  b = 2;\n}\n"),
    "places in memory": ("c", "void f() {\n  *p = 1;\n  q[0] = 2;\n  r->x = 3;\n}\n"),
    "own headers": ("c", '#include "a.h"\n#include "b.h"\n'),
    "references of C++": ("cpp", "void f() {\n  a = 1;\n  b = 2;\n  int c = d;\n  int e = g;\n}\n"),
    "objects of C++": ("cpp", 'void f() {\n  Lock a("x");\n  std::string b = "y";\n}\n'),
    "fields of another": ("java", "class A { void f(A a, A b) {\n a.x = 1;\n b.y = 2;\n} }"),
    "a final value": ("java", "class A { void f() {\n final int a;\n a = 1;\n} }"),
    "two names of one variable": ("php", "<?php\n$a = &$b;\n$a = 1;\n$b = 2;\n"),
    "constants": ("php", "<?php\n$a = A;\n$b = B;\n"),
    "the value of a method": ("ruby", "def f\n  a = 1\n  b = 2\nend\n"),
    "names that may be calls": ("ruby", "def f\n  a = x\n  b = y\n  c\nend\n"),
    "properties": ("csharp", "class A { void F() {\n int a = Next;\n int b = Other;\n} }"),
    "a place where texts end": ("javascript", "let a = b = 1\nlet c = b\n"),
}
# What moves: (language, text, the text that only the order tells from it).
MOVES = {
    "what operators give": ("python", "a = x + 1\nb = len(x) < y\n", "b = len(x) < y\na = x + 1\n"),
    "comments with their lines": (
        "python",
        "# of a\na = 1  # one\nb = {}\n",
        "b = {}\n# of a\na = 1  # one\n",
    ),
    "imports": ("python", "import a\nfrom b import c\n", "from b import c\nimport a\n"),
    "methods": (
        "python",
        "class A:\n    def f(self):\n        pass\n    def g(self):\n        self.f()\n",
        "class A:\n    def g(self):\n        self.f()\n    def f(self):\n        pass\n",
    ),
    "headers of the standard": (
        "c",
        "#include <stdio.h>\n#include <math.h>\n",
        "#include <math.h>\n#include <stdio.h>\n",
    ),
    "fields": (
        "java",
        "class A { A(int x) {\n this.x = x;\n this.y = new HashMap<>();\n} }",
        "class A { A(int x) {\n this.y = new HashMap<>();\n this.x = x;\n} }",
    ),
    "variables of Go": (
        "go",
        "package a\nfunc f() {\n\ta := 1\n\tvar b = len(c)\n\tg(a, b)\n}\n",
        "package a\nfunc f() {\n\tvar b = len(c)\n\ta := 1\n\tg(a, b)\n}\n",
    ),
    "without a semicolon": ("javascript", "let a = 1\nlet b = []\n", "let b = []\nlet a = 1\n"),
    "variables of PHP": (
        "php",
        "<?php\n$a = 1;\n$b = count($c);\n",
        "<?php\n$b = count($c);\n$a = 1;\n",
    ),
    "variables of Ruby": (
        "ruby",
        "def f\n  a = 1\n  @b = Hash.new\n  nil\nend\n",
        "def f\n  @b = Hash.new\n  a = 1\n  nil\nend\n",
    ),
    "lengths": (
        "csharp",
        "class A { void F() {\n int a = b.Length;\n var c = 1;\n} }",
        "class A { void F() {\n var c = 1;\n int a = b.Length;\n} }",
    ),
}


@pytest.mark.parametrize(("language", "text"), STAYS.values(), ids=STAYS)
def test_what_may_depend_on_its_neighbour_stays(language, text):
    """There is no level but the original."""
    assert texts("reorder", text, language) == [text]


@pytest.mark.parametrize(("language", "text", "moved"), MOVES.values(), ids=MOVES)
def test_what_is_independent_moves(language, text, moved):
    """The one level above 0 has the other order."""
    assert texts("reorder", text, language) == [text, moved]


# What no level may lose: (family, language, text, pattern that all levels hold).
HELD = {
    "a directive is whole": (
        "format",
        "c",
        "#define F(a, b) (a  +  b)\nint x = 1;\n",
        "(a  +  b)\n",
    ),
    "what a macro quotes": (
        "format",
        "c",
        "void f() { assert(a+b); SHOW(a+b); }",
        "a+b); SHOW(a+b)",
    ),
    "blanks in texts": (
        "format",
        "ruby",
        'x = <<~A\n  a , b\nA\ny = "a , b"\n',
        "<<~A\n  a , b\nA\n",
    ),
    "templates": ("format", "javascript", "let x = `a\n  ${b +c}`\nlet y = 1\n", "`a\n  ${b +c}`"),
    "braces of Go": ("format", "go", "package a\n\nfunc f() {\n\tg(1, 2)\n}\n", ") {\n"),
    "pages": (
        "format",
        "php",
        "<p>\n  <?php if ($a) { ?>\n <b> , </b>\n<?php } ?>\n",
        "<p>\n  <?php",
    ),
    "two minus signs": ("format", "c", "int f() { return a - -b; }", "a - -b"),
    "what tools obey": (
        "comments",
        "go",
        "//go:build linux\npackage a\n\nfunc f() { }\n",
        "//go:build",
    ),
    "what Go compiles": (
        "comments",
        "go",
        'package a\n\n// int x;\nimport "C"\n',
        "// int x;\nimport",
    ),
    "what stands inside a line": ("comments", "c", "int f(int /* a */ b) { return 1; }", "/* a */"),
    "the first call of a constructor": (
        "dead-code",
        "java",
        "class A { A() {\n  super();\n  f();\n} }",
        "A() {\n  super();\n",
    ),
    "the first case": (
        "dead-code",
        "cpp",
        "void f() {\n  switch (x) {\n    case 1:\n      g();\n  }\n}\n",
        "switch (x) {\n    case 1:\n      g();\n",
    ),
    "the value of what may fail": (
        "dead-code",
        "ruby",
        "def f\n  a\n  b\nrescue\n  c\nend\n",
        "  b\nrescue\n",
    ),
    "the cases of a match": (
        "dead-code",
        "python",
        "match x:\n    case 1:\n        f()\n",
        "match x:\n    case 1:\n",
    ),
    "a block on a continued line": (
        "dead-code",
        "python",
        "if x: \\\n    f()\ng()\n",
        "if x: \\\n    f()\n",
    ),
    "the strict mode": (
        "dead-code",
        "javascript",
        'function f() {\n  "use strict";\n  g()\n}\n',
        '{\n  "use strict";\n',
    ),
    "the namespace": (
        "dead-code",
        "php",
        "<?php\ndeclare(strict_types=1);\nnamespace A;\nf();\n",
        "<?php\ndeclare(strict_types=1);\nnamespace A;\n",
    ),
    "an interface": (
        "dead-code",
        "php",
        "<?php\ninterface A {\n  function f();\n}\n",
        "A {\n  function",
    ),
    "what includes a file": ("constants", "c", '#include "ab.h"\nint x = 1;\n', '"ab.h"'),
    "a label": ("constants", "c", "void f() { switch (x) {\ncase 1: g(2);\n} }", "case 1"),
    "what is formatted": ("constants", "c", 'void f() { printf("%5d ab \\n", 1); }', "%5d "),
}


@pytest.mark.parametrize(("family", "language", "text", "held"), HELD.values(), ids=HELD)
def test_what_must_stay_together_does(family, language, text, held):
    """Every level of ten seeds holds the passage to the letter."""
    found = [each for seed in range(10) for each in texts(family, text, language, seed=seed)]

    assert held in text
    assert [each for each in found if held not in each] == []


def test_layout_changes_every_kind_of_white_space():
    """Over some seeds all that may be laid out otherwise is, in both directions."""
    text = (
        "class A { int f(int a,int b) {\n    if (a<b) {\n        g( a );\n    }\n"
        "    int c = 1;\n\n    return h(a,\n        b);\n}\nvoid k()\n{\n    f(1, 2);\n} }\n"
    )
    found = [texts("format", text, "java", seed=seed)[-1] for seed in range(20)]

    for pattern in (
        r"if\(",
        r"a < b",
        r"g\(a\)",
        r"c=1",
        r"h\( ?a, b",
        r"\n\n\s*if",
        r"1;\n\s*ret",
    ):
        assert any(re.search(pattern, each) for each in found), pattern
    for pattern in (r"k\( ?\) \{", r"b ?\)\n\{", r"f\( ?1,2", r"1,\n +2", r"\n  if", r"\n\t\tg"):
        assert any(re.search(pattern, each) for each in found), pattern


def test_tabs_become_blanks_and_line_ends_stay():
    """A file with carriage returns keeps them on every line that is added."""
    found = texts("format", "def f(a):\r\n\tg(a, 1)\r\n\treturn a\r\n")[-1]

    assert "\t" not in found
    assert "\n" not in found.replace("\r\n", "")
    lines = texts("dead-code", "a = f()\r\nb = g()\r\n")[-1]
    assert "\n" not in lines.replace("\r\n", "")


def test_own_comments_go_and_neutral_ones_come():
    """At the top level only comments that tools obey are left of a program's own."""
    text = "# about f\nx = f()  # why\n\n# noqa\ny = g()  # type: ignore\n"

    strongest = texts("comments", text)[-1]

    assert "about" not in strongest
    assert "why" not in strongest
    assert re.findall("noqa|type: ignore", strongest) == ["noqa", "type: ignore"]
    assert strongest.count("#") == 2 + 5


def test_dead_lines_have_new_names_and_never_run():
    """Their names are new, and a program that lists its names gets none more."""
    plain = texts("dead-code", "def f():\n    a = g()\n    return a\n", levels=40)[-1]
    listing = texts("dead-code", "def f():\n    a = g()\n    return locals()\n", levels=40)[-1]

    names = re.findall(r"\b(\w+) = ", plain)
    assert len(names) == len(set(names))
    assert re.search(r"^    \w+ = (?!g)", plain, re.MULTILINE)
    assert not re.search(r"^    \w+ = (?!g)", listing, re.MULTILINE)
    assert "def " not in listing.replace("def f()", "")
    assert re.search(r"^def \w+\(value\)", plain, re.MULTILINE)


def test_members_of_a_class_get_no_attributes():
    """To a class only what binds nothing is added: a name is a member of an enumeration."""
    text = "class A(Enum):\n    B = 1\n    C = 2\n\n    def f(self):\n        return 1\n"

    strongest = texts("dead-code", text, levels=60)[-1]

    assert re.findall(r"^    (\w+) = ", strongest, re.MULTILINE) == ["B", "C"]
    assert re.search(r"^    def \w+\(self\): return \d\n", strongest, re.MULTILINE)


@pytest.mark.parametrize(
    ("language", "text", "pattern"),
    [
        (
            "python",
            "x = 10 if a < b and True else 'cat'\n",
            r"x = 1[1-7] if a <= b or False else '\w{3}'",
        ),
        ("c", "int x = 0x1F + 0b10 - 1.5f;\n", r"int x = 0x[2-7]F \+ 0b11 \+ 1\.5f|.*1\.5f;|.*"),
        (
            "go",
            "package a\n\nvar x = 7 == y && !true\n",
            r"package a\n\nvar x = [1-6] != y \|\| !false",
        ),
        ("c", "float x = .5 + 1;\n", r"float x = \.5 \+ [2-7];"),
        ("javascript", "if (a === 1) { b -= `q` }\n", r"if \(a !== [2-7]\) \{ b \+= `[a-pr-z]` \}"),
        (
            "java",
            'int x = 1_0L; String s = "%s {b} AA";',
            r'int x = 1_[1-7]L; String s = "%s {b} (?:A[B-Z]|[B-Z]A)";',
        ),
    ],
)
def test_constants_become_others_of_their_kind(language, text, pattern):
    """Digits, letters and comparisons change, notation and formatting stay."""
    strongest = texts("constants", text, language)[-1]

    assert re.fullmatch(pattern, strongest.strip()), strongest
    assert strongest != text


@pytest.mark.parametrize("language", ["prose", "python"])
def test_bitflips_damage_a_known_share(language):
    """The top level damages TOP_RATE of the tokens, by one bit or by another token."""
    text = " ".join(f"word{i} and\n  more" for i in range(40))

    levels = texts("bitflip", text, language)

    damaged = [
        sum(a != b for a, b in zip(text.split(), each.split(), strict=True)) for each in levels
    ]
    assert damaged == [round(TOP_RATE * 120 * level / 5) for level in range(6)]
    assert {re.sub(r"\S+", "", each) for each in levels} == {re.sub(r"\S+", "", text)}
    kinds = set()
    for old, new in zip(text.split(), levels[-1].split(), strict=True):
        bits = [ord(a) ^ ord(b) for a, b in zip(old, new, strict=False) if a != b]
        if old != new and len(old) == len(new) and len(bits) == 1 and bits[0].bit_count() == 1:
            kinds.add("bit")
        elif old != new:
            assert new in text.split()
            kinds.add("token")
    assert kinds == {"bit", "token"}


@pytest.mark.parametrize(
    ("text", "n_levels"), [("", 0), ("a", 1), ("é", 0), ("é é", 0), ("é ü", 2)]
)
def test_bitflips_of_short_texts(text, n_levels):
    """A text gets as many levels as it has tokens that can become another."""
    assert len(texts("bitflip", text, "prose")) == 1 + n_levels


def test_broken_code_around_an_error_is_laid_out():
    """What does not parse keeps its layout, and the functions beside it do not."""
    text = "int f(int a) {\n  return (a +\n}\nint g(int a,int b) {\n  h(a,b);\n  return a+b;\n}\n"
    found = perturbed("format", text, "c")

    assert len(found.variants) == 6
    assert all(tokens(v.text, "c") == tokens(text, "c") for v in found.variants)


def test_what_lists_its_methods_gets_none():
    """A class of Java whose code looks at methods keeps the ones it has."""
    text = "class A { void f() {\n    g(getClass().getDeclaredMethods());\n}\n\nvoid h() {\n} }"

    strongest = texts("dead-code", text, "java")[-1]

    assert "private" not in strongest
    assert strongest.count("false") + strongest.count("    {") == 5


@pytest.mark.parametrize(
    ("forbidden", "kept"),
    [
        ([{3}], [1, 2, 4, 5, 6]),
        ([{1, 2}], [1, 3, 4, 5, 6]),
        ([{1, 6}], [1, 2, 3, 4, 5]),
        ([{9}], None),
    ],
)
def test_changes_that_do_not_hold_together_are_left_out(forbidden, kept):
    """Halving finds a change that does not hold, alone or beside those before it."""
    units = [1, 2, 3, 4, 5, 6]

    def attempt(chosen):
        holds = not any(parts <= set(chosen) for parts in forbidden)
        return f"x{chosen}", holds

    found = graded(sample("x"), "format", (6, "share"), units, attempt)

    kept = kept or units
    assert found.variants[-1].text == f"x{kept}"
    assert len(found.variants) == 1 + len(kept)
    assert found.rejected == ({"changed": 6 - len(kept)} if len(kept) < 6 else {})


def test_a_level_that_alone_does_not_hold_is_left_out():
    """It is counted, and the levels above it stay."""
    found = graded(
        sample("x"),
        "format",
        (3, "share"),
        [1, 2, 3],
        lambda chosen: (f"x{chosen}", len(chosen) != 2),
    )

    assert [variant.text for variant in found.variants] == ["x", "x[1]", "x[1, 2, 3]"]
    assert [variant.level for variant in found.variants] == [0, 1, 2]
    assert found.rejected == {"changed": 1}
