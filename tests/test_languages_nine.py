"""Facts about lexing each of the nine languages, in whole files and in fragments."""

import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoprobe import languages
from memoprobe.languages import LANGUAGES

# Comments of all kinds, and literals of all kinds that hold what looks like comments and names.
LEXED = {
    "python": (
        'def f(x):\n    """Doc x."""\n    s = f"{x} # x" + r\'x\'  # x\n    return s\n',
        """def f ( x ) : <indent> s = f"{x} # x" + r'x' return s <dedent>""",
    ),
    "java": (
        '/** Doc x. */\n@A("x") int f(int x) { // x\n  char c = \'"\'; /* x */\n'
        '  return x + """\n    x // x""".length() + "/*x*/";\n}\n',
        """@ A ( "x" ) int f ( int x ) { char c = '"' ; return x + """
        '''"""\n    x // x""" . length ( ) + "/*x*/" ; }''',
    ),
    "c": (
        '#include <x.h> // x\n#define F(x) (x /* x */) // x\nint f(int x) {\n'
        '  /* x */ char c = L\'\\\'\'; return x<<2; // "x"\n}',
        """#include <x.h> #define F ( x ) ( x ) int f ( int x ) { char c = L'\\'' ; return x << 2"""
        " ; }",
    ),
    "cpp": (
        'auto f(int x) -> int { // x\n  std::string s = R"d(// "x")d" "x";\n  return x; /* x */ }',
        'auto f ( int x ) -> int { std :: string s = R"d(// "x")d" "x" ; return x ; }',
    ),
    "javascript": (
        '#!/usr/bin/env node\n// x\nconst f = x => `// ${x} ${`x`}` + "/*" + \'//\'; /* x */\n'
        "let r = /[/*]x/g;",
        """const f = x => `// ${x} ${`x`}` + "/*" + '//' ; let r = /[/*]x/g ;""",
    ),
    "php": (
        "public function f($x) { # x\n  /** x */ return \"// {$x->y}\" . '#x' . <<<T\n"
        "// $x\nT; // x\n}",
        """public function f ( $ x ) { return "// {$x->y}" . '#x' . <<<T\n// $x\nT ; }""",
    ),
    "go": (
        'package a\n\n// x\nfunc f(x int) string { /* x */\n'
        '\treturn "//x" + `/*\nx` + string(\'"\')\n}\n',
        """package a func f ( x int ) string { return "//x" + `/*\nx` + string ( '"' ) }""",
    ),
    "ruby": (
        "=begin\nx\n=end\ndef f(x) # x\n"
        "  \"#{x} # x\" + '#x' + %w[a #x].join + :\"x\" if x =~ /#x/\nend\n",
        """def f ( x ) "#{x} # x" + '#x' + %w[a #x] . join + :"x" if x =~ /#x/ end""",
    ),
    "csharp": (
        '/// <summary>x</summary>\npublic string F(int x) => $"// {x}" + @"/*""x" + \'"\'; // x\n'
        "#region x\n",
        """public string F ( int x ) => $"// {x}" + @"/*""x" + '"' ; #region x""",
    ),
}  # fmt: skip
LAYOUT = {"<indent>", "<dedent>"}


def test_all_nine_are_here():
    """The tables below leave no language out."""
    assert set(LEXED) == set(FRAGMENTS) == set(NAMED) == set(PLAIN) == set(CALLS) == set(LANGUAGES)
    assert len(LANGUAGES) == 9


def test_grammars_are_loaded_at_first_use():
    """A command that lexes nothing loads no grammar."""
    script = "import sys, memoprobe.languages; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    assert b"tree_sitter" in loaded
    assert b"tree_sitter_" not in loaded


@pytest.mark.parametrize("language", LEXED)
def test_tokens(language):
    """Comments are no tokens, literals are one, whatever stands inside."""
    code, expected = LEXED[language]

    assert " ".join(languages.tokens(code, language)) == expected


@pytest.mark.parametrize("language", LEXED)
def test_code_without_comments_has_its_tokens(language):
    """Stripped or undocumented code parses and has the same tokens as before."""
    code, _ = LEXED[language]
    stripped = languages.strip_comments(code, language)

    for bare in (languages.undocumented(code, language), stripped):
        assert languages.tokens(bare, language) == languages.tokens(code, language)
        assert languages.parses(bare, language)
    assert languages.strip_comments(stripped, language) == stripped


@pytest.mark.parametrize("language", LEXED)
def test_names_are_renamed_and_back(language):
    """Exactly the names change, in an interpolated string too, and come back to the byte."""
    code, _ = LEXED[language]
    renamed = languages.rename_identifiers(code, language, {"x": "größe", "f": "F2"})

    tokens = languages.tokens(renamed, language)
    kept = [re.sub(r"größe", "x", token) for token in tokens]
    assert "x" not in tokens
    assert tokens.count("größe") == languages.tokens(code, language).count("x")
    assert [token.replace("F2", "f") for token in kept] == languages.tokens(code, language)
    assert languages.rename_identifiers(renamed, language, {"größe": "x", "F2": "f"}) == code


# No grammar takes these: a macro between words, an old declaration, tokens that were split.
UNPARSED = [
    "static inline int __init f(struct a *b,\n\n\t\tint c)\n\n{\n\n\treturn b->c;\n\n}",
    "f(a)\n    int a;\n{\n    return a;\n}\n",
    "int A::f ( ) const {\n return b : : c ? 1 : 0 ;\n }",
]
# As the benchmarks hold them: one method, cut out of its class and file.
FRAGMENTS = {
    "python": ["    def f(self):\n        return 1\n", "x = 1", "@a\nasync def f(): await g()"],
    "java": [
        "@Override protected void f(int a) throws B {\n  super.f(a);\n}",
        "public f(final A a){\n  this.a=a;\n}",
        "@ Deprecated public static < T > List < T > f ( T [ ] a ) { return _STR ; }",
        "@Nullable\nprivate static <T extends Comparable<T>> T f(\n    T a) { return a; }",
    ],
    "c": [
        "const char *\nf (const char *a)\n{\n  return a;\n}",
        *UNPARSED,
        "PHP_METHOD(f)\n{\n    int a;\n}",
    ],
    "cpp": [
        "template <typename T>\nstd::vector<T> f(const T& a) {\n  return {a};\n}",
        "\n\nvoid A::f(int a) const\n{\n    a_ = a;\n}",
        "explicit f(int a) : a_(a) {}",
        "~A() { f(); }",
    ],
    "javascript": [
        "function f(a) {\n    return a;\n  }",
        "static async f({a, b = 1}) {\n  await a;\n}",
        "get f() { return 1 }",
        "f(a, b) {\n  return a;\n}",
    ],
    "php": [
        "public static function f(string $a, $b = [])\n    {\n        return $a;\n    }",
        "<?php\nfunction f() { return 1; }\n",
        "#!/usr/bin/php\n<html><?php f(); ?></html>",
        "function f() { return '<?php'; }",
        "private $a = 1;\npublic function f() {}",
    ],
    "go": ["func (a *A) f(b int) (int, error) {\n\treturn b, nil\n}", "x := f(1)\n"],
    "ruby": ["def f(a, b: 1)\n      a + b\n    end", "attr_reader :a\n\ndef self.f; end"],
    "csharp": [
        "public override async Task<int> f(int a) {\n  return await b(a);\n}",
        "public f(int a) : base(a) { }",
        "[Test]\npublic void f()\n{\n}",
        "public int A { get; set; }",
    ],
}


@pytest.mark.parametrize(
    ("language", "code"), [(name, code) for name, codes in FRAGMENTS.items() for code in codes]
)
def test_a_fragment_parses_and_keeps_its_offsets(language, code):
    """A method cut out of its class parses, its tokens come from the text and names are found."""
    tokens = [token for token in languages.tokens(code, language) if token not in LAYOUT]
    renamed = languages.rename_identifiers(code, language, {"a": "größe"})

    assert languages.parses(code, language) is (code not in UNPARSED)
    assert "".join("".join(tokens).split()) == "".join(code.split())
    assert renamed == re.sub(r"\ba\b", "größe", code)


@pytest.mark.parametrize("language", LEXED)
def test_broken_code_does_not_parse(language):
    """What no class around it mends is broken, and still has tokens."""
    code = "f((("

    assert not languages.parses(code, language)
    assert languages.tokens(code, language)[:2] == ["f", "("]
    assert languages.parses("", language)
    assert languages.parses(code, "klingon")


UNDOCUMENTED = {
    "only a docstring": ("python", 'def f():\n    """D."""\n', "def f():\n    pass\n"),
    "docstrings only": ("python", "class A:\n    'D'\n    # c\n    'E'\n", "class A:\n    pass\n"),
    "a docstring of one line": ("python", "def f(): 'D'\n", "def f(): pass\n"),
    "beside a statement": ("python", "def f(): 'D'; g()\n", "def f(): pass; g()\n"),
    "of a module": ("python", '"""D\nE"""\n\nx = 1\n', "\nx = 1\n"),
    "of several lines": (
        "python",
        'def f():\n    """D\n\n    E\n    """  # c\n    return "#"\n',
        'def f():\n    return "#"\n',
    ),
    "an effect": ("python", 'def f():\n    f"{g()}"\n', 'def f():\n    f"{g()}"\n'),
    "no effect": ("python", "x = 1\n'D'\nb'E'\nf'F'\ny\n", "x = 1\ny\n"),
    "a block of comments": ("python", "if x:\n    # c\n    y\n\n# c", "if x:\n    y\n\n"),
    "line ends": ("python", "# c\r\nx = 1  # c\r\n\r\ny\r\n", "x = 1\r\n\r\ny\r\n"),
    "strict mode": ("javascript", "'use strict'\n// c\nf()", "'use strict'\nf()"),
    "at both ends": ("java", "  /* c */ int x; /* c */ /* c */  // c\n", "  int x;\n"),
    "in the middle": ("c", "int/* c */x =/**/ 1;\n", "int x = 1;\n"),
    "a line end in it": ("javascript", "return /* c\n */ 1", "return \n 1"),
    "none that matters": ("java", "return /* c\n */ 1;", "return  1;"),
    "in Go": ("go", "x := 1 /* c\n*/ y := 2", "x := 1 \n y := 2"),
    "a macro": ("c", "#define A \\\n  1 // c\nint a;", "#define A \\\n  1\nint a;"),
    "a page": ("php", "<p>\n\n# no\n<?php // c ?>\n", "<p>\n\n# no\n<?php ?>\n"),
    "a value": ("ruby", "def f # c\n  'x'\nend\n", "def f\n  'x'\nend\n"),
    "unknown": ("klingon", "x # c\n", "x # c\n"),
}  # fmt: skip


@pytest.mark.parametrize(("language", "code", "expected"), UNDOCUMENTED.values(), ids=UNDOCUMENTED)
def test_undocumented(language, code, expected):
    """Comments and docstrings go with the lines that they leave blank, nothing else does."""
    assert languages.undocumented(code, language) == expected


RENAMED = {
    "a field and a label": ("c", "x: goto x; y->x = &x; struct x x;", 6),
    "in a macro": ("c", '#define F(x) do { x; "x"; } while (x) // x\n', 3),
    "a namespace": ("cpp", "namespace x { class x { ~x(); }; } x::x x;", 6),
    "a lambda": ("cpp", "auto f = [x](auto y) { return x + y; };", 2),
    "an interpolation": ("csharp", 'var x = $"x {x:x}" + $@"{x}" + "x";', 3),
    "a property": ("javascript", "let {x, y: x} = {x, x: 1, 'x': this.#x};", 5),
    "a template": ("javascript", "`x ${x + `${x}`}`", 2),
    "a variable in a text": ("php", "$x = \"x $x {$x->x} ${x}\" . '$x';", 5),
    "a heredoc": ("php", "$y = <<<T\nx $x {$x['x']}\nT;", 2),
    "sigils": ("ruby", "x = @x + @@x + $x + f(x: 1, y: :x)", 6),
    "a setter": ("ruby", "def x=(v); @x = \"x #{@x}\"; end; 'x'; x?", 3),
    "a heredoc in Ruby": ("ruby", "y = <<~T\n  x #{x}\nT\n", 1),
    "a receiver": ("go", "func (x *x) x(y x) { x.x = x }", 7),
    "a generic": ("java", "<x> x x(x<x> x) { return this.<x>x(x::x); }", 10),
}


@pytest.mark.parametrize(("language", "code", "count"), RENAMED.values(), ids=RENAMED)
def test_renaming_finds_every_use_of_a_name(language, code, count):
    """Fields, labels, types, symbols and interpolated values count, text does not."""
    renamed = languages.rename_identifiers(code, language, {"x": "zzz"})

    assert renamed.count("zzz") == count
    assert renamed.replace("zzz", "x") == code
    assert languages.rename_identifiers(renamed, language, {"zzz": "x"}) == code


def test_a_mark_that_is_part_of_a_name_is_no_sigil():
    """In JavaScript and Java a dollar belongs to the name."""
    for language in ("javascript", "java"):
        renamed = languages.rename_identifiers("$x = x + x$;", language, {"x": "y"})
        assert renamed == "$x = y + x$;"


def test_a_name_with_a_sigil_may_be_told_from_one_without():
    """What the mapping knows with its sigil is looked up with it first."""
    code = "x = @x + $x"

    assert languages.rename_identifiers(code, "ruby", {"@x": "@a", "x": "b"}) == "b = @a + $b"


NAMED = {
    "python": ["def NAME(): pass", "class NAME: pass", "@a\nasync def NAME():\n    pass"],
    "java": [
        "int NAME(int a) { return a; }",
        "public NAME(int a) { }",
        "@Override\n@A(1)\npublic List<? extends A>[] NAME(int a,\n  int b) throws B, C\n{\n}",
        "public final class NAME<T> extends A implements B {\n\n  int x;\n}",
        "interface NAME { }",
        "enum NAME { A, B; }",
        "record NAME(int a) { }",
        "< T > T NAME ( T a ) { return a ; }",
    ],
    "c": [
        "int NAME(int a) { return a; }",
        "static struct a *NAME(void)\n{\n#ifdef A\n\tgoto b;\n#endif\nb:\n\treturn 0;\n}",
        "char **\nNAME (char *a)\n{\n}",
        "struct NAME {\n  int a;\n};",
        "enum NAME { A };",
        "#define NAME(a) (a)",
    ],
    "cpp": [
        "template <class T>\nT NAME(T a) { return a; }",
        "std::map<int, A>& A::NAME(const B& b) const {\n}",
        "class NAME : public A {\n public:\n  int a;\n};",
        "namespace NAME {\nint a;\n}",
        "int *const &NAME(int a) noexcept { }",
    ],
    "javascript": [
        "function NAME(a) { }",
        "export default async function* NAME(a) { }",
        "class NAME extends A { }",
        "const NAME = (a, b = f()) => {\n  return a;\n};",
        "let NAME = a => a",
        "var NAME = async function (a) {\n}",
        "exports.NAME = function (a) { };",
        "A.prototype.NAME = (a) => a;",
        "static NAME(a) {\n}",
    ],
    "php": [
        "function NAME($a) { }",
        "public static function &NAME(array $a = []): ?A\n{\n}",
        "abstract class NAME extends A implements B\n{\n}",
        "interface NAME { }",
        "trait NAME { }",
        "$NAME = function ($a) use ($b) { };",
    ],
    "go": [
        "func NAME(a int) int {\n\treturn a\n}",
        "func (a *A) NAME() (b int, err error) {\n}",
        "func NAME[T any](a T) { }",
        "type NAME struct {\n\ta int\n}",
        "type NAME interface{}",
    ],
    "ruby": [
        "def NAME(a)\n  a\nend",
        "def self.NAME a\nend",
        "private def NAME(a)\n  a\nend",
        "class NAME < A\n  def b; end\nend",
        "module NAME\nend",
    ],
    "csharp": [
        "int NAME(int a) { return a; }",
        "public static async Task<int> NAME<T>(this T a) where T : B => 1;",
        "[A(1)]\npublic override void NAME()\n{\n}",
        "public partial class NAME : A, B\n{\n}",
        "public NAME(int a) : base(a) { }",
        "namespace NAME { class A { } }",
        "public struct NAME { }",
    ],
}


@pytest.mark.parametrize(
    ("language", "code"), [(name, code) for name, codes in NAMED.items() for code in codes]
)
def test_a_definition_is_a_piece_with_its_name(language, code):
    """Between prose and other code a definition is found whole, by its name."""
    code = code.replace("NAME", "Gcd")
    text = f"Here's how Gcd works (see below):\n\n{code}\n\nIt isn't hard. Call Gcd(4, 2).\n"

    found = languages.pieces(text, language)

    assert [(piece.name, piece.text, piece.complete) for piece in found] == [("Gcd", code, True)]
    assert languages.defines(code, language, "Gcd")
    assert not languages.defines(code, language, "Gc")
    assert languages.statements(code, language)[0].name == "Gcd"


PLAIN = {
    "python": ["import a", "from a import b", "x: int = 1"],
    "java": ["package a.b;", "import static a.b.*;", "private static final int[] A = {\n  1,\n};"],
    "c": ["#include <a.h>", "#ifdef A\n#endif", "static const int a[] = {\n  1,\n};", "int a;"],
    "cpp": ["using namespace std;", "A::~A() { }", "bool A::operator==(B b) {\n  return a;\n}"],
    "javascript": ["import a from 'a';", "const {a, b} = require('a')", "a.b = [\n  1\n];"],
    "php": ["<?php", "namespace A\\B;", "use A\\B;", "$a = [\n    1,\n];", "require_once 'a.php';"],
    "go": ["package a", 'import (\n\t"a"\n)', "var a = []int{\n\t1,\n}", "const a = 1"],
    "ruby": ["require 'a'", "include A", "A = [\n  1\n]", "@a = 1"],
    "csharp": ["using A.B;", "private const int A = 1;", "#region a", "public int A { get; set; }"],
}


@pytest.mark.parametrize(
    ("language", "code"), [(name, code) for name, codes in PLAIN.items() for code in codes]
)
def test_imports_and_assignments_are_pieces_without_a_name(language, code):
    """What defines no function and no type is found too, and names nothing."""
    found = languages.pieces(f"First of all:\n\n{code}\n\nThat's it (really).\n", language)

    assert [(piece.name, piece.text, piece.complete) for piece in found] == [(None, code, True)]


HEADS = {
    "java": "public class A {\n  public static int gcd(int a, int b) throws C {\n    while (b) {",
    "c": "static int gcd(int a,\n               int b)\n{\n    if (a",
    "cpp": "class A : public B {\npublic:\n    int gcd(std::vector<int>& a) const {",
    "javascript": "const gcd = async (a, b) => {\n  if (a",
    "php": "public function gcd(int $a): int\n{\n    return [",
    "go": "func gcd(a, b int) (c int) {\n\tif a {",
    "ruby": "class A\n  def self.gcd(a, b)\n    [",
    "csharp": "public static int gcd(int a, int b)\n{\n    return (",
}


@pytest.mark.parametrize("language", HEADS)
def test_a_definition_that_was_cut_off_is_a_piece_all_the_same(language):
    """An answer that ends within a function still defines it, as a broken piece to its end."""
    code = HEADS[language]

    (piece,) = languages.pieces(f"It is:\n\n{code}", language)
    assert (piece.text, piece.complete) == (code, False)
    assert piece.name == ("A" if "class" in code else "gcd")
    assert languages.defines(code, language, "gcd")


CALLS = {
    "python": "gcd(1)\nx = gcd(2)\nimport gcd",
    "java": "int x = gcd(1);\nreturn gcd(a, () -> {\n});\nif (gcd(2) > 1) {\n}\nnew gcd(3);",
    "c": "int gcd(int a, int b);\ngcd(1);\nwhile (gcd(2)) {\n}\nreturn gcd(3);\nstruct gcd *x;",
    "cpp": "A::gcd(1);\nfor (auto x : gcd(2)) {\n}\nauto x = gcd(3, [](int a) { return a; });",
    "javascript": "gcd(1);\ngcd(function () {\n});\nif (gcd(2)) {\n}\nlet x = gcd;\nx = {gcd}",
    "php": "gcd(1);\n$this->gcd(function ($a) {\n});\n$gcd = 1;\nnew gcd();",
    "go": "gcd(1)\nif gcd(2) {\n}\nx := gcd(func() {\n})\ngo gcd()",
    "ruby": "gcd(1)\ngcd do |a|\nend\nx = gcd(2)\ndef gcd?; end",
    "csharp": "x = gcd(1);\nforeach (var x in gcd(2)) {\n}\ngcd(a => {\n});\nawait gcd(3);",
}


@pytest.mark.parametrize("language", CALLS)
def test_a_call_defines_nothing(language):
    """Calls and declarations of a function, in whatever form, are not its definition."""
    assert not languages.defines(CALLS[language], language, "gcd")
    assert "gcd" not in [piece.name for piece in languages.pieces(CALLS[language], language)]


FORMS = {
    "python": [
        "{n} = 1  # {t}\n",
        "{n}.{n}('{t}')\n",
        "f'{t} {{{n}}}'\n",
        "def {n}():\n    '{t}'\n    {n}\n",
    ],
    "java": [
        "{n} = {n}.{n}(); // {t}\n",
        'f("{t}" + {n} /* {t} */);\n',
        "/** {t}\n */ @{n} int {n}(){{}}\n",
    ],
    "c": [
        '{n}->{n} = "{t}"; /* {t} */\n',
        '#define {n}({n}) "{t}" {n} // {t}\n',
        "struct {n} *{n};\n",
    ],
    "cpp": [
        '{n}::{n}({n}, R"({t})");\n',
        "#if {n} // {t}\n#endif\n",
        "auto {n} = [&] /* {t}\n*/ {{}};\n",
    ],
    "javascript": [
        "{n} = `{t} ${{{n}}}` // {t}\n",
        "f(/{t}/, '{t}', {{{n}: {n}}});\n",
        "/* {t}\n*/ {n}()\n",
    ],
    "php": ["${n} = \"{t} {{${n}->{n}}}\" . '${t}'; // {t}\n", "{n}(/* {t} */ ${n}); # {t}\n"],
    "go": ["{n} := {n}.{n}(`{t}`) // {t}\n", 'f(/* {t}\n*/ {n}, "{t}")\n'],
    "ruby": ['@{n} = "{t} #{{{n}}}" # {t}\n', "{n}({n}: :{n}, z: '{t}')\n", "=begin\n{t}\n=end\n"],
    "csharp": ['{n} = $"{t} {{{n}}}"; // {t}\n', '/* {t} */ {n}.{n}(@"{t}");\n'],
}
NAMES = st.sampled_from(["a", "bb", "größe", "c1", "x"])


@pytest.mark.parametrize("language", FORMS)
@settings(max_examples=40)
@given(st.data())
def test_renaming_agrees_with_a_filled_template(language, data):
    """However names, texts and comments alternate, exactly the names change, and back again."""
    form = st.tuples(st.sampled_from(FORMS[language]), NAMES)
    parts = data.draw(st.lists(form, max_size=6))
    mapping = {"a": "n1", "größe": "ñ2", "x": "y"}

    def code(known):
        return "".join(form.format(n=known.get(name, name), t=name) for form, name in parts)

    renamed = languages.rename_identifiers(code({}), language, mapping)
    back = languages.rename_identifiers(renamed, language, {"n1": "a", "ñ2": "größe", "y": "x"})
    assert renamed == code(mapping)
    assert back == code({})


@pytest.mark.parametrize("language", FORMS)
@settings(max_examples=40)
@given(st.data())
def test_comments_go_and_tokens_stay(language, data):
    """However code and comments alternate, only what is no token goes, once and for all."""
    form = st.tuples(st.sampled_from(FORMS[language]), NAMES)
    parts = data.draw(st.lists(form, max_size=6))
    code = "\n".join(form.format(n=name, t=name) for form, name in parts)

    bare, stripped = (f(code, language) for f in (languages.undocumented, languages.strip_comments))
    tokens = languages.tokens(code, language)
    assert [token for token in languages.tokens(bare, language) if token != "pass"] == tokens
    assert languages.tokens(stripped, language) == tokens
    assert languages.undocumented(bare, language) == bare
    assert languages.strip_comments(bare.replace("pass", ""), language) == stripped


def test_a_fragment_that_closes_more_than_it_opens_keeps_its_tokens():
    """A hunk that begins with a brace is not taken for the end of the class around a member."""
    code = "        }\n\n        if (a) {\n            return NaN;\n        }\n"

    assert " ".join(languages.tokens(code, "java")) == "} if ( a ) { return NaN ; }"
    assert not languages.parses(code, "java")
