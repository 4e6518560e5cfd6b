"""Check study files and flags."""

from pathlib import Path

import pytest

from memoprobe import study
from memoprobe.errors import ConfigError

GOOD = """\
name = "good"
levels = 4
[sampling]
temperature = 1
[[models]]
name = "a"
base_urls = ["http://x/v1"]
[[models]]
name = "b"
model = "B"
base_urls = ["http://y/v1"]
interface = "completions"
extra_body = { top_k = 1, chat = { x = 2 } }
[[benchmarks]]
name = "humaneval"
limit = 3
[[benchmarks]]
path = "mine.jsonl"
task = "program_repair"
"""


def load(text):
    path = Path("s.toml")
    path.write_text(text, encoding="utf-8")
    return study.load(path)


def test_a_study_file_is_read():
    """Defaults fill what it leaves out."""
    found = load(GOOD)

    assert (found.name, found.levels, found.answers, found.sampling.top_p) == ("good", 4, 3, 0.5)
    assert found.sampling.temperature == 1.0
    assert [model.served_model for model in found.models] == ["a", "B"]
    assert found.models[1].extra_body == {"top_k": 1, "chat": {"x": 2}}
    assert [spec.label for spec in found.benchmarks] == ["humaneval", "mine"]


def test_the_file_names_the_study_where_it_does_not_itself():
    """The stem of the path."""
    assert load(GOOD.replace('name = "good"', "")).name == "s"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("levels = 4", "leveles = 4", "line 2: unknown key 'leveles'; did you mean 'levels'"),
        ("levels = 4", "zzz = 4", "line 2: unknown key 'zzz'; known: name, seed"),
        ("temperature = 1", 'temperature = "1"', "line 4: 'temperature' must be a number"),
        ("temperature = 1", "temperature = true", "line 4: 'temperature' must be a number"),
        ("levels = 4", "levels = 4.5", "line 2: 'levels' must be a whole number"),
        ('model = "B"', "model = 1", "line 10: 'model' must be a string, not 1"),
        ('model = "B"', 'modl = "B"', "line 10: unknown key 'modl'"),
        ('base_urls = ["http://y/v1"]\n', "", "line 8: key 'base_urls' is missing"),
        ('["http://y/v1"]', '"http://y/v1"', "line 11: 'base_urls' must be a list"),
        ('["http://y/v1"]', "[3]", "line 11"),
        ('"completions"', '"telepathy"', "line 12: 'interface' must be one of chat, completions"),
        ("{ top_k = 1, chat = { x = 2 } }", "3", "line 13: 'extra_body' must be a table"),
        ("[sampling]\ntemperature = 1", "sampling = 3", "line 3: 'sampling' must be a table"),
        ('"program_repair"', '"repair"', "must be one of code_generation"),
        ("levels = 4", "levels = ", "Invalid value (at line 2"),
        ("levels = 4", "levels = 0", "levels must be 1 to 20"),
        ('name = "b"', 'name = "a"', "two models have the same name"),
        ("limit = 3", "limit = 0", "limit must be at least 1"),
        ('task = "program_repair"', "", "needs a task"),
        ('path = "mine.jsonl"', 'path = "x/humaneval.jsonl"', "two benchmarks have the same name"),
        ('name = "humaneval"', "", "a name or a path"),
        ('"humaneval"', '"humanevil"', "line 15: unknown benchmark 'humanevil'; did you mean"),
        ("levels = 4", "answers = 0", "answers must be"),
        ("levels = 4", 'intensity = "strong"', "share or count"),
        ('["http://y/v1"]', "[]", "needs base_urls"),
        ('model = "B"', "tokens_per_minute = -1", "tokens_per_minute must be above 0"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_file_and_line(old, new, words):
    """And with the nearest known name."""
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        load(GOOD.replace(old, new))

    assert words in str(caught.value)
    assert "s.toml" in str(caught.value)


def test_unreadable_files_are_told():
    """A folder, a missing file, another encoding."""
    Path("folder.toml").mkdir()
    Path("latin.toml").write_bytes("name = 'é'".encode("latin-1"))

    for name in ("folder.toml", "latin.toml", "missing.toml"):
        with pytest.raises(ConfigError, match=name):
            study.load(Path(name))


def test_flags_make_a_study():
    """A name, a file that is there, and a file by its ending."""
    Path("rows.txt").touch()
    flags = {
        "base_url": ["http://x/v1", "http://y/v1"],
        "model": "m",
        "benchmark": ["humaneval", "rows.txt", "more.jsonl"],
        "task": "program_repair",
        "limit": 5,
        "temperature": 0.0,
        "placebo": None,
        "timeout_s": 9.0,
    }

    found = study.from_flags(flags)

    assert found.models[0].base_urls == ("http://x/v1", "http://y/v1")
    assert found.models[0].timeout_s == 9
    assert [(s.name, s.path, s.limit) for s in found.benchmarks] == [
        ("humaneval", None, 5),
        (None, "rows.txt", 5),
        (None, "more.jsonl", 5),
    ]
    assert found.sampling.temperature == 0
    assert not found.placebo


def test_flags_override_a_file():
    """Those of sampling and of every model as well."""
    load(GOOD)

    found = study.from_flags({"study_file": Path("s.toml"), "top_p": 0.9, "max_in_flight": 3})

    assert found.sampling.top_p == 0.9
    assert found.sampling.temperature == 1
    assert {model.max_in_flight for model in found.models} == {3}
    assert [spec.limit for spec in found.benchmarks] == [3, None]
