"""Check that a study's perturbations are bound to its run: own ones, and matched strength."""

import json
from pathlib import Path
from statistics import median

import pytest

from memoprobe.perturbations import PERTURBATIONS
from memoprobe.pipeline import perturbing
from memoprobe.plan import rng_of
from memoprobe.scoring import Reading, read
from memoprobe.store import open_store
from memoprobe.study import Study
from tests import fakes
from tests.test_cli import memoprobe, rows, run
from tests.test_scoring import REPAIR, respond
from tests.test_store import sample

OWN = '''
def shout(sample, levels, rng, *, intensity="share"):
    """Return the text with ever more comments in front."""
    return ["# louder\\n" * level + sample.text for level in range(1, levels + 1)]
'''


def test_an_own_perturbation_is_run_and_remembered(repairs):
    """It is filed under its name without the folder; another content is another study."""
    Path("mine").mkdir()
    Path("mine/loud.py").write_text(OWN)
    more = ["--perturbation", "mine/loud.py:shout"]

    with fakes.serve() as fake:
        run(fake, repairs, *more)
        asked = len(fake.requests)
        run(fake, repairs, *more)
        again = len(fake.requests)
        Path("mine/loud.py").write_text(OWN.replace("louder", "softer"))
        refused = run(fake, repairs, *more, code=2)

    (found,) = rows("run.db", "SELECT DISTINCT perturbation AS name FROM variants")
    assert found["name"] == "loud.py:shout"
    assert asked == again
    assert "perturbation" in refused
    memoprobe("score", "run.db")


def test_a_wrong_name_sends_nothing(repairs):
    """The message names the nearest, and how an own one is written."""
    with fakes.serve() as fake:
        said = run(fake, repairs, "--perturbation", "renam", code=2)

        assert fake.requests == []
    assert "nearest: 'rename'" in said
    assert "FILE.py:FUNCTION" in said


def test_strength_is_matched_across_benchmarks():
    """With match_edit_share two benchmarks end at one edit share; the aims are kept."""
    short = "def f(a, b):\n    return a + b\n"
    names = [f"name{k}" for k in range(12)]
    body = "".join(f"    {name} = {name} + {k}\n" for k, name in enumerate(names))
    long = f"def f({', '.join(names)}):\n{body}    return [1, 2, 3, 4, 5, 6, 7, 8, 9, {names[0]}]\n"
    for name, text in (("dense", long), ("sparse", "\n".join([short, "x = [" + "1, " * 60 + "]"]))):
        lines = [
            json.dumps(
                {"id": str(k), "input": text.replace("a +", f"a + {k} +"), "reference": text}
            )
            for k in range(3)
        ]
        Path(f"{name}.jsonl").write_text("\n".join(lines))
    head = 'name = "s"\nlevels = 2\nanswers = 1\nrepeats = 1\n[[models]]\nname = "fake"\n'
    benchmarks = "".join(
        f'[[benchmarks]]\npath = "{name}.jsonl"\ntask = "program_repair"\nlimit = LIMIT\n'
        for name in ("dense", "sparse")
    )
    shares = {}
    for matched in ("false", "true"):
        for limit in ("2", "3"):
            with fakes.serve() as fake:
                text = f'base_urls = ["{fake.url}"]\n' + benchmarks.replace("LIMIT", limit)
                Path("s.toml").write_text(f"match_edit_share = {matched}\n{head}{text}")
                memoprobe("run", "s.toml", "--db", f"{matched}.db")
        found = rows(f"{matched}.db", "SELECT benchmark, edit_share FROM variants WHERE level = 2")
        by_name = {"dense": [], "sparse": []}
        for row in found:
            by_name[row["benchmark"]].append(row["edit_share"])
        assert [len(values) for values in by_name.values()] == [3, 3]
        shares[matched] = [median(values) for values in by_name.values()]

    assert shares["false"][0] > 3 * shares["false"][1]
    assert shares["true"][0] < 1.5 * shares["true"][1]


def test_prose_and_code_are_matched_together():
    """A long text is reworded, and long code renamed, no more than the weakest benchmark allows."""
    told = "Write a function to find the sum of all the elements of the given list of numbers."
    prose = {"task": "code_generation", "input_kind": "prose", "benchmark": "prose"}
    long = " ".join(f"Given a list, return the largest number of item {k}." for k in range(9))
    names = [f"name{k}" for k in range(12)]
    code = f"def f({', '.join(names)}):\n    return [{', '.join(names)}, {'1, ' * 150}]\n"
    samples = {
        "prose": [sample(**prose, text=f"{told} {long}")],
        "code": [sample(benchmark="code", text=code, entry_point="f")],
    }
    tops = {}
    for matched in (False, True):
        study = Study(match_edit_share=matched)
        with open_store(Path(f"{matched}.db"), write=True) as store:
            perturbing.settle_strength(store, study, samples)
            made = {
                name: perturbing.variants_of(study, each, *perturbing.names_of(study, each), store)
                for name, (each,) in samples.items()
            }
        tops[matched] = {name: levels.variants[-1].edit_share for name, levels in made.items()}

    assert tops[False]["prose"] > 1.5 * tops[False]["code"]
    assert tops[True]["code"] == tops[False]["code"]
    assert tops[True]["prose"] == pytest.approx(tops[True]["code"], rel=0.2)
    assert [len(levels.variants) for levels in made.values()] == [6, 6]


@pytest.mark.parametrize(("map_back", "same"), [(True, True), (False, False)])
def test_an_echo_is_not_charged_for_our_own_lines(map_back, same):
    """Dead code that an answer repeats is taken out before it is measured."""
    made = PERTURBATIONS["dead-code"](REPAIR, 5, rng_of(0, "x"))
    variant = made.variants[-1]

    reading = Reading(interface="chat", map_back=map_back)
    answer = read(respond(REPAIR, 5, variant.text), REPAIR, variant, reading)
    plain = read(respond(REPAIR, 0, REPAIR.text), REPAIR, made.variants[0], reading)

    assert (answer.code == plain.code) == same
