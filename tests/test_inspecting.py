"""The command perturb shows what a perturbation does, and never what is not to be spread."""

import json
import re
from statistics import median

import pytest

from memoprobe import benchmarks
from memoprobe.perturbations import Levels
from memoprobe.perturbations.levels import variants
from memoprobe.pipeline import inspecting
from memoprobe.pipeline.meaning import Rates
from memoprobe.records import Sample
from tests import fakes
from tests.test_cli import memoprobe, rows, run

ROWS = [
    {"id": "a", "input": "Write a function to find the sum of all elements of the given list."},
    {"id": "b", "input": "Find the largest of the given integers and return it as the result."},
    {"id": "c", "input": "x"},
]
CODE = {"id": "r", "input": "def f(one, two):\n    total = one - two\n    return total\n",
        "reference": "def f(one, two):\n    return one + two\n"}  # fmt: skip
PROSE = ("prose.jsonl", "--task", "code_generation")


@pytest.fixture(autouse=True)
def _files(tmp_path):
    (tmp_path / "prose.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "code.jsonl").write_text(json.dumps(CODE))


def plain(text, kept):
    """Return one side of marked differences: with what came or with what went."""
    gone, come = ("", r"\1") if kept == "new" else (r"\1", "")
    text = re.sub(r"\[-(.*?)-\]", gone, text, flags=re.DOTALL)
    return re.sub(r"\{\+(.*?)\+\}", come, text, flags=re.DOTALL)


def test_levels_are_shown_as_differences_from_the_original():
    """What came makes the level's text, what went the original; each head has its shares."""
    text = memoprobe("perturb", *PROSE, "--sample", "a", "--levels", 3)
    (found,) = json.loads(memoprobe("perturb", *PROSE, "--sample", "a", "--levels", 3, "--json"))
    parts = dict(re.findall(r"level (\d)[^\n]*\n(.*)", text))

    assert [each["level"] for each in found["levels"]] == [0, 1, 2, 3]
    for each in found["levels"]:
        shown = parts[str(each["level"])]
        assert plain(shown, "new") == each["text"]
        assert plain(shown, "old") == ROWS[0]["input"]
        if each["level"]:
            assert f"edit share {each['edit_share']:.2f}, distance {each['distance']:.3f}" in text
    assert found["perturbation"] == "lexical"
    assert found["rejected"] == {}


def test_code_is_renamed_unless_another_perturbation_is_named():
    """Each kind of text has its own; the names that changed are told."""
    place = ("perturb", "code.jsonl", "--task", "program_repair", "--sample", "r", "--json")
    (renamed,) = json.loads(memoprobe(*place))
    (other,) = json.loads(memoprobe(*place, "--perturbation", "placebo"))

    assert renamed["perturbation"] == "rename"
    assert set(renamed["levels"][-1]["rename_map"]) == {"f", "one", "two", "total"}
    assert other["perturbation"] == "placebo"


def sample(name="prose", text="one two three four"):
    return Sample(benchmark=name, sample_id="a", task="code_generation", language="python",
                  input_kind="prose", text=text)  # fmt: skip


def perturbed(texts, rejected=None, **fields):
    item = sample(**fields)
    found = variants(item, "fixed", [(text, {}) for text in texts])
    return inspecting.Perturbed(item, Levels(found, rejected or {}))


def test_a_terminal_gets_colours():
    """Green came, red and struck out went; otherwise marks stand in their place."""
    item = perturbed(["one six three four"], {"number": 2})

    coloured = inspecting.as_text(item, coloured=True)
    assert "one \x1b[31;9mtwo \x1b[0m\x1b[32msix \x1b[0mthree four" in coloured
    marked = inspecting.as_text(item, coloured=False)
    assert "one [-two -]{+six +}three four" in marked
    assert "rejected: 2 number" in marked
    assert "\x1b" not in marked


def test_a_sample_that_cannot_be_altered_says_so():
    """Level 0 is all there is."""
    assert "no level above 0" in memoprobe("perturb", *PROSE, "--sample", "c")


def test_private_texts_are_not_shown():
    """Ids and shares are, on the terminal and as JSON; no word of the text is."""
    private = next(each.name for each in benchmarks.BENCHMARKS.values() if each.private)
    item = perturbed(["secret six three four"], name=private, text="secret two three four")

    shown = inspecting.as_text(item, coloured=False) + json.dumps(inspecting.as_json(item))
    assert "edit share 0.25" in shown
    assert "secret" not in shown
    assert f"{private} a, fixed level 1" in shown


def test_figures_are_medians_and_quartiles_a_level():
    """They agree with the levels one by one; what cannot be altered is counted."""
    (figure,) = json.loads(memoprobe("perturb", *PROSE, "--stats", "--json"))
    shares = []
    for row in ROWS[:2]:
        (found,) = json.loads(memoprobe("perturb", *PROSE, "--sample", row["id"], "--json"))
        shares.append([each["edit_share"] for each in found["levels"]])

    assert (figure["samples"], figure["unaltered"]) == (3, 1)
    assert [row["level"] for row in figure["rows"]] == [1, 2, 3, 4, 5]
    for row in figure["rows"]:
        level = sorted(each[row["level"]] for each in shares if len(each) > row["level"])
        assert row["samples"] == len(level)
        assert row["edit_share"] == pytest.approx(median(level))
        assert level[0] <= row["edit_share_q1"] <= row["edit_share"] <= row["edit_share_q3"]
        assert row["passed"] is None


def test_figures_of_given_samples():
    """Quartiles by hand, a level that nobody has, rejections summed, and a pass rate asked."""
    found = [
        perturbed(["six two three four", "six six three four"], {"equal": 1}),
        perturbed(["six six three four"], {"equal": 2, "number": 1}),
        perturbed(["six six six four"]),
    ]
    rates = {1: Rates(0.75, None), 2: Rates(None, 1.0)}
    (figure,) = inspecting.figures(found, 3, {"fixed": {"code": 5}}, lambda _: rates)
    first, second, third = figure["rows"]

    assert (first["edit_share_q1"], first["edit_share"], first["edit_share_q3"]) == (
        0.375, 0.5, 0.625,
    )  # fmt: skip
    assert second["edit_share_q1"] == second["edit_share_q3"] == 0.5
    assert [row["samples"] for row in figure["rows"]] == [3, 1, 0]
    assert [row["passed"] for row in figure["rows"]] == [0.75, None, None]
    assert [row["parsed"] for row in figure["rows"]] == [None, 1.0, None]
    assert third["edit_share"] is third["distance"] is None
    assert figure["rejected"] == {"code": 5, "equal": 3, "number": 1}
    assert inspecting.heading(figure).endswith("3 samples; rejected: 5 code, 3 equal, 1 number")


def test_figures_are_a_table_on_the_terminal():
    """One line a level below the counts."""
    text = memoprobe("perturb", *PROSE, "--stats", "--limit", 3, "--levels", 2)
    head, columns, *lines = text.strip().splitlines()

    assert head == "prose lexical: 3 samples; 1 of them cannot be altered"
    assert columns.split() == list(inspecting.COLUMNS)
    assert [line.split()[0] for line in lines] == ["1", "2"]


def test_a_run_database_shows_what_it_holds(repairs):
    """Its variants are those that were asked, whatever the files say now."""
    with fakes.serve() as fake:
        run(fake, repairs, "--placebo")
    stored = rows("run.db", "SELECT * FROM variants WHERE sample_id = 'r1' ORDER BY level")
    repairs.unlink()

    shown = json.loads(memoprobe("perturb", "repairs", "--db", "run.db", "--sample", "r1",
                                 "--json"))  # fmt: skip
    assert {each["perturbation"] for each in shown} == {"placebo", "rename"}
    for each in shown:
        texts = [row["text"] for row in stored if row["perturbation"] == each["perturbation"]]
        assert [level["text"] for level in each["levels"]] == texts
    table = memoprobe("perturb", "repairs", "--db", "run.db", "--stats", "--perturbation", "rename")
    assert table.startswith("repairs rename: 6 samples")
    text = memoprobe("perturb", "others", "--db", "run.db", "--stats", code=2)
    assert "run.db has nothing of others; it has repairs placebo, repairs rename" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*PROSE,), "give either --sample ID or --stats"),
        ((*PROSE, "--stats", "--sample", "a"), "give either --sample ID or --stats"),
        ((*PROSE, "--sample", "A1"), "no sample 'A1'; nearest: "),
        (("prose.jsonl", "--stats"), "prose.jsonl: a file of your own needs --task"),
        (("humanevil", "--stats"), "nearest: 'humaneval'"),
        (("humaneval", "--stats"), "run `memoprobe fetch humaneval`"),
        ((*PROSE, "--stats", "--perturbation", "lexicon"), "unknown perturbation 'lexicon'"),
        ((*PROSE, "--stats", "--perturbation", "rename"), "rename alters code, but the text of"),
        (
            (*PROSE, "--stats", "--perturbation", "paraphrase-endpoint"),
            "look at what a run made of its replies, by --db",
        ),
        (
            (*PROSE, "--stats", "--perturbation", "paraphrase-file"),
            "paraphrase-file needs path under [paraphrase]",
        ),
    ],
)
def test_mistakes_are_told(arguments, message):
    """One message that says what to give."""
    assert message in memoprobe("perturb", *arguments, code=2)


def test_a_study_file_gives_what_is_not_given(tmp_path):
    """Its levels, its seed and its benchmarks by name or path; options override it."""
    (tmp_path / "s.toml").write_text(
        'levels = 3\nseed = 7\n[[models]]\nname = "m"\nbase_urls = ["http://localhost/v1"]\n'
        '[[benchmarks]]\nname = "own"\npath = "prose.jsonl"\ntask = "code_generation"\nlimit = 1\n'
    )

    def levels(*more):
        (found,) = json.loads(memoprobe("perturb", "own", "--study", "s.toml", "--json", *more))
        return found

    assert len(levels("--sample", "a")["levels"]) == 4
    assert len(levels("--sample", "a", "--levels", 2)["levels"]) == 3
    assert levels("--stats")["samples"] == 1
    assert levels("--stats", "--limit", 2)["samples"] == 2


def test_an_own_perturbation_gives_what_a_run_would_ask(tmp_path, repairs):
    """Seeds hang on its name without the folder, here as in a run."""
    (tmp_path / "mine.py").write_text(
        "def tail(sample, levels, rng, *, intensity='share'):\n"
        "    return [sample.text + f'# {rng.random()} {n}' for n in range(levels)]\n"
    )
    with fakes.serve() as fake:
        run(fake, repairs, "--perturbation", tmp_path / "mine.py:tail", "--limit", 1)
    place = ("--sample", rows("run.db", "SELECT sample_id FROM variants")[0]["sample_id"], "--json")
    made = memoprobe("perturb", repairs, "--task", "program_repair", *place,
                     "--perturbation", tmp_path / "mine.py:tail")  # fmt: skip

    assert json.loads(made) == json.loads(memoprobe("perturb", "repairs", "--db", "run.db", *place))
