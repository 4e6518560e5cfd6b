"""The report: what it computes, what it says, and how it draws."""

import re
from dataclasses import replace
from itertools import groupby
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from memoprobe.report import answer, checks, corners, files, run, summary, terminal
from memoprobe.report import text as written
from memoprobe.report.diffs import SHOWN_CHARACTERS, segments, shortened
from memoprobe.report.headline import headline
from memoprobe.report.page import render
from tests.report_data import cell, comparison, small, synthetic, without_anything


@pytest.fixture(scope="module")
def data():
    return synthetic(n_items=12, n_controls=8)


@pytest.fixture(scope="module")
def rows(data):
    return summary.rows(data)


def said(data):
    """Return the headline of some data."""
    rows = summary.rows(data)
    return headline(data, rows, answer.findings(data, rows), corners.placed(data))


# --- summary ---


def test_summary_has_a_row_per_metric_cell_and_group(rows):
    """Every metric, model, benchmark and group has its row, the primary metric first."""
    names = [(row.metric, row.model, row.benchmark, row.group) for row in rows]

    assert len(names) == len(set(names)) == 2 * 2 * 3 * 2
    assert [metric for metric, _ in groupby(row.metric for row in rows)] == [
        "token_levenshtein",
        "levenshtein",
    ]


def test_summary_numbers_are_those_of_the_sensitivities(data):
    """Means, the t interval and the share of small p-values agree with a slow recomputation."""
    alone = summary.rows(replace(data, comparisons=[]))
    row = next(
        r for r in alone if (r.model, r.benchmark, r.group) == ("codellama-13b", "mbpp", "items")
    )
    members = [
        s
        for s in data.sensitivities
        if (s.model, s.benchmark, s.metric) == ("codellama-13b", "mbpp", "token_levenshtein")
        and ("mbpp", s.sample_id) not in data.controls
    ]
    calibrated = [s for s in members if s.definition == "calibrated"]
    paper = [s for s in members if s.definition == "paper"]
    values = [s.value for s in calibrated]
    tested = stats.ttest_1samp(values, 0)
    around = tested.confidence_interval()

    assert row.n == 12
    assert row.calibrated[:3] == pytest.approx((fmean(values), around.low, around.high))
    assert row.calibrated.p_value == pytest.approx(tested.pvalue)
    assert row.quantile == pytest.approx(stats.scoreatpercentile(values, 95))
    assert row.recall == pytest.approx(fmean(s.value for s in members if s.definition == "recall"))
    assert row.paper == pytest.approx(fmean(s.value for s in paper))
    assert row.noise_floor == pytest.approx(fmean(s.noise_floor for s in paper))
    assert row.excess == pytest.approx(row.paper - row.noise_floor)
    assert row.noise_share == sum(s.answer_noise_p < 0.05 for s in calibrated) / 12
    assert row.floor == 0.31


@pytest.mark.parametrize(
    ("truncated", "answered", "flagged"),
    [(19, 1000, False), (20, 1000, True), (0, 0, False)],
    ids=["below", "at the limit", "no answers"],
)
def test_two_percent_of_truncation_flag_a_row(truncated, answered, flagged):
    """A row is in doubt from 2 % of truncated answers on, and not without any answer."""
    one = small()
    changed = replace(one.cells[0], truncated=truncated, answered=answered)

    assert {row.flagged for row in summary.rows(replace(one, cells=[changed]))} == {flagged}


def test_cell_without_scores_keeps_a_row():
    """A cell whose answers all failed is in the table, with n = 0 and no number."""
    only = [cell("m", "humaneval", "code_generation", "paraphrase", 4, 0, 0)]

    unscored = without_anything(cells=only)
    [row] = summary.rows(unscored)

    assert (row.n, row.metric, row.calibrated, row.recall) == (0, None, None, None)
    assert "m · nothing scored" in terminal.text(unscored)


def test_values_that_are_no_numbers_are_left_out():
    """NaN counts neither for a mean nor for n."""
    one = small()
    broken = [
        replace(s, value=float("nan")) if s.sample_id == "humaneval/0" else s
        for s in one.sensitivities
    ]

    row = summary.rows(replace(one, sensitivities=broken))[0]

    assert row.n == 3
    assert row.calibrated.low is not None
    assert "nan" not in render(replace(one, sensitivities=broken)).lower().split("<h2>answer")[1]


def test_record_outside_all_cells_is_an_error():
    """A sensitivity without its cell would be lost, so it raises."""
    with pytest.raises(ValueError, match="no cell"):
        summary.rows(small(cells=[]))


def test_no_fall_has_two_intervals(data, rows):
    """Where the comparisons hold the items' fall, the summary takes its interval from there."""
    [found] = [
        c
        for c in data.comparisons
        if (c.subject, c.context, c.metric, c.definition)
        == ("codellama-13b", "mbpp", "levenshtein", "own_fall")
    ]
    row = next(
        r
        for r in rows
        if (r.model, r.benchmark, r.metric, r.group)
        == ("codellama-13b", "mbpp", "levenshtein", "items")
    )

    assert row.calibrated[:3] == (found.effect, found.effect_low, found.effect_high)


def test_items_of_a_project_are_not_independent():
    """The interval of a mean is wider where its samples come in a few clusters that agree."""
    one = small(comparisons=[])
    ids = sorted({s.sample_id for s in one.sensitivities} - {c for _, c in one.controls})
    values = {name: 0.1 + 0.3 * (place // 2 % 2) for place, name in enumerate(ids)}
    many = replace(
        one,
        sensitivities=[
            replace(s, sample_id=f"{s.sample_id}-{k}", value=values[s.sample_id] + 0.001 * k)
            for s in one.sensitivities
            if s.sample_id in values and s.definition == "calibrated"
            for k in range(10)
        ],
    )
    clusters = {
        (s.benchmark, s.sample_id): s.sample_id.rpartition("-")[0] for s in many.sensitivities
    }
    alone, together = (
        summary.rows(each)[0].calibrated for each in (many, replace(many, clusters=clusters))
    )

    assert together.estimate == pytest.approx(alone.estimate)
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_terminal_shows_the_primary_metric_and_what_may_be_said(data, rows):
    """The terminal's two tables a model stay within 120 columns; other metrics are named."""
    shown = terminal.text(data)

    assert max(map(len, shown.splitlines())) <= 120
    row = next(r for r in rows if (r.model, r.benchmark) == ("codellama-13b", "mbpp"))
    around = written.interval(*row.calibrated[:3])
    numbers = ["12", f"{row.recall:.2f}", "0.31", around]
    first = shown.partition("qwen")[0]
    line, claimed = (each for each in first.splitlines() if around in each)
    assert re.split(r" {2,}", line)[:7] == ["mbpp", "paraphrase", "items", *numbers]
    assert re.split(r" {2,}", claimed)[:3] == ["mbpp", "memorized", around]
    assert "! 2 % or more" in shown
    assert "(scored too, see the report: levenshtein)" in shown
    assert shown.count("token_levenshtein") == 2


def test_terminal_without_controls_has_no_contrasts():
    """Without controls there is the fall and the claim that it allows."""
    shown = terminal.text(small(controls=frozenset(), comparisons=[]))

    assert "retention" not in shown
    assert re.search(r"what may be said\nhumaneval +(sensitive|no fall shown)", shown)


def test_terminal_tells_why_controls_are_not_comparable(data):
    """The note of a contrast stands below the table, and the claim is the weaker one."""
    noted = [replace(c, note="controls not comparable: length") for c in data.comparisons]
    shown = terminal.text(replace(data, comparisons=noted))

    assert "mbpp: controls not comparable: length" in shown
    assert "memorized" not in shown


# --- words ---


def test_headline_counts_many_pairs(data):
    """Of more than three pairs the headline counts those whose interval lies above 0."""
    found = said(data)

    assert found.done == "2 models on 3 benchmarks with 60 samples: 6,462 of 6,480 planned answers."
    falls, contrasts, recalls = (sentence.replace("\u00a0", " ") for sentence in found.found)
    assert falls.startswith(
        "4 of 6 pairs of model and benchmark are sensitive: the 95 % interval of their mean fall "
        "lies above 0 (4 of them after Holm's correction)"
    )
    assert falls.endswith(
        "largest fall is that of codellama-13b on quixbugs (rename), 0.25 [0.22, 0.30] (n = 12)."
    )
    assert contrasts == (
        "In 4 of 6 pairs the items' fall exceeds the controls', its 95 % interval above 0, most so "
        "for codellama-13b on quixbugs (rename), by 0.25 [0.22, 0.30] (40 items, 20 controls); "
        "“memorized” may be said of codellama-13b on mbpp (paraphrase), codellama-13b on quixbugs "
        "(rename)."
    )
    assert recalls.startswith("In 4 of 6 pairs recall on the items exceeds the controls'")
    assert re.search(r"of 72 items: \d+ falls and recalls, \d+ recalls only", recalls)


def test_headline_never_claims_with_controls_that_are_not_comparable(data):
    """A note on the controls takes the strong word away, and the headline counts the notes."""
    noted = [replace(c, note="controls not comparable: recall") for c in data.comparisons]
    sentence = said(replace(data, comparisons=noted)).found[1]

    assert "memorized" not in sentence
    assert sentence.endswith(
        "none meets all three conditions for saying more than “sensitive” (in 6 of 6 the controls "
        "are not comparable)."
    )


def test_headline_shortens_a_long_list_of_claims(data):
    """Of more than three pairs with the strong word, three are named and the others counted."""
    above = [
        comparison("memorization", "mean", definition, "token_levenshtein", place, 1)
        for definition in ("calibrated", "own_fall", "retention", "recall")
        for place in {(row.model, row.benchmark, row.task) for row in summary.rows(data)}
    ]
    sentence = said(replace(data, comparisons=above)).found[1]

    assert sentence.endswith(" and 3 more.")


def test_few_pairs_are_named_one_by_one():
    """Up to three pairs are each named; an interval around 0 shows no fall."""
    one = small(comparisons=[])
    falling, still = (
        said(
            replace(
                one,
                sensitivities=[
                    replace(s, value=fall + 0.01 * int(s.sample_id[-1])) for s in one.sensitivities
                ],
            )
        ).found
        for fall in (0.3, -0.3)
    )

    assert re.fullmatch(
        r"Averaged over the altered levels, performance falls by 0\.\d\d.\[0\.\d\d,.0\.\d\d\] "
        r"\(n.=.4\) for m on humaneval \(paraphrase\): sensitive\.",
        falling[0],
    )
    assert still[0].endswith(": no fall shown.")
    compared = said(small()).found
    assert compared[1].startswith("The items' fall exceeds the controls' by ")
    assert compared[2].startswith("Recall on the items exceeds the controls' by ")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"controls": frozenset()}, "There are no control items"),
        ({"comparisons": []}, "Items and controls have not been compared"),
        ({"comparisons": []}, "Recall, the performance on the original items, lies between"),
        ({"sensitivities": []}, "There is nothing to report yet"),
        ({"sensitivities": []}, "Recall is not known"),
    ],
    ids=["no controls", "no comparisons", "recall alone", "no sensitivities", "no recall"],
)
def test_headline_says_what_is_missing(changes, told):
    """Where there is nothing to conclude from, the headline says so, in three sentences."""
    found = said(small(**changes)).found

    assert len(found) == 3
    assert any(told in sentence for sentence in found)


def test_placebos_are_no_answer(data):
    """A placebo's falls and contrasts are in the tables of the calibration and nowhere above."""
    asked = {"paraphrase": "placebo"}

    def renamed(records):
        return [
            replace(each, perturbation=asked.get(each.perturbation, each.perturbation))
            for each in records
        ]

    placebo = replace(
        data,
        cells=renamed(data.cells),
        sensitivities=renamed(data.sensitivities),
        curves=renamed(data.curves),
        comparisons=renamed(data.comparisons),
    )
    found = answer.findings(placebo, summary.rows(placebo))

    assert {each.cell.benchmark for each in found} == {"quixbugs"}
    assert "placebo" not in " ".join(said(placebo).found)
    assert {each.cell.benchmark for each in corners.placed(placebo)} == {"quixbugs"}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.2049, "0.20"),
        (-0.05, "\u22120.05"),
        (-0.001, "0.00"),
        (None, "\u2013"),
        (float("nan"), "\u2013"),
    ],
)
def test_number(value, shown):
    """Numbers have two digits and a real minus; what is no number is a dash."""
    assert written.number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0004, "<0.001"), (0.0345, "0.035"), (1.0, "1.000"), (None, "\u2013")],
)
def test_p_value(value, shown):
    """A p-value has three digits."""
    assert written.p_value(value) == shown


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=60))
def test_visible_text_can_be_encoded(text):
    """Whatever a model answers can be written as UTF-8 and holds no control character."""
    shown = written.visible(text)

    shown.encode()
    assert not re.search(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


# --- differences ---

texts = st.lists(st.sampled_from(["a", "b ", "the\n", "(", " ", "x1"]), max_size=30).map("".join)


@given(texts, texts)
def test_segments_hold_both_texts(before, after):
    """Without the insertions the first text is left, without the deletions the second."""
    parts = segments(before, after)

    assert "".join(part.text for part in parts if part.kind != "ins") == before
    assert "".join(part.text for part in parts if part.kind != "del") == after


def test_segments_name_the_words_that_changed():
    """One changed word is one deletion and one insertion."""
    assert [tuple(part) for part in segments("return the first x", "return the last x")] == [
        ("same", "return the "),
        ("del", "first "),
        ("ins", "last "),
        ("same", "x"),
    ]


@pytest.mark.parametrize("joint", ["", "\n"], ids=["one line", "many lines"])
def test_segments_of_repetitive_texts_stay_whole(joint):
    """A text of one sign repeated is not compared sign by sign, and still holds both texts."""
    before, after = f"({joint}" * 2000 + "a", "b" + f"({joint}" * 1990

    parts = segments(before, after)

    assert "".join(part.text for part in parts if part.kind != "ins") == before
    assert len(parts) <= 3


def test_long_texts_are_cut():
    """Of a huge text the beginning is shown, with the length of the rest."""
    assert shortened("x" * SHOWN_CHARACTERS) == "x" * SHOWN_CHARACTERS
    assert shortened("x" * (SHOWN_CHARACTERS + 1200)).endswith("x\n… 1,200 more characters")


# --- tables ---


def test_gate_takes_items_near_the_floor():
    """Taken are samples whose mean over all levels is below the floor plus the gate's margin."""
    one = small(comparisons=[])
    low = {"humaneval/0", "humaneval/1"}
    curves = [
        replace(c, means=dict.fromkeys(c.means, 0.35 if c.sample_id in low else 0.8))
        for c in one.curves
    ]
    table = checks.gated(replace(one, curves=curves))
    kept = [
        s.value
        for s in one.sensitivities
        if (s.metric, s.definition) == ("token_levenshtein", "calibrated")
        and s.sample_id not in low | {c for _, c in one.controls}
    ]
    items, controls = ([*row] for row in table.rows)

    assert (items[3:5], items[6]) == (["items", 4], 2)
    assert items[7][0] == pytest.approx(fmean(kept))
    assert controls[5] == controls[7]
    assert not checks.gated(replace(one, cells=[replace(one.cells[0], floor={})])).rows


def test_both_treatments_stand_side_by_side():
    """The falls with what was not answered left out and as 0 are each the mean of their own."""
    one = small(comparisons=[])
    shown = [s for s in one.sensitivities if s.definition == "calibrated"]
    zero = [replace(s, value=s.value - 0.1) for s in shown]
    table = checks.treatments(replace(one, treatment="exclude", treated_otherwise=zero))
    turned = checks.treatments(replace(one, treatment="zero", treated_otherwise=zero))

    for row in table.rows:
        assert row[7][0] == pytest.approx(row[5][0] - 0.1)
        assert row[4] == row[6]
    assert [row[5] for row in turned.rows] == [row[7] for row in table.rows]
    assert not checks.treatments(one).rows


def test_placebo_stands_beside_the_perturbation():
    """The placebo's falls are in one row with those of the same model, benchmark and group."""
    one = small(comparisons=[])
    asked = [
        replace(s, perturbation="placebo", value=s.value / 10)
        for s in one.sensitivities
        if s.definition == "calibrated"
    ]
    with_placebo = replace(
        one,
        cells=[*one.cells, replace(one.cells[0], perturbation="placebo")],
        sensitivities=[*one.sensitivities, *asked],
    )
    table = checks.placebos(summary.rows(with_placebo))

    assert [row[:4] for row in table.rows] == [
        ["m", "humaneval", "paraphrase", "items"],
        ["m", "humaneval", "paraphrase", "controls"],
    ]
    assert all(row[5][0] == pytest.approx(row[4][0] / 10) for row in table.rows)


def test_run_is_told_without_json(data):
    """Settings, servers, versions, dates, commits and hashes are words; unknown facts stay."""
    settings, models, benchmarks = run.tables(data)
    told = dict(settings.rows)

    assert told["Asked"] == "2025-11-28 09:30 UTC to 2025-11-29 11:59 UTC"
    assert told["Report of"] == "2025-11-29 12:00 UTC"
    assert told["Sampling"] == "temperature 0.3, top_p 0.5, max_tokens 1024"
    assert (told["Metrics"], told["note"]) == ("token_levenshtein, levenshtein", "a pilot")
    assert models.rows == [
        [
            "codellama-13b",
            "codellama/CodeLlama-13b-hf",
            "completions",
            "chat_template_kwargs (thinking False)",
            "http://gpu1:8000/v1",
            "vllm 0.11.0",
            16384,
            "top_k 20",
        ]
    ]
    assert benchmarks.rows[0] == [
        "humaneval",
        "code generation",
        "paraphrase",
        20,
        8,
        "openai/openai_humaneval 7dce6050",
        "8b1f3a52c0",
        "too long 2",
    ]
    assert not [cell for row in settings.rows for cell in row if re.search(r"[{}\[\]]", str(cell))]


def test_run_survives_facts_of_another_form():
    """What is no JSON, or not in the form of today, is shown as it is."""
    odd = {"settings": "{broken", "server/m/u": "text", "benchmark/humaneval": "[1]", "x": "{1"}
    settings, models, benchmarks = run.tables(small(info=odd, created="today"))

    assert dict(settings.rows)["x"] == "{1"
    assert dict(settings.rows)["Report of"] == "today"
    assert models.rows == []
    assert benchmarks.rows[0][5:] == [None, None, written.MISSING]


# --- files ---


def test_tables_are_written_as_csv_in_full_precision(data, tmp_path):
    """Every table is a file; an interval fills three columns and loses no digit."""
    paths = files.write_csv(data, tmp_path / "new")
    names = {path.stem for path in paths}
    lines = (tmp_path / "new" / "answer.csv").read_text(encoding="utf-8").splitlines()
    head, first = (line.split(",") for line in lines[:2])
    row = dict(zip(head, first, strict=True))
    found = answer.findings(data, summary.rows(data))[0]

    assert {"answer", "summary-token_levenshtein", "comparisons", "corners", "gate"} <= names
    assert {"answers", "edits", "run", "models", "benchmarks"} <= names
    assert float(row["fall_low"]) == found.fall.low
    comparisons = (tmp_path / "new" / "comparisons.csv").read_text(encoding="utf-8")
    assert comparisons.count("\n") == 1 + len(data.comparisons)


def test_markdown_escapes_what_markdown_would_obey():
    """Signs of Markdown and HTML in a name are shown; every row has as many cells as the head."""
    odd = "a|b_*c*<i>`d`[e]"
    named = [replace(each, model=odd) for each in small().sensitivities]
    one = small(
        cells=[replace(small().cells[0], model=odd)],
        sensitivities=named,
        curves=[],
        comparisons=[],
        examples=[],
    )
    shown = files.markdown(one)
    table = shown.split("\n\n")[1].splitlines()

    assert table[2].startswith("| a\\|b\\_\\*c\\*&lt;i>\\`d\\`\\[e\\] | humaneval |")
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {16}
    assert "exploratory" not in files.markdown(synthetic(n_items=3, n_controls=2))
