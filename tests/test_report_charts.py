"""The report's charts: that they show the values, in the page and in files."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from statistics import fmean

import altair as alt
import pytest
from scipy import stats

from memoprobe.report import answer, corner_bars, corners, maps, summary
from memoprobe.report.charts import BOTH_COLUMNS, COLUMN, svg
from memoprobe.report.data import CellKey
from memoprobe.report.distribution import MAX_POINTS, distributions
from memoprobe.report.falloff import falloffs
from memoprobe.report.figures import write as figures
from memoprobe.report.inline import inline
from memoprobe.stats.correction import holm
from tests.report_data import small, synthetic


@pytest.fixture(scope="module")
def data():
    return synthetic(n_items=12, n_controls=8)


@pytest.fixture(scope="module")
def rows(data):
    return summary.rows(data)


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
    ] == ["calibrated", "paper", "paper-excess"]
    floors = [
        s.noise_floor
        for s in data.sensitivities
        if (s.model, s.benchmark, s.metric, s.definition)
        == ("qwen2.5-coder-14b", "quixbugs", "token_levenshtein", "paper")
        and ("quixbugs", s.sample_id) not in data.controls
    ]
    shown = found.panels[1].spec["datasets"]["floors"][2]
    assert (shown["floor"], shown["y"]) == pytest.approx((fmean(floors), box["y"]))
    assert not sets["floors"]
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
    panels = [
        falloffs(data, legend=True)[0].panel,
        distributions(data, legend=True)[0].panels[0],
        maps.panels(answer.findings(data, summary.rows(data)))[0],
        corner_bars.panels(corners.placed(data), legend=True)[0],
    ]

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


def test_map_shows_every_cell_and_marks_what_is_significant(data, rows):
    """Each cell has its fall; an asterisk stands where Holm's p over the map is at most .05."""
    findings = answer.findings(data, rows)
    panels = maps.panels(findings)
    shown = panels[0].spec["datasets"]["cells"]
    own = [
        c for c in data.comparisons if (c.definition, c.metric) == ("own_fall", "token_levenshtein")
    ]
    expected = holm([c.p_value for c in own])

    assert [panel.name for panel in panels] == ["map-fall", "map-difference", "map-recall"]
    assert sorted(each["shown"] for each in shown) == sorted(
        f"{c.effect:.2f}" + "*" * (p <= 0.05) for c, p in zip(own, expected, strict=True)
    )
    assert all("p by Holm" in each["told"] and "12 items" in each["told"] for each in shown)
    largest = max(shown, key=lambda each: each["strength"])
    assert largest["shown"] == "0.25*"


def test_map_marks_nothing_that_is_not_significant(data, rows):
    """A p above .05 leaves the number bare, and a fall below 0 has the other colour."""
    weak = [replace(c, p_value=0.9, p_holm=0.9, effect=-0.1) for c in data.comparisons]
    found = answer.findings(replace(data, comparisons=weak), summary.rows(data))
    shown = maps.panels(found)[1].spec["datasets"]["cells"]

    assert {each["shown"] for each in shown} == {"\u22120.10"}
    assert {each["sign"] for each in shown} == {"controls"}


@pytest.mark.parametrize(
    ("fall_q", "recall_q", "name"),
    [
        (0.05, 0.05, "falls and recalls"),
        (0.051, 0.05, "recalls only"),
        (0.01, 0.2, "falls only"),
        (0.2, 0.2, "neither"),
        (None, 0.01, None),
        (0.01, None, None),
    ],
)
def test_corner(fall_q, recall_q, name):
    """The corner follows from both q, each significant up to .05; without one there is none."""
    assert corners.corner(fall_q, recall_q) == name


def test_corners_count_items_alone(data):
    """Counts are those of a slow count over the items; bars have their shares."""
    found = corners.placed(data)
    one = next(each for each in found if each.cell == ("codellama-13b", "mbpp", "paraphrase"))
    q = {
        (s.sample_id, s.definition): s.control_q
        for s in data.sensitivities
        if (s.model, s.benchmark, s.metric) == ("codellama-13b", "mbpp", "token_levenshtein")
        and ("mbpp", s.sample_id) not in data.controls
    }
    ids = {name for name, _ in q}
    both = sum(q[i, "calibrated"] <= 0.05 and q[i, "recall"] <= 0.05 for i in ids)
    falls = sum(q[i, "calibrated"] <= 0.05 < q[i, "recall"] for i in ids)
    bars = corner_bars.panels(found, legend=False)[0].spec["datasets"]["bars"]

    assert sum(one.counts.values()) == 12
    assert (one.counts["falls and recalls"], one.counts["falls only"]) == (both, falls)
    widths = [
        bar["end"] - bar["start"] for bar in bars if bar["told"].startswith("mbpp, falls only")
    ]
    assert widths == pytest.approx([falls / 12] if falls else [])


def test_figures_are_written_in_three_formats(tmp_path):
    """Every chart becomes an SVG, a PDF and a PNG; names that collide are told apart."""
    tasks = {"a b": "code_generation", "a_b": "code_generation"}
    paths = figures(synthetic(models=("m",), tasks=tasks, n_items=3), tmp_path / "new")

    assert sorted(paths) == sorted((tmp_path / "new").iterdir())
    assert len(paths) == (3 + 2 + 3 + 1) * 3
    heads = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    assert all(path.read_bytes().startswith(heads[path.suffix]) for path in paths)


def test_figures_have_the_width_of_a_papers_columns(tmp_path):
    """A figure is at most one column wide, or both, and never blown up; its height follows."""
    wide = synthetic(models=tuple(f"model-{m}" for m in range(8)), n_items=3, n_controls=2)
    for path in figures(wide, tmp_path):
        if path.suffix == ".pdf":
            [box] = re.findall(rb"/MediaBox \[0 0 ([\d.]+) [\d.]+\]", path.read_bytes())
            limit = BOTH_COLUMNS if path.stem.startswith("map") else COLUMN
            assert float(box) <= limit
    drawing = ET.parse(tmp_path / "map-fall.svg").getroot()
    _, _, width, height = map(float, drawing.get("viewBox").split())
    shown = [float(drawing.get(name).removesuffix("pt")) for name in ("width", "height")]
    assert shown[0] / shown[1] == pytest.approx(width / height, rel=1e-3)
