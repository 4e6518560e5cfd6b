"""Renaming keeps what programs in other languages than Python do, and can be undone."""

import json
import random
import re
import shutil
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoprobe.languages import LANGUAGES, parses, rename_identifiers
from memoprobe.perturbations import PERTURBATIONS
from memoprobe.records import Sample
from memoprobe.scoping.fragments import agrees
from tests.rename_programs import PROGRAMS

rename = PERTURBATIONS["rename"]
COMPILERS = {"c": ["gcc", "-w"], "cpp": ["g++", "-w", "-std=c++17"]}

# What it shows: (language, text, names that level 5 renames).
TRAPS = {
    "a macro that makes names of text": (
        "c",
        '#define SHOW(v) printf(#v "%d", v)\nvoid f(void) { int x = 1; SHOW(x); }',
        "",
    ),
    "names in the body of a macro": (
        "c",
        "#define MORE (x + 1)\nint f(int x, int y) { return MORE + y; }",
        "f y",
    ),
    "names in the conditions of a preprocessor": (
        "c",
        "#if DEBUG > level\n#endif\n#ifdef trace\n#endif\nint f(int level, int trace, int z)"
        "{ return z; }",
        "f z",
    ),
    "a macro that takes a member": (
        "c",
        "void f(struct timer *t) { int list = 1; x = container_of(t, struct foo, list); g(list); }",
        "f",
    ),
    "a macro that takes a value": ("c", "int f(int x) { return FFMIN(x, 3); }", "f x"),
    "a label whose address is taken": (
        "c",
        "void f(void) { void *p = &&out; int q; goto *p; out: q = 1; end: goto end; }",
        "f q end",
    ),
    "a tag, a member and a variable of one spelling": (
        "c",
        "int f(struct page *page) { return page->page + sizeof(struct page); }",
        "f page",
    ),
    "a name that is used before it is declared": (
        "c",
        "void f(void) { total = 1; int total = 2; int other = total; }",
        "f other",
    ),
    "names that are declared elsewhere": (
        "c",
        "extern int seen; int proto(int a); int f(int n) { return proto(seen) + n + missing; }",
        "a f n",
    ),
    "a type that looks like a variable": (
        "c",
        "void f(void) { int a = 1; int b = (a) - 1; }",
        "f a b",
    ),
    "attributes and assembler operands": (
        "c",
        "void f(void) { int hook __attribute__((cleanup(hook2))); int hook2, in, out;"
        ' asm("x %[in]" : "=r"(out) : [in] "r"(in)); }',
        "f hook out",
    ),
    "an unknown macro before a type": (
        "c",
        "int f(int n) { _cleanup_ int fd; fd = n; return fd; }",
        "f n",
    ),
    "macros that export, and a label of an assembler": (
        "c",
        "static int debug; int shown(int a) { return a; }\nEXPORT_SYMBOL(shown);\n"
        "module_param(debug, int, 0);\nstatic DEFINE_MUTEX(lock);\n"
        'void g(int fd) { asm goto("x" : : : : fail); lock = fd; fail: return; }',
        "a fd g",
    ),
    "a method away from its class": (
        "cpp",
        "int Shape::area(int side) { int total = side * scale; return total; }\nint scale = 2;\n"
        "int Shape::twice() { return scale; }",
        "side total",
    ),
    "an inherited member of the spelling of a global": (
        "cpp",
        "int size = 4; class A : public Unknown { int get(int n) { return size + n; } };",
        "n",
    ),
    "an enumerator that is named through its type": (
        "cpp",
        "enum class Kind { one, two }; Kind f(Kind kind) { return std::one ? Kind::one : kind; }",
        "Kind f kind two",
    ),
    "a method without its class": (
        "java",
        "public int size(int size) { count = size; this.size = size; return size() + other.size; }",
        "size",
    ),
    "a constructor without its class": (
        "java",
        "public Shape(int side) { super(side); this.side = side; }",
        "side",
    ),
    "a private method that a stranger may have as well": (
        "java",
        "class A { private int read() { return 1; } private int left() { return 2; }"
        " int f(InputStream in) { return in.read() + read() + left(); } }",
        "A in left",
    ),
    "members found by a string": (
        "java",
        "class A { private int size = 1; private int kept = 2;"
        ' Object f() { return A.g().getDeclaredField("size"); } }',
        "A kept",
    ),
    "an anonymous class may inherit the name": (
        "java",
        "void f(int count, int kept) { new Unknown() { int g() { return count; } }; kept++; }",
        "kept",
    ),
    "a resource ends before its catch": (
        "java",
        "void f() { try (Reader in = open()) { in.read(); } catch (E e) { in.close(); } }",
        "e",
    ),
    "a pattern variable ends with its statement": (
        "java",
        "void f(Object o, Object p) { if (o instanceof String s) { use(s); } use(s);"
        " if (p instanceof String t) { use(t); } }",
        "o p t",
    ),
    "an enum constant in a case": (
        "java",
        "int f(Kind kind, int red, int x) { switch (kind) { case red: return x; } return red; }",
        "kind x",
    ),
    "a class is imported": ("java", "import a.Foo;\nclass Bar { Foo Foo; Bar bar; }", "Bar"),
    "annotations and their classes": (
        "java",
        "@Entity class A { private int x; } class B { @Inject private int y; private int z; }",
        "B z",
    ),
    "parameters that a request names": (
        "java",
        "class A { int f(@RequestParam int id, @NotNull Object x) { return id; } }",
        "A x",
    ),
    "shorthand": ("javascript", "function f(a, b) { return {a, b: b}; }", "f b"),
    "shorthand in a pattern": (
        "javascript",
        "function f({a, b: c}, [d]) { return a + c + d; }",
        "c d f",
    ),
    "exports and imports": (
        "javascript",
        "import x, {y as z} from 'm';\nexport const a = 1, {d} = z;\nexport function b(p) {}\n"
        "const c = 2, e = 3;\nexport {c as cc};\nexport default e;",
        "e p",
    ),
    "eval sees everything": ("javascript", "function f(a) { return eval('a'); }", ""),
    "with sees everything": ("javascript", "function f(a) { with (a) { return b; } }", ""),
    "a global reached through the window": (
        "javascript",
        "var a = 1, b = 2, c = 3; window.a = 2; window['b'] = 3; f(c);",
        "c",
    ),
    "a name that is read": (
        "javascript",
        "function f() {} function g() {} function h() {} x = f.name; y = g;",
        "g h",
    ),
    "the class of an object is named": (
        "javascript",
        "class A {} function f(a) { return a.constructor.name; }",
        "",
    ),
    "parameters that are injected by name": (
        "javascript",
        "angular.module('m').controller('c', function ($scope, http) { $scope.x = http; });",
        "",
    ),
    "elements of JSX": ("javascript", "const item = 1, b = 2; x = <item a={b}/>;", "b"),
    "a function that one block declares": (
        "javascript",
        "if (x1) { function f(a) { return a; } } f(1);",
        "a",
    ),
    "extract sees everything": ("php", "function f($a) { extract($a); return $b; }", ""),
    "variable variables see everything": ("php", "function f($a) { return $$a; }", ""),
    "what is included sees everything": ("php", "function f($a) { include 'x.php'; }", ""),
    "compact names variables by strings": (
        "php",
        "function f($a, $b) { return compact('a') + $b; }",
        "b",
    ),
    "named arguments and promoted properties": (
        "php",
        "class A { function __construct(private $a, $b, $c) { $this->b = f(c: $b); } }",
        "b",
    ),
    "a page": ("php", "<p><?php foreach ($rows as $row) { echo $row; } ?></p>", "rows row"),
    "keys of a literal and members": (
        "go",
        "func f(side, x int) T { y := T{side: side}; return y.x + x }",
        "f x y",
    ),
    "a name is declared from its own value": (
        "go",
        "func f() { x := x + 1; y := 2; y, z := y, 3; use(x, y, z) }",
        "f y z",
    ),
    "exported names": (
        "go",
        "var Seen, hidden = 1, 2\nfunc Show() int { return Seen + hidden }",
        "hidden",
    ),
    "binding sees everything": ("ruby", "def f(a)\n  g(binding, a)\nend", ""),
    "keywords in short": ("ruby", "def f(a, b)\n  g(a:, b: b)\nend", "b"),
    "a method and a variable of one spelling": (
        "ruby",
        "def f(a)\n  size = a.size\n  size(1) + size\nend\ndef g\n  count\n  count = 1\nend",
        "a size",
    ),
    "names in a regular expression": (
        "ruby",
        "def f(a)\n  /(?<b>x)/ =~ a\n  b = 1\n  c = b\nend",
        "a c",
    ),
    "a block sees the variables around it, a method does not": (
        "ruby",
        "a = 1\nb = 2\n[3].each { |c| p a + c }\ndef f\n  b\nend",
        "a c",
    ),
    "inferred names": (
        "csharp",
        "public void F(int a, int b, int c) { var x = new { a }; var y = (b, 1); G(c); }",
        "c x y",
    ),
    "named arguments": ("csharp", "private void F(int a, int b) { F(a: b, 1); }", "F b"),
    "parameters of what carries attributes": (
        "csharp",
        "class A { [HttpGet] public int Get(int id) { int x = id; return x; } }",
        "x",
    ),
    "nameof": ("csharp", "static int F(int a, int b) { G(nameof(a), b); }", "F b"),
    "records and properties": (
        "csharp",
        "record R(int Left); class A { int P { get; set; } void F(int v) { P = v; } }",
        "v",
    ),
}


def sample(language, text, **fields):
    return Sample(
        **{
            "benchmark": "own",
            "sample_id": "1",
            "task": "program_repair",
            "language": language,
            "input_kind": "code",
            "text": text,
        }
        | fields
    )


def top(language, text, **fields):
    return rename(sample(language, text, **fields), 5, random.Random(2)).variants[-1]


def run(command, **options):
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed(language, text, folder):
    if language in COMPILERS:
        source = folder / f"program.{language}"
        source.write_text(text)
        run([*COMPILERS[language], "-o", folder / "program", source])
        return run([folder / "program"])
    source = folder / ("Main.java" if language == "java" else "program.js")
    source.write_text(text)
    return run(["java" if language == "java" else "node", source])


@pytest.mark.parametrize("language", PROGRAMS)
def test_exactly_the_safe_names_are_renamed(language):
    """No name is renamed that another program may know, and none stays without reason."""
    program = PROGRAMS[language]

    last = top(language, program.text)

    assert sorted(last.rename_map) == sorted(program.renamed.split())


@pytest.mark.parametrize(("language", "text", "renamed"), TRAPS.values(), ids=TRAPS)
def test_names_stay_where_they_may_stand_for_something_else(language, text, renamed):
    """Each trap keeps its own names, and none beside them."""
    levels = rename(sample(language, text), 5, random.Random(2))

    assert sorted(levels.variants[-1].rename_map) == sorted(renamed.split())
    assert levels.rejected == {}


@pytest.mark.parametrize(
    "language",
    [
        pytest.param(
            language,
            marks=pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not here"),
        )
        for language, tool in {
            "c": "gcc",
            "cpp": "g++",
            "java": "javac",
            "javascript": "node",
        }.items()
    ],
)
def test_renamed_programs_print_the_same(language, tmp_path):
    """A program compiles and prints the same at the middle level and at the last."""
    before, *others = rename(
        sample(language, PROGRAMS[language].text), 2, random.Random(0)
    ).variants

    expected = printed(language, before.text, tmp_path)
    assert expected
    assert [printed(language, variant.text, tmp_path) for variant in others] == [expected] * 2


@settings(deadline=None, max_examples=16)
@given(
    st.sampled_from(sorted(PROGRAMS)), st.integers(0, 2**32), st.sampled_from(["share", "count"])
)
def test_levels_are_nested_seeded_and_undone_by_their_maps(language, seed, intensity):
    """Maps grow level by level, the same seed gives the same, and inverting gives the original."""
    item = sample(language, PROGRAMS[language].text)
    first, second = (rename(item, 5, random.Random(seed), intensity=intensity) for _ in "ab")

    assert first == second
    assert len(first.variants) == 6
    for weaker, variant in pairwise(first.variants):
        back = {new: name for name, new in variant.rename_map.items()}
        assert weaker.rename_map.items() < variant.rename_map.items()
        assert weaker.edit_share < variant.edit_share
        assert len(back) == len(variant.rename_map)
        assert not set(back) & set(re.findall(r"\w+", item.text))
        assert rename_identifiers(variant.text, language, back) == item.text
        assert parses(variant.text, language)


def test_names_are_the_same_in_every_process():
    """Neither hash seed nor process has a part in the choice of names, in any language."""
    code = (
        "import json; from tests.test_rename_languages import PROGRAMS, top;"
        "print(json.dumps({k: dict(top(k, p.text).rename_map) for k, p in PROGRAMS.items()}))"
    )
    outputs = {
        run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            cwd=__file__.rpartition("tests")[0],
        )
        for seed in ("1", "2")
    }

    assert len(outputs) == 1
    assert json.loads(outputs.pop())["go"] == dict(top("go", PROGRAMS["go"].text).rename_map)


@pytest.mark.parametrize("language", sorted(LANGUAGES.keys() - {"python"}))
def test_code_whose_blocks_do_not_close_has_level_0_only(language):
    """Where a block's end is missing or too many, nobody knows what a name stands for."""
    text = {"ruby": "def f(a)\n  if a\n    b = a\nend\n"}.get(language, "void f(int a) { a = 1; }}")
    levels = rename(sample(language, text), 5, random.Random(0))

    assert [variant.text for variant in levels.variants] == [text]
    assert levels.rejected == {"unparsable": 1}


@pytest.mark.parametrize(
    ("language", "text", "fields", "renamed"),
    [
        ("java", "class A { static int f(int a) { return 1; } }", {"entry_point": "f"}, "A a"),
        ("java", "class A { static int f(int a) { return 1; } }", {"tests": "A.f(a)"}, "a"),
        ("c", "int limit; int f(int limit2) { return limit; }", {"context": "limit"}, "f limit2"),
        ("c", "int f(int a) { return a; }", {"tests": "f(a)"}, "a"),
        ("javascript", "const f = (a) => a;", {"entry_point": "f", "tests": "f(1)"}, "a"),
        ("go", "func f(a int) int { return a }", {"tests": "f(1)"}, "a"),
    ],
)
def test_names_that_the_tests_or_the_context_use_stay(language, text, fields, renamed):
    """What is local to a function may be called as it likes."""
    assert sorted(top(language, text, **fields).rename_map) == sorted(renamed.split())


@pytest.mark.parametrize(
    ("after", "same"),
    [
        ("int f(int b) { return b; }", True),
        ("int f(int a) { return b; }", True),
        ("int f(int c) { return c; }", False),
        ("int f(int b) { return -b; }", False),
        ("int f(int b) { b; }", False),
    ],
)
def test_agreement_is_the_same_tree_and_the_same_leaves(after, same):
    """A name may be mapped or not; all else must be as it was."""
    assert agrees("int f(int a) { return a; }", after, "c", {"a": "b"}) is same


def scoped(names, depth):
    """Return a strategy for blocks of JavaScript that declare, shadow, capture and log names."""
    name = st.sampled_from(names)
    plain = st.one_of(
        st.builds("log.push({});".format, name),
        st.builds("{} = ({} || 0) + 1;".format, name, name),
        st.builds("var {} = 3;".format, st.sampled_from(names[:2])),
        st.builds("log.push((({}) => {} + 1)({}));".format, name, name, name),
    )
    if depth == 0:
        return plain
    inner = st.lists(scoped(names, depth - 1), max_size=4).map(" ".join)
    return st.one_of(
        plain,
        st.builds("{{ let {0} = 5; {1} }}".format, st.sampled_from(names[2:]), inner),
        st.builds("(function ({0}, ...r) {{ {1} }})(7);".format, name, inner),
        st.builds("for (let {0} = 0; {0} < 2; {0} += 1) {{ {1} break; }}".format, name, inner),
        st.builds("try {{ {0} throw 9; }} catch ({1}) {{ {2} }}".format, inner, name, inner),
        st.builds("{0}: for (const {0} of [1, 2]) {{ {1} continue {0}; }}".format, name, inner),
    )


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
@settings(deadline=None, max_examples=3)
@given(
    st.lists(
        st.lists(scoped(["a", "b", "c", "d"], 3), min_size=2, max_size=6).map(" ".join),
        min_size=30,
        max_size=30,
    )
)
def test_generated_programs_log_the_same(bodies):
    """Whatever is declared, shadowed and captured where, the renamed program logs the same."""
    head, tail = "(() => { const log = []; let c = 1, d = 2; var a = 3, b;", "return log; })()"
    texts = [f"{head} {body} {tail}" for body in bodies]
    pairs = [(text, top("javascript", text).text) for text in texts]
    code = (
        "const run = t => { try { return JSON.stringify((0, eval)(t)); }"
        " catch (e) { return e.constructor.name; } };"
        "console.log(JSON.stringify(JSON.parse(require('fs').readFileSync(0))"
        ".map(p => p.map(run))));"
    )
    logs = json.loads(run(["node", "-e", code], input=json.dumps(pairs)))

    assert [after for _, after in logs] == [before for before, _ in logs]
    assert any(before != after for before, after in pairs)
