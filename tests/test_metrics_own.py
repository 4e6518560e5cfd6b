"""A metric of the user's own is found by its file, checked, and told where it is wrong."""

import math
from pathlib import Path

import pytest

from memoprobe import metrics, workers
from memoprobe.errors import ConfigError
from memoprobe.metrics import METRICS
from memoprobe.pipeline import choosing, derive
from memoprobe.store import open_store, results
from tests.test_derive import fill, plan

LENGTHS = """
def lengths(answer, reference, language):
    return min(len(answer), len(reference)) / max(len(answer), len(reference))
"""


def written(text, name="mine.py"):
    Path(name).write_text(text)
    return f"{name}:lengths"


def test_an_own_metric_is_measured_as_ours_are():
    """It suits every sample, and its name in scores has no folder."""
    Path("folder").mkdir()
    metric = metrics.find(written(LENGTHS, "folder/mine.py"))

    assert metric("ab", "abcd", "python") == 0.5
    assert metrics.label("folder/mine.py:lengths") == "mine.py:lengths"
    assert metrics.is_likeness("mine.py:lengths")


def test_its_version_is_its_files_hash():
    """An edited file is run anew and has another version, which SQLite can hold."""
    first = metrics.find(written(LENGTHS))
    second = metrics.find(written(LENGTHS.replace("min", "0 * min")))

    assert (first("a", "a", "c"), second("a", "a", "c")) == (1.0, 0.0)
    assert first.version != second.version
    assert max(first.version, second.version) < 2**63


WRONG = {
    "no file": (None, r"metric file mine.py cannot be read: No such file"),
    "no function": ("def length(): pass", "no function 'lengths'; did you mean 'length'"),
    "no Python": ("x = (", r"metric file mine.py cannot be run: SyntaxError"),
    "another signature": (
        "def lengths(answer): pass",
        r"metric mine.py:lengths: the function must take \(answer, reference, language\): too many",
    ),
    "a failure": (
        "def lengths(*a):\n    return 1 / 0",
        r"mine.py:lengths: the function fails: ZeroDivisionError: .*\(line 2\), on the answer 'a'",
    ),
    "nothing": ("def lengths(*a): pass", "gives None where a number from 0 to 1 is expected"),
    "a text": ("def lengths(*a): return '1'", "gives '1' where a number"),
    "too much": ("def lengths(*a): return 1.5", "gives 1.5 where a number"),
    "too little": ("def lengths(*a): return -0.1", "gives -0.1 where a number"),
    "no number": ("def lengths(*a): return float('nan')", "gives nan where a number"),
}


@pytest.mark.parametrize(("text", "pattern"), WRONG.values(), ids=WRONG)
def test_each_mistake_is_told(text, pattern):
    """The message names the file or function, what is wrong, and on which answer."""
    name = "mine.py:lengths" if text is None else written(text)

    with pytest.raises(ConfigError, match=pattern):
        metrics.find(name)("a", "b", "python")


def test_names_of_metrics():
    """A registered name stands for itself, and a wrong one is told with the nearest."""
    assert metrics.find("ncd") is METRICS["ncd"]
    assert metrics.label("ncd") == "ncd"
    assert [metrics.is_likeness(name) for name in ("ncd", "tests", "logprob_token")] == [
        True,
        False,
        False,
    ]
    with pytest.raises(ConfigError, match=r"unknown metric 'ncv'; nearest: 'ncd'.*FILE.py:FUNC"):
        metrics.find("ncv")
    with pytest.raises(ConfigError, match=r"metric 'a.py:f g': an own one is named"):
        metrics.find("a.py:f g")


@pytest.fixture
def store():
    with open_store(Path("run.db"), write=True) as opened:
        fill(opened, "s1", "s2", "s3")
        plan(opened, "s1", "s2", "s3")
        yield opened


def by(store, metric):
    return [row["value"] for row in results.rows_of(store, "scores") if row["metric"] == metric]


def test_a_changed_file_is_scored_again_and_the_rest_is_not(store):
    """Scores stand as long as the file does; the command says what it made anew."""
    name = written(LENGTHS)
    first = derive.score(store, ["token_levenshtein", name])
    before, ours = by(store, "mine.py:lengths"), by(store, "token_levenshtein")
    again = derive.score(store)
    same = by(store, "mine.py:lengths")
    written(LENGTHS.replace("min(", "0 * min("))
    changed = derive.score(store)

    assert (first.remade, again.remade, changed.remade) == ([], [], ["mine.py:lengths"])
    assert same == before
    assert len(before) == 24
    assert max(before) == 1.0
    assert set(by(store, "mine.py:lengths")) == {0.0}
    assert by(store, "token_levenshtein") == ours
    assert {row.metric for row in results.sensitivities(store)} >= {"mine.py:lengths"}


def test_a_file_that_is_gone_leaves_the_rest(store):
    """Its scores stay until all are made anew, and come back with the file."""
    name = written(LENGTHS)
    derive.score(store, ["token_levenshtein", name])
    Path("mine.py").unlink()
    kept = derive.score(store)
    n_kept = len(by(store, "mine.py:lengths"))
    gone = derive.score(store, map_back=False)
    n_gone = len(by(store, "mine.py:lengths"))
    written(LENGTHS)
    back = derive.score(store)

    assert [each.lost for each in (kept, gone, back)] == [[name], [name], []]
    assert (n_kept, n_gone, len(by(store, "mine.py:lengths"))) == (24, 0, 24)


def test_a_file_elsewhere_takes_the_place_of_one_of_its_name():
    """What is given last counts."""
    Path("folder").mkdir()
    names = [written(LENGTHS), written(LENGTHS, "folder/mine.py")]

    found = choosing.choose(f'["ncd", "{names[0]}", "dropped"]', [names[1]])

    assert found.names == ["ncd", names[1]]
    assert found.new({"mine.py:lengths": 1}) == [names[1]]


def test_workers_measure_by_it_too(store, monkeypatch):
    """They load the file themselves; a failure there is the same message."""
    monkeypatch.setattr(workers, "WORTH_IT", 0)
    pool = workers.Pool(jobs=2)
    derive.score(store, [written(LENGTHS)], pool=pool)
    found = by(store, "mine.py:lengths")
    written("def lengths(*a): return 2")

    with pytest.raises(ConfigError, match=r"mine\.py:lengths: the function gives 2 where"):
        derive.score(store, pool=pool)
    assert found == by(store, "mine.py:lengths")
    assert math.isclose(max(found), 1.0)


def test_a_metric_is_found_from_any_folder(tmp_path, monkeypatch):
    """Workers may have begun in another folder than that in which a file was named."""
    found = metrics.located(written(LENGTHS))
    monkeypatch.chdir("/")

    assert metrics.find(found).measure("ab", "ab", None) == 1.0
    assert metrics.label(found) == "mine.py:lengths"
    assert metrics.located("ncd") == "ncd"
