"""Of several true references the nearest counts, as many for items as for controls."""

import json
from pathlib import Path

import pytest

from memoprobe import benchmarks, study
from memoprobe.benchmarks.sources import Selection
from memoprobe.errors import BenchmarkError, ConfigError
from memoprobe.pipeline import derive, present
from memoprobe.records import content_hash
from memoprobe.scoring import Reading, score_sample
from memoprobe.store import open_store, results
from memoprobe.store.database import Cell, PlanRow
from memoprobe.study import BenchmarkSpec
from tests.benchmark_data import copied
from tests.test_store import response, sample, variant

SUM = "def total(xs):\n    return sum(xs)"
LOOP = "def total(xs):\n    n = 0\n    for x in xs:\n        n += x\n    return n"
FOLD = "def total(xs):\n    return fold(add, xs, 0)"
REPAIR = sample(text="def total(xs):\n    return 0", entry_point="total", reference=SUM)
SEVERAL = sample(text=REPAIR.text, entry_point="total", reference=SUM, alternatives=(LOOP, FOLD))


def values(asked, *codes, names=("token_levenshtein",)):
    """Return the performance of answers at level 0."""
    levels = {0: variant(0, asked.text)}
    answers = [
        response(key=b"", answer=n, text=f"```python\n{code}\n```") for n, code in enumerate(codes)
    ]
    return [
        score.value
        for score in score_sample(asked, levels, answers, names, Reading(interface="chat"))
    ]


def test_the_nearest_reference_counts():
    """Each of them is a perfect answer, and a stranger is as near as to the nearest."""
    alone = [
        values(sample(text=REPAIR.text, entry_point="total", reference=each), "def total(xs): pass")
        for each in SEVERAL.references
    ]

    assert values(SEVERAL, SUM, LOOP, FOLD) == [1.0, 1.0, 1.0]
    assert values(REPAIR, LOOP)[0] < 0.6
    assert values(SEVERAL, "def total(xs): pass") == max(alone)


def test_another_reference_makes_another_sample():
    """And one without any keeps the hash that it had."""
    assert SEVERAL.references == (SUM, LOOP, FOLD)
    assert sample().references == ()
    assert content_hash(SEVERAL) != content_hash(REPAIR)
    assert content_hash(sample()) == "3e62a64692371f6623eb0e40c25956d2"


def rows(*many):
    """Return rows of an own benchmark with these references."""
    return [
        {"id": n, "input": REPAIR.text, "references": list(several)}
        for n, several in enumerate(many)
    ]


def load(folder, found, **selection):
    path = copied(folder, "mine.jsonl", found)
    return benchmarks.load_own("mine", [path], "program_repair", {}, Selection(**selection))


def test_own_rows_give_several(tmp_path):
    """A study may use fewer of them, or the first alone; rows with too few are counted."""
    given = rows((SUM, LOOP, FOLD), (FOLD, SUM, LOOP))
    whole, two, first = (
        load(tmp_path / str(n), given, references=n).samples[0].references for n in (None, 2, 1)
    )
    some = load(tmp_path, rows((SUM, LOOP), (SUM,)), references=2)

    assert (len(whole), two, first) == (3, whole[:2], whole[:1])
    assert (len(some.samples), some.skipped) == (1, {"fewer than 2 references": 1})


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (rows((SUM, LOOP), (SUM,)), r"1 references of '1' where '0' has 2; the nearest of more is"),
        ([rows((SUM, LOOP))[0] | {"reference": SUM}], "line 1: give either 'reference' or 'ref"),
        (rows((SUM, 3)), r"line 1: expected texts under 'references', found \['def"),
        (rows((SUM, "# later")), "line 1: 'reference' holds no code"),
        ([{"id": 1, "input": "x", "references": "x"}], "line 1: expected a list under 'refer"),
    ],
)
def test_rows_that_do_not_compare_are_refused(tmp_path, found, words):
    """The message says which row and how to mend it."""
    with pytest.raises(BenchmarkError, match=words):
        load(tmp_path, found)


PROBLEM = {
    "name": "1_A. Made up",
    "description": "Print what comes in.\n\nInput\n\nOne integer.\n",
    "solutions": {
        "language": [3, 3, 3, 2],
        "solution": ["print(input())", "print( input() )\r\n", "print(input())", "int main() {}"],
    },
}
APPS = {
    "id": 7,
    "question": "Print what comes in.",
    "solutions": json.dumps(["print(input())", " ", "x = input()\nprint(x)"]),
    "input_output": "",
}


@pytest.mark.parametrize(
    ("name", "row", "others"),
    [
        ("codecontests", PROBLEM, ("print( input() )",)),
        ("apps", APPS, ("x = input()\nprint(x)",)),
    ],
)
def test_registered_benchmarks_keep_several(tmp_path, name, row, others):
    """Different solutions in the language asked for; without a declaration the first counts."""
    benchmark = benchmarks.find(name)
    benchmarks.fetch(benchmark, copied(tmp_path, "train.jsonl", [row]), tmp_path / "home")
    first, two, three = (
        benchmarks.load(benchmark, tmp_path / "home", Selection(references=n)) for n in (None, 2, 3)
    )

    assert benchmark.several
    assert first.samples[0].references == ("print(input())",)
    assert two.samples[0].alternatives == others
    assert three.skipped == {"fewer than 3 references": 1}


@pytest.mark.parametrize(
    ("lines", "n"),
    [
        ('name = "apps"\nreference = "nearest"', 3),
        ('name = "apps"\nreference = "nearest"\nreferences = 2', 2),
        ('name = "apps"', None),
        ('name = "humaneval"\nreference = "first"', 1),
        ('path = "a.jsonl"\ntask = "program_repair"\nreference = "nearest"', None),
    ],
)
def test_a_study_declares_the_nearest(tmp_path, lines, n):
    """And of how many; own rows may say so themselves."""
    (tmp_path / "s.toml").write_text(
        f'[[models]]\nname = "m"\nbase_urls = ["http://x"]\n[[benchmarks]]\n{lines}\n'
    )

    assert study.load(tmp_path / "s.toml").benchmarks[0].n_references == n


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"name": "mbpp", "reference": "nearest"}, "mbpp has one reference a sample; the nearest"),
        ({"name": "apps", "references": 3}, 'references, 2 or more, belongs to reference = "near'),
        ({"name": "apps", "reference": "nearest", "references": 1}, "2 or more, belongs to"),
    ],
)
def test_what_cannot_be_declared_is_refused(spec, words):
    """Only where there are several, and at least two of them."""
    model = study.ModelSpec(name="m", base_urls=("http://x",))
    wanted = study.Study(models=(model,), benchmarks=(BenchmarkSpec(**spec),))

    with pytest.raises(ConfigError, match=words):
        study.check(wanted, "here")


def fill(store, several, controls):
    """Store a falling answer at every level of three items and three controls."""
    model = {"model": "m", "interface": "chat", "extra_body": {}}
    store.set_info({"settings": {"seed": 0, "width": 1, "models": {"m": model}}})
    for benchmark, alternatives in (("b", several), ("c", controls)):
        fields = {"text": REPAIR.text, "entry_point": "total", "control": benchmark == "c"}
        fields |= {"benchmark": benchmark, "reference": SUM, "alternatives": alternatives}
        ids = [f"{benchmark}{n}" for n in range(3)]
        store.add_samples([sample(sample_id=each, **fields) for each in ids])
        store.replace_plan({PlanRow(Cell("m", benchmark, "rename"), 2, 1, 1): ids})
        for each in ids:
            for level in range(3):
                place = {"benchmark": benchmark, "sample_id": each}
                shape = variant(level, REPAIR.text + "\n" * level)
                made = {name: getattr(shape, name) for name in shape.__slots__}
                store.save(type(shape)(**made | place))
                text = f"```python\n{LOOP}{'; y = 1' * level}\n```"
                key = f"{each} {level}".encode()
                store.save(response(**place, level=level, key=key, text=text))
    store.flush()


@pytest.mark.parametrize("controls", [(LOOP,), ()])
def test_items_are_set_against_controls_with_as_many_references(controls):
    """The kind of reference is told by views, run_info and samples, and a mismatch in words."""
    with open_store(Path("run.db"), write=True) as store:
        fill(store, (LOOP,), controls)
        derive.score(store, ["token_levenshtein"])
        kinds = {row["benchmark"]: row["reference"] for row in results.rows_of(store, "scores")}
        falls = results.sensitivities(store, definitions=["calibrated"])
        found = {row.sample_id: row.control_p for row in falls}
        contrasts = {row.context for row in results.comparisons(store) if row.n_rest}
        stored = {each.benchmark: each.alternatives for each in store.samples()}
        hints = present.unmatched(store)

    assert kinds == {"b": "nearest of 2", "c": "nearest of 2" if controls else "given"}
    assert json.loads(store_info()["references"])["b"] == "nearest of 2"
    assert stored == {"b": (LOOP,), "c": controls}
    assert (found["b0"] is None) == (not controls)
    assert contrasts == ({"b"} if controls else set())
    assert [hint.split(":")[0] for hint in hints] == ([] if controls else ["program_repair"])


def store_info():
    with open_store(Path("run.db"), write=False) as store:
        return store.info()
