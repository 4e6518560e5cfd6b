"""Renaming keeps what a program does, is nested and seeded, and can be undone."""

import contextlib
import io
import json
import random
import re
import runpy
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoprobe.errors import ConfigError
from memoprobe.perturbations import PERTURBATIONS
from memoprobe.records import Sample

rename = PERTURBATIONS["rename"]

# Name of the case: (program, names that level 5 renames).
PROGRAMS = {
    "parameters and locals": (
        "def f(first, second):\n    total = first + second\n    return total\nprint(f(1, 2))\n",
        "first second total",
    ),
    "builtins, also shadowed": (
        "def f(list, size):\n    return len(list) + size\nprint(f([1], 2))\n",
        "size",
    ),
    "imports and aliases": (
        "import math as m, os.path\nfrom math import floor as down\n"
        "path = 3\nfloor = 4.5\nprint(m.floor(floor), down(floor), path, os.path.sep)\n",
        "path floor",
    ),
    "import in a function": (
        "def f(k):\n    import heapq\n    heap = [k, 1]\n    heapq.heapify(heap)\n    return heap\n"
        "print(f(3))\n",
        "k heap",
    ),
    "star import": (
        "from math import *\nscale = 2\ndef f(radius):\n    area = pi * radius * scale\n"
        "    return area\nprint(f(1))\n",
        "radius area",
    ),
    "attributes and methods": (
        "class Box:\n    size = 3\n    def grow(self, step):\n        self.step = step\n"
        "        return self.size + self.step\nbox = Box()\nstep = box.grow(2)\n"
        "print(step, box.step)\n",
        "Box box step",
    ),
    "class scope beside a global": (
        "value = 1\nclass A:\n    value = 2\n    def get(self):\n        return value\n"
        "print(A().get(), A.value)\n",
        "A",
    ),
    "class with a base shows its name": (
        "class Wrong(ValueError):\n    pass\ntry:\n    raise Wrong('x')\n"
        "except Wrong as error:\n    print(type(error), error)\n",
        "error",
    ),
    "keyword arguments": (
        "def f(width, height=2, *rest, depth=1, **more):\n    return width, height, depth, more\n"
        "print(f(1, depth=3, extra=4), f(2, 5))\n",
        "width height rest more",
    ),
    "keyword of a builtin is no use of the name": (
        "def f(words, key):\n    return sorted(words, key=key), max(words, key=key)\n"
        "print(f(['b', 'a'], ord))\n",
        "words key",
    ),
    "keyword of a shadowed builtin": (
        "def f(sorted, rows):\n    return sorted(rows=rows)\n"
        "def g(rows):\n    return rows\nprint(f(g, 2))\n",
        "g",
    ),
    "keywords unpacked from a dictionary": (
        "def f(left, right):\n    result = left - right\n    return result\n"
        "print(f(**{'left': 3, 'right': 1}))\n",
        "result",
    ),
    "positional-only parameters": (
        "def f(left, /, right):\n    return left - right\nprint(f(3, **{'right': 1}))\n",
        "left",
    ),
    "global and nonlocal": (
        "count = 0\ndef outer():\n    level = 1\n    def inner():\n        global count\n"
        "        nonlocal level\n        count += 1\n        level += 1\n        return level\n"
        "    return inner(), count\nprint(outer())\n",
        "count outer level inner",
    ),
    "global made in a function": (
        "def setup():\n    global state\n    state = 5\nsetup()\nprint(state)\n",
        "setup state",
    ),
    "shadowing": (
        "x = 'global'\ndef f():\n    x = 'local'\n    def g(x):\n        return x\n"
        "    return x, g('argument')\nprint(x, f())\n",
        "x g",
    ),
    "closures in a loop": (
        "def make():\n    return [lambda step, base=base: base + step for base in range(3)]\n"
        "print([adder(10) for adder in make()])\n",
        "make step base adder",
    ),
    "comprehensions": (
        "rows = [[1, 2], [3]]\nflat = [item for row in rows for item in row if item > 1]\n"
        "table = {item: row for row, item in enumerate(flat)}\n"
        "print(flat, table, {row for row in flat}, sum(row for row in flat))\n",
        "rows flat item row table",
    ),
    "walrus": (
        "def f(data):\n    if (n := len(data)) > 1:\n"
        "        return [m for d in data if (m := d + n)]\n"
        "print(f([1, 2]))\n",
        "data n m d",
    ),
    "except as": (
        "def f(text):\n    try:\n        return int(text)\n    except ValueError as problem:\n"
        "        return str(problem)\nprint(f('x'))\n",
        "text problem",
    ),
    "with as and del": (
        "import io\ndef f(content):\n"
        "    with io.StringIO(content) as handle, io.StringIO() as (other):\n"
        "        got = handle.read()\n    del handle\n    return got\nprint(f('é'))\n",
        "content handle other got",
    ),
    "match captures": (
        "class Point:\n    __match_args__ = ('x', 'y')\n    def __init__(self, x, y):\n"
        "        self.x, self.y = x, y\ndef f(thing):\n    match thing:\n"
        "        case Point(x=0, y=up):\n            return 'axis', up\n"
        "        case Point(x, y) if x == y:\n            return 'diagonal', x\n"
        "        case {'k': v, **rest}:\n            return v, rest\n"
        "        case [first, *others] as whole:\n            return first, others, whole\n"
        "        case int() | str():\n            return 'scalar'\n"
        "        case _:\n            return None\n"
        "print(f(Point(0, 2)), f(Point(1, 1)), f({'k': 1, 'l': 2}), f([1, 2]), f(3), f(None))\n",
        "Point x y thing up v rest first others whole",
    ),
    "f-strings": (
        "def f(name, width):\n    return f'{name!r:>{width}} {name} {{name}} {width + 1:d}'\n"
        "print(f('é', 6))\n",
        "name width",
    ),
    "f-string that prints a name": (
        "def f(name, other):\n    return f'{name=} {other}'\nprint(f(1, 2))\n",
        "other",
    ),
    "dunder and private names": (
        "__version__ = '1'\nclass A:\n    def __init__(self, v):\n        self.__v = v\n"
        "    def get(self):\n        __w = self.__v\n        return __w\n"
        "print(A(3).get(), __version__)\n",
        "A v",
    ),
    "getattr by name": (
        "class Config:\n    pass\ndef f(c, field):\n    c.field = 3\n    wanted = 1\n"
        "    return getattr(c, 'field') + wanted\nprint(f(Config(), 1))\n",
        "Config c wanted",
    ),
    "eval of a string": (
        "def f(left, other):\n    result = 4\n    return eval('left + 1') + result + other\n"
        "print(f(1, 2))\n",
        "other result",
    ),
    "locals seen": (
        "def f(name):\n    age = 3\n    return '{name} {age}'.format(**locals())\nprint(f('a'))\n",
        "",
    ),
    "vars without an argument": ("def f(a):\n    return sorted(vars())\nprint(f(1))\n", ""),
    "vars of an object": (
        "class A:\n    def __init__(self, size):\n        self.size = size\n"
        "def f(thing):\n    return vars(thing)\nprint(f(A(2)))\n",
        "A size thing",
    ),
    "the name of a function": (
        "def helper(x):\n    return x\nprint(helper.__name__, helper(2))\n",
        "x",
    ),
    "all and quoted annotations": (
        "__all__ = ['shown']\nclass Tree:\n    pass\nclass Leaf:\n    pass\n"
        "def shown(tree: 'Tree') -> 'Tree':\n    return 1\n"
        "def hidden(leaf: Leaf):\n    return leaf\n"
        "print(shown(1), hidden(2))\n",
        "tree Leaf hidden leaf",
    ),
    "decorated": (
        "def twice(function):\n    def inner(*args):\n        return function(*args) * 2\n"
        "    return inner\n@twice\ndef f(x):\n    return x\nprint(f(2))\n",
        "twice function inner args x",
    ),
    "async": (
        "import asyncio\nasync def fetch(n):\n    return n\nasync def main(total):\n"
        "    async def step(i):\n        return await fetch(i)\n"
        "    return [await step(i) for i in range(total)]\nprint(asyncio.run(main(3)))\n",
        "fetch n main total step i",
    ),
    "non-ASCII before names": (
        "# é 🙂\ndef f(wörter, n):\n    '''🙂'''\n    s = 'é🙂'; größe = n  # ñ\n"
        "    return wörter + s * größe\nprint(f('ü', 2))\n",
        "wörter n s größe",
    ),
    "CRLF and tabs": (
        "def f(rows):\r\n\tout = 0\r\n\tfor r in rows:\r\n\t\tout += r\r\n\treturn out\r\n"
        "print(f([1, 2]))\r\n",
        "rows out r",
    ),
    "free names": (
        "def f(n):\n    return helper(n) if n else None\n"
        "def g():\n    helper = 2\n    return helper\n"
        "print(f(0), g())\n",
        "n g",
    ),
    "constants and soft keywords": (
        "LIMIT = 3\n_HIDDEN = 2\nmatch = 1\ntype_of = LIMIT + _HIDDEN + match\nprint(type_of)\n",
        "LIMIT _HIDDEN match type_of",
    ),
}


def sample(text, **fields):
    return Sample(
        **{
            "benchmark": "own",
            "sample_id": "1",
            "task": "program_repair",
            "language": "python",
            "input_kind": "code",
            "text": text,
            "entry_point": "f",
        }
        | fields
    )


def printed(program, tmp_path):
    path = tmp_path / "program.py"
    path.write_bytes(program.encode())
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(str(path))
    return output.getvalue()


def maps(text, seed, levels=5, **fields):
    return [variant.rename_map for variant in rename(sample(text, **fields), levels, seed).variants]


def top(text, **fields):
    return maps(text, random.Random(0), **fields)[-1]


@pytest.mark.parametrize(("program", "renamed"), PROGRAMS.values(), ids=PROGRAMS)
def test_programs_print_the_same_with_exactly_the_safe_names_renamed(program, renamed, tmp_path):
    """Every level of a program with tricky scopes runs alike, and no name stays without reason."""
    before = printed(program, tmp_path)

    levels = rename(sample(program), 5, random.Random(3))

    assert [printed(variant.text, tmp_path) for variant in levels.variants] == [before] * len(
        levels.variants
    )
    assert sorted(levels.variants[-1].rename_map) == sorted(renamed.split())
    assert levels.rejected == {}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python before 3.12 cannot parse it")
def test_type_parameters_and_nested_quotes_follow(tmp_path):
    """Type parameters, aliases and f-strings within f-strings are renamed as well."""
    program = (
        "type Pair[T] = tuple[T, T]\ndef first[T](pair: Pair[T], n: int) -> str:\n"
        "    return f'{pair[0]} {f'é{n!r}'}'\nprint(first((1, 2), 3))\n"
    )

    last = rename(sample(program), 5, random.Random(0)).variants[-1]

    assert set(last.rename_map) == {"Pair", "T", "first", "pair", "n"}
    assert printed(last.text, tmp_path) == printed(program, tmp_path) == "1 é3\n"


@settings(deadline=None)
@given(
    st.sampled_from([program for program, _ in PROGRAMS.values()]),
    st.integers(0, 2**32),
    st.integers(1, 9),
    st.sampled_from(["share", "count"]),
)
def test_levels_are_nested_seeded_and_undone_by_their_maps(program, seed, levels, intensity):
    """Maps grow level by level, the same seed gives the same, and inverting gives the original."""
    first, second = (
        rename(sample(program), levels, random.Random(seed), intensity=intensity) for _ in "ab"
    )

    assert first == second
    full = len(maps(program, random.Random(1))[-1])
    sizes = [len(variant.rename_map) for variant in first.variants]
    wanted = [
        max(round(k / levels * full), k) if intensity == "share" else k for k in range(levels + 1)
    ]
    assert sizes == sorted({min(size, full) for size in wanted})
    for weaker, variant in pairwise(first.variants):
        assert weaker.rename_map.items() <= variant.rename_map.items()
    for level, variant in enumerate(first.variants):
        back = {nonce: name for name, nonce in variant.rename_map.items()}
        assert variant.level == level
        assert len(back) == len(variant.rename_map)
        assert re.sub(r"\w+", lambda word: back.get(word[0], word[0]), variant.text) == program  # noqa: B023
        assert not set(back) & set(re.findall(r"\w+", program))


def test_names_are_the_same_in_every_process():
    """Neither hash seed nor process has a part in the nonces."""
    text = PROGRAMS["match captures"][0]
    code = (
        "import json, random, sys; from tests.test_rename import maps;"
        "print(json.dumps([dict(m) for m in maps(sys.argv[1], random.Random(7))]))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, text],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            cwd=__file__.rpartition("tests")[0],
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(outputs) == 1
    assert json.loads(outputs.pop()) == maps(text, random.Random(7))


def test_nonces_look_like_the_names_they_replace():
    """Case, underscores and, from two letters on, lengths are kept."""
    new = top("MAX_SIZE = 1\n_my_count = 2\nclass Node:\n    pass\nn = 3\n", entry_point=None)

    assert re.fullmatch(r"[A-Z]{3}_[A-Z]{4}", new["MAX_SIZE"])
    assert re.fullmatch(r"_[a-z]{2}_[a-z]{5}", new["_my_count"])
    assert re.fullmatch(r"[A-Z][a-z]{3}", new["Node"])
    assert re.fullmatch(r"[a-z]{2}", new["n"])


def test_nonces_are_new_to_all_that_the_sample_holds():
    """More one-letter names than there are two-letter nonces get longer ones, all different."""
    text = "".join(f"{chr(code)} = 1\n" for code in range(ord("a"), ord("z") + 1))
    two = [c + v for c in "bdgjkpvwz" for v in "aiou"][:30]
    new = top(text, reference=" ".join(two[:15]), context=" ".join(two[15:]), entry_point=None)

    assert len(set(new.values())) == 26
    assert not set(new.values()) & set(two)


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"entry_point": "Solver.run"}, {"Solver"}),
        ({"tests": "assert helper(2) == 2"}, {"helper"}),
        ({"context": "print(LIMIT)"}, {"LIMIT"}),
        ({"tests": "assert f(start=3) == 1"}, {"start"}),
        ({"tests": "assert start == 3"}, set()),
        ({"tests": "candidate(**inputs)"}, {"start", "x"}),
    ],
)
def test_names_that_the_tests_or_the_context_use_stay(fields, kept):
    """Tests may call helpers, read globals and pass parameters by keyword."""
    text = (
        "LIMIT = 1\nclass Solver:\n    def run(self):\n        return LIMIT\n"
        "def helper(x):\n    return x\ndef f(start):\n    return helper(start) + LIMIT\n"
    )

    assert {"LIMIT", "Solver", "helper", "start", "x"} - set(top(text, **fields)) == kept


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(:\n", "unparsable"),
        ("x = 1\0", "unparsable"),
        ("x = '\ud835'", "unparsable"),
        ("def f():\n    nonlocal x\n", "unparsable"),
        ("print 'x'", "unparsable"),
        ("fi = 1\nprint(\ufb01)\n", "ambiguous"),
    ],
)
def test_code_that_cannot_be_renamed_safely_has_level_0_only(text, reason):
    """Broken code, and one name written in two ways, are left as they are and counted."""
    levels = rename(sample(text), 5, random.Random(0))

    assert [variant.text for variant in levels.variants] == [text]
    assert levels.rejected == {reason: 1}


@pytest.mark.parametrize("text", ["", "pass\n", "print(len('x'))\n"])
def test_code_without_renameable_names_has_level_0_only(text):
    """Nothing to rename is no error."""
    assert maps(text, random.Random(0)) == [{}]


@pytest.mark.parametrize(
    ("fields", "options", "said"),
    [
        ({"input_kind": "prose"}, {}, "own sample 1 is prose"),
        ({"language": "cobol"}, {}, "'cobol'.*languages are c, cpp, csharp"),
        ({}, {"intensity": "all"}, "unknown intensity 'all'"),
    ],
)
def test_what_does_not_fit_is_a_configuration_error(fields, options, said):
    """The message names the sample and what there is."""
    with pytest.raises(ConfigError, match=said):
        rename(sample("x = 1", **fields), 5, random.Random(0), **options)


def test_measures_of_a_renamed_program():
    """Renaming one of four tokens in its two places is an edit share of 2/9."""
    levels = rename(sample("def f(n):\n    return n\n"), 5, random.Random(0))

    # def f ( n ) : <indent> return n <dedent>
    assert [variant.edit_share for variant in levels.variants] == [0.0, pytest.approx(2 / 10)]
    assert 0 < levels.variants[1].distance < 1
