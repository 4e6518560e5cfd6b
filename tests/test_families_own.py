"""A perturbation of the user's own is found by its file, checked, and told where it is wrong."""

import random

import pytest

from memoprobe.errors import ConfigError
from memoprobe.perturbations import (
    CHANGES_MEANING,
    PERTURBATIONS,
    Levels,
    find,
    fingerprint,
    label,
    undo,
)
from memoprobe.records import Sample

SAMPLE = Sample(
    benchmark="own",
    sample_id="7",
    task="code_generation",
    language="python",
    input_kind="prose",
    text="Sort the list of words.",
)
SHUFFLE = '''
from memoprobe.perturbations.levels import Levels, variants

def shuffle(sample, levels, rng, *, intensity="share"):
    """Exchange more and more words."""
    words, found = sample.text.split(), []
    for _ in range(levels):
        i, j = rng.sample(range(len(words)), 2)
        words[i], words[j] = words[j], words[i]
        found.append(" ".join(words))
    return found

def numbered(sample, levels, rng, *, intensity="share"):
    texts = [(f"{sample.text} {k}", {"a": f"a{k}"}) for k in range(levels)]
    return Levels(variants(sample, "mine", texts), {"dull": 2})
'''


def written(folder, text, name="mine.py"):
    (folder / name).write_text(text)
    return str(folder / name)


def altered(name, *, levels=3, seed=0):
    return find(name)(SAMPLE, levels, random.Random(seed))


def test_a_function_may_give_just_texts(tmp_path):
    """They become levels with distances, filed under the name without the folder."""
    name = written(tmp_path, SHUFFLE) + ":shuffle"

    found = altered(name)

    assert isinstance(found, Levels)
    assert [variant.level for variant in found.variants] == [0, 1, 2, 3]
    assert {variant.perturbation for variant in found.variants} == {"mine.py:shuffle"}
    assert found.variants[0].text == SAMPLE.text
    assert found.variants[3].edit_share > 0
    assert found == altered(name)
    assert found != altered(name, seed=1)


def test_a_function_may_give_levels(tmp_path):
    """Rename maps and counts of what was turned down are kept, distances measured anew."""
    found = altered(written(tmp_path, SHUFFLE) + ":numbered", levels=2)

    assert [variant.rename_map for variant in found.variants] == [{}, {"a": "a0"}, {"a": "a1"}]
    assert found.rejected == {"dull": 2}
    assert {variant.perturbation for variant in found.variants} == {"mine.py:numbered"}


def test_an_edited_file_is_run_anew_and_has_another_fingerprint(tmp_path):
    """The run remembers a hash of the file, and no compiled copy of an older one is used."""
    name = written(tmp_path, "def f(s, levels, rng, *, intensity): return ['one']") + ":f"
    before, first = fingerprint(name), altered(name)
    written(tmp_path, "def f(s, levels, rng, *, intensity): return ['two']")

    assert altered(name).variants[1].text == "two"
    assert first.variants[1].text == "one"
    assert fingerprint(name) != before
    assert before.startswith("mine.py:f ")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


WRONG = {
    "no file": (None, "f", r"perturbation file .*mine\.py cannot be read: No such file"),
    "no function": ("def shuffel(): pass", "shuffle", "no function 'shuffle'; did you mean 'shuff"),
    "no function at all": ("x = 1", "x", "has no function 'x'$"),
    "no name": ("x = 1", "a b", "an own one is named FILE.py:FUNCTION"),
    "no Python": ("x = (", "f", r"cannot be run: SyntaxError: '\(' was never closed \(line 1\)"),
    "an import that fails": ("\nimport nothing_there", "f", r"No module named .*\(line 2\)"),
    "another signature": (
        "def f(text): pass",
        "f",
        r"sample 7: TypeError: f\(\) got an unex",
    ),
    "a failure": ("def f(*a, **k):\n    return 1 / 0", "f", r"ZeroDivisionError: .*\(line 2\)"),
    "nothing": ("def f(*a, **k): pass", "f", "TypeError: 'NoneType' object is not iterable"),
    "no text": ("def f(*a, **k): return ['a', 3]", "f", "gives 3 at level 2: return Levels or"),
    "one text": ("def f(*a, **k): return 'abca'", "f", "gives at level 4 the text of level 1"),
    "equal texts": ("def f(*a, **k): return ['a', 'a']", "f", "at level 2 the text of level 1"),
    "the original": ("def f(s, *a, **k): return [s.text]", "f", "at level 1 the text of level 0"),
    "too many": ("def f(*a, **k): return list('abcdef')", "f", "6 levels above 0, where 5 are"),
    "luck": (
        "import random\ndef f(*a, **k): return [str(random.random())]",
        "f",
        "gives other texts when it is asked again; draw from rng alone",
    ),
}
LEVELS = (
    "from dataclasses import replace\nfrom memoprobe.perturbations.levels import Levels, variants\n"
    "def f(s, *a, **k):\n    v = variants(s, 'f', [('a', {}), ('b', {})])\n"
    "    return Levels(%s, {})"
)
WRONG_LEVELS = {
    "numbers": ("v[:1] + v[2:]", "numbers its levels 0, 2: number them 0, 1, 2"),
    "level 0": ("[replace(v[0], text='x'), *v[1:]]", "level 0 another text than the original"),
    "none": ("[]", "gives no variants; the first is the original"),
    "texts": ("['a', 'b']", "gives no variants; the first is the original"),
    "maps": ("[*v[:2], replace(v[2], rename_map={'a': 1})]", "rename map that is not from names"),
    "bytes": ("[*v[:2], replace(v[2], text=b'a')]", "gives b'a' at level 2"),
}


@pytest.mark.parametrize(("text", "function", "pattern"), WRONG.values(), ids=WRONG)
def test_each_mistake_is_told(text, function, pattern, tmp_path):
    """The message names the file or the sample, what is wrong, and the line where there is one."""
    name = f"{tmp_path / 'mine.py' if text is None else written(tmp_path, text)}:{function}"

    with pytest.raises(ConfigError, match=pattern):
        altered(name, levels=5)


@pytest.mark.parametrize(("given", "pattern"), WRONG_LEVELS.values(), ids=WRONG_LEVELS)
def test_each_mistake_in_levels_is_told(given, pattern, tmp_path):
    """Levels are numbered from the original, all different, and of the right types."""
    name = written(tmp_path, LEVELS % given) + ":f"

    with pytest.raises(ConfigError, match=f"perturbation mine.py:f, own sample 7: .*{pattern}"):
        altered(name)


def test_an_unknown_intensity_is_told(tmp_path):
    """Own perturbations take the same intensities."""
    with pytest.raises(ConfigError, match="unknown intensity"):
        find(written(tmp_path, SHUFFLE) + ":shuffle")(SAMPLE, 5, random.Random(0), intensity="much")


def test_names_of_perturbations():
    """A registered name stands for itself, and a wrong one is told with the nearest."""
    assert find("format") is PERTURBATIONS["format"]
    assert (label("format"), fingerprint("format")) == ("format", "format")
    assert label("a/b/mine.py:f") == "mine.py:f"
    assert {*PERTURBATIONS} > CHANGES_MEANING == {"constants", "bitflip"}
    with pytest.raises(ConfigError, match=r"unknown perturbation 'formt'; nearest: 'format'"):
        find("formt")


def test_other_perturbations_leave_nothing_to_undo():
    """Names are mapped back elsewhere, and what changes the meaning is not undone."""
    for variant in PERTURBATIONS["bitflip"](SAMPLE, 2, random.Random(0)).variants:
        assert undo("x = 1", SAMPLE, variant) == "x = 1"
