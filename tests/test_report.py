"""The report: what it computes, what it says, and that it is one harmless file."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from itertools import groupby
from statistics import fmean

import altair as alt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from memoprobe.records import Curve, Sensitivity
from memoprobe.report import summary
from memoprobe.report import text as written
from memoprobe.report.charts import svg
from memoprobe.report.data import CellKey, ReportData
from memoprobe.report.diffs import SHOWN_CHARACTERS, segments, shortened
from memoprobe.report.distribution import MAX_POINTS, distributions
from memoprobe.report.falloff import falloffs
from memoprobe.report.figures import write as figures
from memoprobe.report.headline import headline
from memoprobe.report.inline import inline
from memoprobe.report.page import render
from tests.report_data import TASKS, cell, example, synthetic

HOSTILE = (
    "</script><script>window.pwned=1</script><img src=x onerror=alert(1)>\"'&"
    "\0\ud835\u202eabc\x1b[31m"
)


@pytest.fixture(scope="module")
def data():
    return synthetic(n_items=12, n_controls=8)


@pytest.fixture(scope="module")
def page(data):
    return render(data)


@pytest.fixture(scope="module")
def rows(data):
    return summary.rows(data)


def small(**changes):
    """Return the data of one model on one benchmark with the given fields replaced."""
    one = synthetic(
        models=("m",), tasks={"humaneval": "code_generation"}, n_items=4, n_controls=3, n_examples=1
    )
    return replace(one, **changes)


def without_anything(**changes):
    """Return the data of a run that has nothing yet."""
    empty = {"controls": frozenset(), "sensitivities": [], "curves": [], "comparisons": []}
    return small(**{"cells": [], "examples": [], **empty, **changes})


class Page(HTMLParser):
    """Collect the elements of a page with their attributes, and its visible text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.words, self._tags = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._tags.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in self._tags:
            while self._tags.pop() != tag:
                pass

    def handle_data(self, data):
        if not {"style", "script"} & set(self._tags):
            self.words.append(data)


# --- summary ---


def test_summary_has_a_row_per_metric_cell_and_group(rows):
    """Every metric, model, benchmark and group has its row, the primary metric first."""
    names = [(row.metric, row.model, row.benchmark, row.group) for row in rows]

    assert len(names) == len(set(names)) == 2 * 2 * 3 * 2
    assert [metric for metric, _ in groupby(row.metric for row in rows)] == [
        "token_levenshtein",
        "levenshtein",
    ]


def test_summary_numbers_are_those_of_the_sensitivities(data, rows):
    """Means, the t interval and the share of small p-values agree with a slow recomputation."""
    row = next(
        r for r in rows if (r.model, r.benchmark, r.group) == ("codellama-13b", "mbpp", "items")
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
    around = stats.ttest_1samp(values, 0).confidence_interval()

    assert row.n == 12
    assert row.calibrated == pytest.approx((fmean(values), around.low, around.high))
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

    [row] = summary.rows(without_anything(cells=only))

    assert (row.n, row.metric, row.calibrated, row.recall) == (0, None, None, None)
    assert "nothing scored" in summary.text([row])


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


def test_text_fits_a_terminal_and_shows_the_contrast(data, rows):
    """The terminal's table stays within 120 columns and ends with items minus controls."""
    shown = summary.text(rows, data.comparisons)

    assert max(map(len, shown.splitlines())) <= 120
    assert "codellama-13b · rename · token_levenshtein" in shown
    row = next(r for r in rows if (r.model, r.benchmark) == ("codellama-13b", "mbpp"))
    numbers = ["12", f"{row.recall:.2f}", "0.31", written.interval(*row.calibrated)]
    line = next(line for line in shown.splitlines() if written.interval(*row.calibrated) in line)
    assert re.split(r" {2,}", line)[:6] == ["mbpp", "items", *numbers]
    assert "! 2 % or more" in shown
    assert re.search(
        r"items minus controls · calibrated.*\n.*\ncodellama-13b +humaneval +para", shown
    )
    assert "controls ·" not in summary.text(rows)


# --- words ---


def test_headline_says_sensitive_and_nothing_more(data, rows):
    """The headline counts cells whose interval lies above 0; no sentence claims a cause."""
    said = headline(data, rows)
    largest = max(row.calibrated.estimate for row in rows if row.metric == "token_levenshtein")

    assert said.done == "2 models on 3 benchmarks with 60 samples: 6,462 of 6,480 planned answers."
    assert said.found[0].startswith("6 of 6 pairs of model and benchmark are sensitive")
    assert f"codellama-13b on quixbugs (rename): {largest:.2f}" in said.found[0]
    assert said.found[1].startswith("In 4 of 6 pairs with controls the items fall further")


def test_few_cells_are_named_one_by_one():
    """Up to four cells each get a sentence; an interval around 0 is "not shown to be" sensitive."""
    one = small()
    falling, still = (
        replace(
            one,
            sensitivities=[
                replace(s, value=fall + 0.01 * int(s.sample_id[-1])) for s in one.sensitivities
            ],
        )
        for fall in (0.3, -0.3)
    )
    falling, still = (headline(each, summary.rows(each)).found for each in (falling, still))

    assert falling[0].startswith("m on humaneval (paraphrase) is sensitive: averaged over")
    assert "is not shown to be sensitive" in still[0]
    assert falling[1].startswith("Fall of the items minus fall of the controls: m on humaneval")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"controls": frozenset()}, "There are no control items"),
        ({"comparisons": []}, "Items and controls have not been compared"),
        ({"sensitivities": []}, "There is nothing to report yet"),
    ],
    ids=["no controls", "no comparisons", "no sensitivities"],
)
def test_headline_says_what_is_missing(changes, said):
    """Where there is nothing to conclude from, the headline says so."""
    one = small(**changes)

    assert any(said in sentence for sentence in headline(one, summary.rows(one)).found)


def test_no_finding_of_memory(page):
    """The page never calls a model's knowledge of an item by the word METHOD 4 reserves."""
    assert "memoriz" not in " ".join(Page(page).words).lower()


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


# --- charts ---


def test_falloff_shows_means_with_t_bands(data):
    """Each point is the mean of its level over the group's curves, with scipy's t interval."""
    [found] = [
        f
        for f in falloffs(data, legend=False)
        if f.cell == CellKey("codellama-13b", "mbpp", "paraphrase")
    ]
    points = found.panel.spec["datasets"]["points"]
    point = next(p for p in points if (p["group"], p["level"]) == ("controls", 3))
    values = [
        c.means[3]
        for c in data.curves
        if (c.model, c.benchmark, c.metric) == ("codellama-13b", "mbpp", "token_levenshtein")
        and ("mbpp", c.sample_id) in data.controls
    ]
    around = stats.ttest_1samp(values, 0).confidence_interval()

    assert len(points) == 12
    assert (point["estimate"], point["low"], point["high"]) == pytest.approx(
        (fmean(values), around.low, around.high)
    )
    assert found.panel.spec["datasets"]["floor"][0]["floor"] == 0.31


def test_distribution_is_tukeys_box(data):
    """Quartiles, median and whiskers are those of the values; every sample is a point."""
    found = distributions(data, legend=False)[1]
    sets = found.panels[0].spec["datasets"]
    values = sorted(
        s.value
        for s in data.sensitivities
        if (s.model, s.benchmark, s.metric, s.definition)
        == ("qwen2.5-coder-14b", "quixbugs", "token_levenshtein", "calibrated")
        and ("quixbugs", s.sample_id) not in data.controls
    )
    q1, q3 = stats.scoreatpercentile(values, 25), stats.scoreatpercentile(values, 75)
    box = sets["boxes"][2]

    assert (found.task, found.perturbation) == ("program_repair", "rename")
    assert [
        panel.name.removeprefix("distribution-program_repair-rename-") for panel in found.panels
    ] == [
        "calibrated",
        "paper",
        "paper-noise-floor",
        "paper-excess",
    ]
    assert (box["q1"], box["q3"]) == pytest.approx((q1, q3))
    assert box["low"] == min(v for v in values if v >= q1 - 1.5 * (q3 - q1))
    assert box["high"] == max(v for v in values if v <= q3 + 1.5 * (q3 - q1))
    assert sorted(p["value"] for p in sets["points"] if abs(p["y"] - box["y"]) < 6) == values


def test_full_panels_show_evenly_spaced_ranks():
    """A panel never shows more points than its limit, and always both ends of a box."""
    many = synthetic(
        models=("m",),
        tasks={"mbpp": "code_generation"},
        n_items=900,
        n_controls=0,
        metrics=["levenshtein"],
    )
    sets = distributions(many, legend=False)[0].panels[0].spec["datasets"]
    values = [s.value for s in many.sensitivities if s.definition == "calibrated"]
    shown = [point["value"] for point in sets["points"]]

    assert len(shown) == MAX_POINTS
    assert (min(shown), max(shown)) == (min(values), max(values))


def test_charts_are_valid_vega_lite():
    """Altair's schema accepts every specification as it is drawn."""
    data = small()
    panels = [falloffs(data, legend=True)[0].panel, distributions(data, legend=True)[0].panels[0]]

    for panel in panels:
        alt.LayerChart.from_dict(panel.spec).to_dict()


def test_log_probabilities_have_a_scale_of_their_own():
    """Curves far outside [0, 1] are not squeezed into the scale of performances."""
    one = small()
    curves = [replace(c, means={k: v - 40 for k, v in c.means.items()}) for c in one.curves]
    no_floor = replace(one.cells[0], floor={})
    [found] = falloffs(replace(one, curves=curves, cells=[no_floor]), legend=False)

    assert re.search(r">\u221239\.\d<|>\u221240\.\d<|>\u221239<|>\u221240<", svg(found.panel))


def test_inline_drawing_tells_its_values(data):
    """A drawing in the page names its values in titles, holds no identifier and says what it is."""
    panel = falloffs(data, legend=False)[0].panel
    root = ET.fromstring(inline(panel))

    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == panel.description
    assert panel.spec["datasets"]["points"][3]["told"] in [t.text for t in root.iter("title")]
    assert not [e for e in root.iter() if "id" in e.attrib or "{" in e.tag]


def test_figures_are_written_in_three_formats(tmp_path):
    """Every chart becomes an SVG, a PDF and a PNG; names that collide are told apart."""
    tasks = {"a b": "code_generation", "a_b": "code_generation"}
    paths = figures(synthetic(models=("m",), tasks=tasks, n_items=3), tmp_path / "new")

    assert sorted(paths) == sorted((tmp_path / "new").iterdir())
    assert len(paths) == (2 + 4) * 3
    heads = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    assert all(path.read_bytes().startswith(heads[path.suffix]) for path in paths)


# --- page ---


def test_page_loads_nothing(page):
    """No attribute, style or script of the page points outside of it."""
    attributes = [
        (name, value)
        for _, attrs in Page(page).elements
        for name, value in attrs.items()
        if name in {"src", "href", "xlink:href", "srcset", "data", "action", "poster", "background"}
    ]

    assert {name for name, _ in attributes} == {"href"}
    assert all(value.startswith("#") or value == "data:," for _, value in attributes)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(|https?:", page)


def test_page_allows_one_script_and_no_request(page):
    """The content security policy names the hash of the page's own script and nothing else."""
    elements = Page(page).elements
    [policy] = [a["content"] for tag, a in elements if a.get("http-equiv")]

    assert re.match(r"default-src 'none'; .*script-src 'sha256-[\w+/=]+';", policy)
    assert sum(tag == "script" for tag, _ in elements) == 1


def test_same_data_same_bytes():
    """The page is a function of the data alone: not of a clock, nor of the order of records."""
    data = small()
    page = render(data)
    shuffled = replace(
        data,
        cells=data.cells[::-1],
        sensitivities=data.sensitivities[::-1],
        curves=data.curves[::-1],
    )

    assert render(data) == page
    assert render(shuffled) == page


def test_page_shows_what_there_is(data, page):
    """Every model, benchmark, setting, definition of a family and sample is on the page."""
    words = " ".join(Page(page).words)

    for said in ("qwen2.5-coder-14b", *TASKS, *data.info, *data.info.values(), data.title):
        assert said in words
    assert "confirmatory, family of 6" in re.sub(r"\s+", " ", words)
    assert "The 10 most sensitive samples" in words
    assert "timeout 2, context_overflow 1" in words
    assert "7% · 14% · 21% · 28% · 35%" in words
    assert "20 (8)" in words
    assert page.count("<svg") == 2 * 3 + 2 * 4
    assert "<del>Write a function </del><ins>Implement </ins>" in page
    assert words.count("Which benchmarks stand out") == 1


def test_correction_is_named_where_it_is_known():
    """A family says how its p-values were adjusted."""
    one = small(corrections={("memorization", "mean"): "holm"})

    assert re.search(r"confirmatory, family of 1, holm<", render(one))


def hostile(text):
    """Return data in which every string a model, a benchmark or a user chooses is ``text``."""
    one = small()
    names = {
        "model": text,
        "benchmark": text,
        "sample_id": text,
        "perturbation": text,
        "metric": text,
    }
    shown = example(0, text)
    levels = [
        replace(
            level, prompt=text, reference=text, answers=[(text, None, text), (None, None, text)]
        )
        for level in shown.levels
    ]
    renamed = replace(
        one.cells[0],
        model=text,
        benchmark=text,
        perturbation=text,
        failed={text: 1},
        rejected={text: 2},
        floor={text: 0.2},
    )
    comparison = replace(
        one.comparisons[0], question=text, subject=text, context=text, metric=text, definition=text
    )
    return ReportData(
        title=text,
        created=text,
        info={text: text},
        cells=[renamed],
        controls=frozenset(),
        sensitivities=[replace(s, **names) for s in one.sensitivities],
        curves=[replace(c, **names) for c in one.curves],
        comparisons=[comparison],
        examples=[replace(shown, **names, levels=levels)],
        corrections={(text, text): text},
    )


def test_hostile_text_is_only_text():
    """Markup, NUL, half surrogates and reversing marks from outside become visible signs."""
    html = render(hostile(HOSTILE))
    parsed = Page(html)
    words = "".join(parsed.words)

    html.encode()
    assert sum(tag == "script" for tag, _ in parsed.elements) == 1
    assert "img" not in {tag for tag, _ in parsed.elements}
    assert not any(name.startswith("on") for _, attrs in parsed.elements for name in attrs)
    assert not re.search("[\0\x1b\u202e\ud835]", html)
    assert "<script>window.pwned=1</script>" in words
    assert "⟨U+0000⟩⟨U+D835⟩⟨U+202E⟩abc⟨U+001B⟩[31m" in words


def test_hostile_names_make_valid_figures(tmp_path):
    """Figures of hostile names are well-formed files inside their folder."""
    paths = figures(hostile(HOSTILE + "/../.."), tmp_path)

    assert {path.parent for path in paths} == {tmp_path}
    for path in paths:
        if path.suffix == ".svg":
            ET.parse(path)


ONE_LEVEL = Curve(
    model="m",
    benchmark="humaneval",
    sample_id="humaneval/0",
    perturbation="paraphrase",
    metric="token_levenshtein",
    means={0: 0.5},
)
BROKEN = replace(ONE_LEVEL, means={0: float("nan")})
NAN = Sensitivity(
    model="m",
    benchmark="humaneval",
    sample_id="humaneval/0",
    perturbation="paraphrase",
    metric="token_levenshtein",
    definition="calibrated",
    value=float("nan"),
    n_levels=0,
    noise_floor=None,
    excess=float("nan"),
    answer_noise_p=None,
    control_p=None,
)
LONE = [cell("m", "humaneval", "code_generation", "paraphrase", 1, 0, 0)]


@pytest.mark.parametrize(
    ("poor", "said"),
    [
        (without_anything(), "Nothing has been run"),
        (without_anything(cells=LONE), "No sample has been scored"),
        (without_anything(cells=LONE, curves=[ONE_LEVEL]), "No sample has a sensitivity"),
        (without_anything(cells=LONE, curves=[replace(ONE_LEVEL, means={})]), "No sample has been"),
        (without_anything(cells=LONE, curves=[BROKEN]), "No sample has been scored"),
        (without_anything(cells=LONE, sensitivities=[NAN]), "nothing to report yet"),
        (
            without_anything(cells=LONE, sensitivities=[replace(NAN, value=0.2)]),
            "is not shown to be sensitive",
        ),
        (small(controls=frozenset()), "There are no control items"),
        (small(comparisons=[]), "There is nothing to compare"),
        (small(examples=[replace(example(0, "m"), levels=[])]), "The 1 most sensitive sample<"),
        (small(examples=[example(0, "m", levels=1)]), "Level 0"),
        (
            small(cells=[replace(small().cells[0], edit_shares={}, failed={}, rejected={})]),
            "\u2013",
        ),
    ],
    ids=[
        "nothing",
        "no answers",
        "one level",
        "no level",
        "no mean",
        "not a number",
        "one sample",
        "no controls",
        "no comparisons",
        "example without levels",
        "example of one level",
        "no bookkeeping",
    ],
)
def test_poor_data_still_make_a_page(poor, said):
    """A run with hardly anything in it has a report that says what is missing."""
    assert said in render(poor)


def test_example_without_answers_says_so():
    """A level without slots, and one without answer texts at level 0, are shown as such."""
    shown = example(0, "m")
    first, second = replace(shown.levels[0], answers=[]), shown.levels[1]
    html = render(small(examples=[replace(shown, levels=[first, second])]))

    assert "No answers." in html
    assert "8 \u00d7 answered" in html
