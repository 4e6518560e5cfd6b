"""Recompute every figure of a report from its database, by other means than the program's."""

import json
import re
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from memoprobe.errors import ConfigError
from memoprobe.pipeline import present
from memoprobe.report.page import render
from memoprobe.store import open_store
from tests.report_run import BENCHMARKS, LEVELS, METRIC, MODELS, once

GOLDEN = Path(__file__).with_name("report_golden.txt")


class Tables(HTMLParser):
    """Collect the tables of a page by their name: rows of cells, as a reader sees them."""

    def __init__(self, html):
        super().__init__()
        self.tables, self.drawn, self.words = {}, [], []
        self._rows, self._in, self._is_cell, self._is_drawn = None, None, False, False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self._in = tag
        if tag == "table":
            self._rows = self.tables[dict(attrs)["id"].removeprefix("table-")] = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in {"td", "th"}:
            self._is_cell = True
            self._rows[-1].append("")
        elif tag == "svg":
            self._is_drawn = True
            self.drawn.append(dict(attrs)["aria-label"])

    def handle_endtag(self, tag):
        self._in = None
        if tag in {"td", "th"}:
            self._is_cell = False
        self._is_drawn = self._is_drawn and tag != "svg"

    def handle_data(self, data):
        if self._in in {"style", "script"} or self._is_drawn:
            return
        if self._is_cell:
            self._rows[-1][-1] += data
        if data.strip():
            self.words.append(data.strip())


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    return once(tmp_path_factory)


@pytest.fixture(scope="module")
def html(db):
    with open_store(db, write=False) as store:
        data = present.report_data(store, "small")
    return render(replace(data, created="2026-11-29T12:00:00+00:00"))


@pytest.fixture(scope="module")
def page(html):
    return Tables(html)


@pytest.fixture(scope="module")
def query(db):
    with closing(sqlite3.connect(db)) as connection:
        connection.row_factory = sqlite3.Row
        yield lambda sql, *values: connection.execute(sql, values).fetchall()


@pytest.fixture(scope="module")
def values(query):
    """Return (model, benchmark, perturbation, metric, group) -> id -> definition -> row."""
    found = defaultdict(lambda: defaultdict(dict))
    for row in query(
        "SELECT v.*, s.control FROM sensitivities v JOIN samples s USING (benchmark, sample_id)"
    ):
        group = "controls" if row["control"] else "items"
        key = (row["model"], row["benchmark"], row["perturbation"], row["metric"], group)
        found[key][row["sample_id"]][row["definition"]] = row
    return found


def number(value, digits=2):
    if value is None:
        return "\u2013"
    shown = f"{value:.{digits}f}"
    return (shown if float(shown) else shown.removeprefix("-")).replace("-", "\u2212")


def p_value(value):
    if value is None:
        return "\u2013"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def around(estimate, low, high):
    if low is None:
        return number(estimate)
    return f"{number(estimate)} [{number(low)}, {number(high)}]"


def t_interval(numbers):
    """Return the mean and its t interval, by scipy."""
    if len(numbers) < 2 or max(numbers) - min(numbers) < 1e-12:
        return around(fmean(numbers), None, None)
    reach = stats.ttest_1samp(numbers, 0).confidence_interval()
    return around(fmean(numbers), reach.low, reach.high)


def of(members, definition, field="value"):
    return [row[definition][field] for row in members.values() if definition in row]


def comparison(query, definition, *place):
    """Return the row of the question "memorization", None where there is none."""
    found = query(
        "SELECT * FROM comparisons WHERE question = 'memorization' AND test = 'mean'"
        " AND definition = ? AND subject = ? AND context = ? AND perturbation = ? AND metric = ?",
        definition,
        *place,
    )
    return found[0] if found else None


def test_summary(page, values, query):
    """Each row's n, means, interval, quantile, shares and counts are those of its samples."""
    head, *rows = page.tables[f"summary-{METRIC}"]
    assert len(rows) == 16
    for row in rows:
        members = values[*row[:3], METRIC, row[3]]
        falls = of(members, "calibrated")
        noise = of(members, "calibrated", "answer_noise_p")
        [cell] = query(
            "SELECT * FROM cell_rows WHERE model = ? AND benchmark = ? AND perturbation = ?",
            *row[:3],
        )
        expected = t_interval(falls)
        if row[3] == "items":
            own = comparison(query, "own_fall", *row[:3], METRIC)
            if row[1] == "repairs":  # its items are in no clusters
                assert around(*own_interval(own)) == expected
            assert own["effect"] == pytest.approx(fmean(falls))
            expected = around(*own_interval(own))
        assert dict(zip(head[4:13], row[4:13], strict=True)) == {
            "n": str(len(falls)),
            "Recall m₀": number(fmean(of(members, "recall"))),
            "Floor": number(cell["floor"]),
            "Calibrated [95 %]": expected,
            "95 % quantile": number(float(np.quantile(falls, 0.95))),
            "Paper": number(fmean(of(members, "paper"))),
            "Noise floor": number(fmean(of(members, "paper", "noise_floor"))),
            "Excess": number(fmean(of(members, "paper", "excess"))),
            "Beyond answer noise": f"{fmean(p < 0.05 for p in noise):.0%}",
        }
        assert row[14] == str(cell["excluded"])


def own_interval(row):
    return row["effect"], row["effect_low"], row["effect_high"]


def test_summary_is_of_the_scores(values, query):
    """The calibrated sensitivities that the page averages follow from the scores."""
    levels = defaultdict(lambda: defaultdict(list))
    for row in query("SELECT * FROM scores WHERE metric = ?", METRIC):
        place = (row["model"], row["benchmark"], row["perturbation"], row["sample_id"])
        levels[place][row["level"]].append(row["value"])
    n = 0
    for (model, benchmark, perturbation, metric, _), members in values.items():
        for sample_id, row in members.items() if metric == METRIC else ():
            first, *others = (
                fmean(scores)
                for _, scores in sorted(levels[model, benchmark, perturbation, sample_id].items())
            )
            assert row["calibrated"]["value"] == pytest.approx(first - fmean(others))
            n += 1
    assert n == 2 * 2 * sum(2 * each - 1 for each in BENCHMARKS.values())


def test_answer(page, query):
    """The contrasts are those of the database, p of the fall is Holm's, the claim is the rule's."""
    _, *rows = page.tables["answer"]
    falls = [comparison(query, "own_fall", *row[:3], METRIC) for row in rows]
    ordered = sorted(fall["p_value"] for fall in falls)
    stepped = np.maximum.accumulate([p * (len(ordered) - k) for k, p in enumerate(ordered)])

    assert [tuple(row[:3]) for row in rows] == [
        (model, benchmark, "rename") for model in sorted(MODELS) for benchmark in sorted(BENCHMARKS)
    ]
    for row, fall in zip(rows, falls, strict=True):
        others = [
            comparison(query, name, *row[:3], METRIC)
            for name in ("calibrated", "retention", "recall")
        ]
        lows = [fall["effect_low"]] + [c["effect_low"] for c in others[:2] if c]
        noted = next((c["note"] for c in others if c and c["note"]), "")
        strong = len(lows) == 3 and min(lows) > 0 and not noted
        word = "sensitive" if lows[0] > 0 else "no fall shown"
        assert row[3] == ("memorized" if strong else word)
        assert row[4:6] == [str(fall["n_subject"]), str(others[0]["n_rest"])]
        assert row[6] == around(*own_interval(fall))
        assert row[7] == p_value(min(1, stepped[ordered.index(fall["p_value"])]))
        for place, contrast in zip((8, 10, 12), others, strict=True):
            expected = (
                [around(*own_interval(contrast)), p_value(contrast["p_holm"])]
                if contrast
                else ["\u2013", "\u2013"]
            )
            assert row[place : place + 2] == expected
        assert row[14] == noted


def test_corners(page, values):
    """Counts of the items by corner are those of both q."""
    _, *rows = page.tables["corners"]
    assert len(rows) == 4
    for row in rows:
        members = values[*row[:3], METRIC, "items"]
        counted = {
            (fall, recall): sum(
                (each["calibrated"]["control_q"] <= 0.05, each["recall"]["control_q"] <= 0.05)
                == (fall, recall)
                for each in members.values()
            )
            for fall in (True, False)
            for recall in (True, False)
        }
        wanted = [(True, True), (False, True), (True, False), (False, False)]
        assert row[3:] == [*(str(counted[each]) for each in wanted), "0"]


def test_calibration(page, values, query):
    """Placebo, gate, both treatments, edit shares and counts are those of the database."""
    summary = {tuple(row[:4]): row for row in page.tables[f"summary-{METRIC}"][1:]}
    for row in page.tables["placebo"][1:]:
        model, benchmark, _, group = row[:4]
        assert row[4] == summary[tuple(row[:4])][7]
        assert row[5] == summary[model, benchmark, "placebo", group][7]
    for row in page.tables["gate"][1:]:
        check_gate(row, values, query)
    for row in page.tables["edits"][1:]:
        shares = query(
            "SELECT level, avg(edit_share) AS share FROM variants WHERE benchmark = ?"
            " AND perturbation = ? AND level > 0 GROUP BY 1 ORDER BY 1",
            *row[:2],
        )
        assert row[2:-1] == [f"{each['share']:.0%}" for each in shares]
        assert row[-1] == f"lost a name {2 * BENCHMARKS[row[0]] - 1}"
    assert len(page.tables["placebo"]) == len(page.tables["gate"]) == 9


def check_gate(row, values, query):
    """Check one row of the gate: samples whose mean over levels is near the floor are taken."""
    members = values[*row[:3], METRIC, row[3]]
    means = {
        each["sample_id"]: each["mean"]
        for each in query(
            "SELECT sample_id, avg(mean) AS mean FROM curves WHERE model = ? AND benchmark = ?"
            " AND perturbation = ? AND metric = ? GROUP BY 1",
            *row[:3],
            METRIC,
        )
    }
    [cell] = query(
        "SELECT floor FROM cell_rows WHERE model = ? AND benchmark = ? AND perturbation = ?"
        " AND metric = ?",
        *row[:3],
        METRIC,
    )
    kept = [
        each["calibrated"]["value"]
        for name, each in members.items()
        if means[name] > cell["floor"] + 0.05
    ]
    assert row[4] == str(len(members))
    assert row[6] == str(len(members) - len(kept))
    assert row[7].split(" ")[0] == (number(fmean(kept)) if kept else "\u2013")
    if row[1] == "repairs" and kept:
        assert row[7] == t_interval(kept)


def test_both_treatments(page, query):
    """Falls with what was not answered left out, and with 0 in its place, are both there."""
    rows = page.tables["unanswered"][1:]
    assert len(rows) == 16
    assert any(row[5] != row[7] for row in rows)
    for row in rows:
        for treatment, n, fall in (("exclude", *row[4:6]), ("zero", *row[6:8])):
            found = [
                each["value"]
                for each in query(
                    "SELECT value FROM sensitivity_rows r JOIN samples s"
                    " USING (benchmark, sample_id) WHERE model = ? AND benchmark = ?"
                    " AND perturbation = ? AND metric = ? AND definition = 'calibrated'"
                    " AND s.control = ? AND unanswered = ?",
                    *row[:3],
                    METRIC,
                    row[3] == "controls",
                    treatment,
                )
            ]
            assert n == str(len(found))
            assert fall.split(" ")[0] == number(fmean(found))


def test_answers_are_counted(page, query):
    """Samples, controls, planned, answered, cut-off, empty and failed answers are counted."""
    for row in page.tables["answers"][1:]:
        model, benchmark, perturbation = row[:3]
        n = 2 * BENCHMARKS[benchmark] - 1
        states = {
            each["state"]: each["n"]
            for each in query(
                "SELECT state, count(*) AS n FROM responses WHERE model = ? AND benchmark = ?"
                " AND perturbation = ? GROUP BY 1",
                model,
                benchmark,
                perturbation,
            )
        }
        [failed] = query(
            "SELECT count(*) AS n FROM failures WHERE model = ? AND benchmark = ?"
            " AND perturbation = ?",
            model,
            benchmark,
            perturbation,
        )
        total = sum(states.values())
        share = states.get("truncated", 0) / total
        assert row[3:7] == [
            str(n),
            str(BENCHMARKS[benchmark] - 1),
            str(n * (LEVELS + 1) * 3),
            str(total),
        ]
        assert row[7] == f"{share:.1%}" + "!" * (share >= 0.02)
        assert row[9] == (f"refused {failed['n']}" if failed["n"] else "\u2013")


def test_curves(page, query):
    """Every point of a falloff curve is the mean of the samples' level means, with its n."""
    drawn = [label for label in page.drawn if label.startswith("Falloff")]
    assert len(drawn) == 8
    for label in drawn:
        place = re.match(r"Falloff of (\w+) on (\w+), (\w+):", label).groups()
        found = defaultdict(list)
        for row in query(
            "SELECT c.*, s.control FROM curves c JOIN samples s USING (benchmark, sample_id)"
            " WHERE model = ? AND benchmark = ? AND perturbation = ? AND metric = ?",
            *place,
            METRIC,
        ):
            found["controls" if row["control"] else "items", row["level"]].append(row["mean"])
        assert len(found) == 2 * (LEVELS + 1)
        for (group, level), means in found.items():
            assert f"{group}, level {level}: {t_interval(means)}, n = {len(means)}" in label


def test_maps_and_boxes(page, values, query):
    """Maps tell each cell's estimate and n; boxes tell median, quartiles and n."""
    [fall] = [label for label in page.drawn if label.startswith("Fall of the items:")]
    [recall] = [label for label in page.drawn if label.startswith("Recall of the items")]
    for model, benchmark in ((m, b) for m in MODELS for b in BENCHMARKS):
        place = (model, benchmark, "rename", METRIC)
        own, known = (comparison(query, name, *place) for name in ("own_fall", "recall"))
        where = f"{model} on {benchmark}, rename: "
        assert f"{where}{around(*own_interval(own))}, {own['n_subject']} items" in fall
        assert f"{where}{around(*own_interval(known))}" in recall
    boxes = " ".join(label for label in page.drawn if label.startswith("Distribution of"))
    for (model, benchmark, perturbation, metric, group), members in values.items():
        falls = of(members, "calibrated")
        q1, middle, q3 = np.percentile(falls, [25, 50, 75])
        told = (
            f"{model} on {benchmark}, {group}: median {number(middle)}, quartiles {number(q1)} and "
            f"{number(q3)}, n = {len(falls)}"
        )
        assert told in boxes or metric != METRIC, (told, perturbation)


def held(html, name):
    return json.loads(re.search(rf'id="{name}">(.*?)</script>', html, re.S)[1])


def test_comparisons(html, query):
    """Every comparison of the database is on the page, number by number, and no other."""
    fields = "subject context perturbation n_subject n_rest effect statistic p_value"
    names = [*fields.split(), "p_adjusted", "p_holm", "p_bh", "note"]
    shown = [row for family in held(html, "comparisons-data")["families"] for row in family]
    stored = query("SELECT * FROM comparisons")

    def flat(row):
        return [*row[:5], *(row[5] or [None] * 3), *row[6:]]

    wanted = [
        flat([own_interval(row) if name == "effect" else row[name] for name in names])
        for row in stored
    ]

    def rounded(row):
        return [float(f"{each:.6g}") if isinstance(each, float) else each for each in row]

    assert sorted(map(repr, map(flat, shown))) == sorted(map(repr, map(rounded, wanted)))


def test_samples(html, values, query):
    """Samples have the database's sensitivities, level means, scores and counts of flaws."""
    shown = held(html, "samples-data")
    assert {each["perturbation"] for each in shown} == {"rename"}
    assert {reason for each in shown for reason in each["reasons"]} == {
        "most sensitive",
        "random",
        "flagged",
    }
    for each in shown:
        place = (each["model"], each["benchmark"], "rename")
        group = "controls" if each["control"] else "items"
        stored = values[*place, METRIC, group][each["id"]]
        assert each["values"] == {
            name: float(f"{row['value']:.6g}") for name, row in stored.items()
        }
        means = {
            row["level"]: row["mean"]
            for row in query(
                "SELECT level, mean FROM curves WHERE model = ? AND benchmark = ?"
                " AND perturbation = ? AND metric = ? AND sample_id = ?",
                *place,
                METRIC,
                each["id"],
            )
        }
        for level in each["levels"]:
            assert level["mean"] == pytest.approx(means[level["level"]], rel=1e-5)
        [unanswered] = query(
            "SELECT (SELECT count(*) FROM responses r WHERE r.state <> 'ok' AND r.model = ?1"
            " AND r.benchmark = ?2 AND r.perturbation = ?3 AND r.sample_id = ?4)"
            " + (SELECT count(*) FROM failures f WHERE f.model = ?1"
            " AND f.benchmark = ?2 AND f.perturbation = ?3 AND f.sample_id = ?4) AS n",
            *place,
            each["id"],
        )
        assert sum(each["flaws"].values()) == unanswered["n"]
        assert ("flagged" in each["reasons"]) == bool(unanswered["n"])


def test_private_texts_are_withheld(db, tmp_path):
    """Of a benchmark whose authors ask for it no prompt, reference or answer is in the report."""
    path = tmp_path / "private.db"
    path.write_bytes(db.read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        for table in ("sample_rows", "plan_rows", "cell_rows", "sensitivity_rows"):
            connection.execute(f"UPDATE {table} SET benchmark = 'lbpp' WHERE benchmark = 'fixes'")
        connection.commit()
    with open_store(path, write=False) as store:
        examples = present.report_data(store, "private").examples
    held_back = [each for each in examples if each.benchmark == "lbpp"]
    levels = [level for each in held_back for level in each.levels]

    assert held_back
    assert {level.prompt for level in levels} == {present.WITHHELD}
    assert {level.reference for level in levels} == {None}
    assert {each.text for level in levels for each in level.answers} == {present.WITHHELD}
    others = [each for each in examples if each.benchmark != "lbpp"]
    assert all(each.levels[0].reference.startswith("def f") for each in others)


def test_tables_and_figures_are_written_beside(db, tmp_path):
    """Markdown, CSV and figures are written where they are wanted, or one message tells why not."""
    with open_store(db, write=False) as store:
        data = present.report_data(store, "small", examples=False)
    wanted = {"markdown": tmp_path / "t.md", "csv": tmp_path / "csv", "figures": tmp_path / "f"}
    paths = list(present.write_beside(data, **wanted))

    assert wanted["markdown"].read_text(encoding="utf-8").startswith("## What may be said")
    assert {path.suffix for path in paths} == {".md", ".csv", ".svg", ".pdf", ".png"}
    assert all(path.is_file() for path in paths)
    with pytest.raises(ConfigError, match=r"t.md: tables cannot be written"):
        list(present.write_beside(data, csv=wanted["markdown"]))


def test_detectors_are_recomputed(page, query):
    """Each row's means and AUC follow from the sensitivities, the controls of all benchmarks."""
    shown = page.tables["detectors"][1:]

    assert {tuple(row[:3]) for row in shown} == {
        (model, benchmark, "rename") for model in MODELS for benchmark in BENCHMARKS
    }
    for model, benchmark, perturbation, detector, *told in shown:
        sql = (
            "SELECT s.benchmark, s.value, a.control FROM sensitivities s"
            " JOIN samples a USING (benchmark, sample_id)"
            " WHERE s.model = ? AND s.perturbation = ? AND s.metric = ? AND s.definition = ?"
        )
        found = query(sql, model, perturbation, METRIC, detector)
        items = [r["value"] for r in found if r["benchmark"] == benchmark and not r["control"]]
        controls = [row["value"] for row in found if row["control"]]
        wins = fmean([(a > b) + (a == b) / 2 for a in items for b in controls])
        sizes = [str(len(items)), str(len(controls))]
        assert told[0].startswith(f"{number(wins)} [")
        assert told[1] == number(None)
        assert told[2:6] == [*sizes, number(fmean(items)), number(fmean(controls))]


def test_golden_of_a_tiny_run(page):
    """The words of the whole page are those of the golden file."""
    assert "\n".join(page.words) + "\n" == GOLDEN.read_text(encoding="utf-8")
