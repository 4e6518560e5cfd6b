"""Drive the report in a headless Chromium: sorting, filtering, the sample browser, printing."""

import re
from dataclasses import replace

import pytest

from memoprobe.pipeline import present
from memoprobe.report.page import render
from memoprobe.store import open_store
from tests.browser import browser, needs_chromium
from tests.report_data import synthetic
from tests.report_run import once

pytestmark = needs_chromium

TEXTS = "(selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent.trim())"


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    with open_store(once(tmp_path_factory), write=False) as store:
        return present.report_data(store, "small")


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(data), encoding="utf-8")
    return path


@pytest.fixture
def page(tab, path):
    """Return the tab with the report opened anew; the browser must not complain of it."""
    tab.complaints.clear()
    tab.requests.clear()
    tab.open(path)
    yield tab
    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith("data:")] == [path.as_uri()]


def texts(tab, selector):
    return tab.run(f"({TEXTS})({selector!r})")


def test_every_column_sorts_both_ways(page):
    """A click on a header sorts by numbers or words, a second one turns it, dashes stay last."""
    found = page.run("""(() => {
      const wrong = [];
      for (const table of document.querySelectorAll("table.sortable")) {
        const heads = [...table.tHead.rows[0].cells];
        heads.forEach((head, column) => {
          for (const sign of [1, -1]) {
            head.querySelector("button").click();
            const keys = [...table.tBodies[0].rows].map((row) => {
              const cell = row.cells[column];
              if (!("value" in cell.dataset)) return cell.textContent.trim();
              return cell.dataset.value === "" ? null : Number(cell.dataset.value);
            });
            const there = keys.filter((key) => key !== null);
            const order = (a, b) => typeof a === "number" ? a - b : a.localeCompare(b);
            const sorted = there.every((k, i) => !i || sign * order(there[i - 1], k) <= 0);
            const last = keys.slice(there.length).every((key) => key === null);
            const said = head.getAttribute("aria-sort");
            if (!sorted || !last || said !== (sign === 1 ? "ascending" : "descending")) {
              wrong.push(`${table.id} ${head.textContent}`);
            }
          }
        });
      }
      return [wrong, document.querySelectorAll("table.sortable").length];
    })()""")

    assert found[0] == []
    assert found[1] >= 12


def test_tables_sort_by_keyboard(page):
    """Headers are buttons: they take the focus and obey the Enter key."""
    page.run('document.querySelector("#table-answer thead button").focus()')
    before = texts(page, "#table-answer tbody th")
    for kind in ("keyDown", "keyUp"):
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        page.call("Input.dispatchKeyEvent", type=kind, **key)
        page.run("1")

    assert page.run('document.activeElement.closest("th").getAttribute("aria-sort")') == "ascending"
    assert texts(page, "#table-answer tbody th") == sorted(before)


def test_families_are_filled_when_they_are_opened(page, data):
    """An opened family shows its rows with the numbers as Python writes them."""
    page.run("""(() => {
      const opened = (each) => new Promise((done) => {
        each.addEventListener("toggle", () => done(), { once: true });
        each.open = true;
      });
      const closed = document.querySelectorAll("details.family:not([open])");
      return Promise.all([...closed].map(opened)).then(() => null);
    })()""")
    shown = set(texts(page, "details.family tbody td, details.family tbody th"))
    rows = page.run('document.querySelectorAll("details.family tbody tr").length')

    assert rows == len(data.comparisons)
    for each in data.comparisons:
        low, high = each.effect_low, each.effect_high
        around = f"{each.effect:.2f}" + (f" [{low:.2f}, {high:.2f}]" if low is not None else "")
        assert re.sub(r"-0\.00", "0.00", around).replace("-", "\u2212") in shown
        if each.p_value is not None:
            assert ("<0.001" if each.p_value < 0.001 else f"{each.p_value:.3f}") in shown


def choose(tab, name, value):
    """Set a field of the filter as a reader does."""
    tab.run(f"""(() => {{
      const field = document.getElementById("filter").elements[{name!r}];
      field.value = {value!r};
      field.dispatchEvent(new Event("input", {{ bubbles: true }}));
    }})()""")


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("words", "CONTROL-1", lambda each: "control-1" in each.sample_id),
        ("words", "def f3(", lambda each: each.sample_id.endswith("-3")),
        ("model", "beta", lambda each: each.model == "beta"),
        ("benchmark", "fixes", lambda each: each.benchmark == "fixes"),
        ("reason", "flagged", lambda each: "flagged" in each.reasons),
        ("corner", "neither", lambda each: each.corner == "neither"),
        ("group", "controls", lambda each: each.control),
        ("fall", "0.1", lambda each: each.values.get("calibrated", -1) >= 0.1),
        ("words", "nothing holds this", lambda each: False),
    ],
)
def test_samples_are_filtered(page, data, name, value, wanted):
    """The list holds the samples that a filter wants, and their number is told."""
    choose(page, name, value)
    shown = texts(page, "#list details.sample > summary b")
    expected = [each.sample_id for each in data.examples if wanted(each)]

    assert len(expected) < len(data.examples)
    assert texts(page, "#shown") == [f"{len(expected)} of {len(data.examples)} samples"]
    assert shown == expected[:30]


def test_more_samples_are_shown_on_request(page, data):
    """The list grows by pages until all are there; then the button is gone."""
    assert len(data.examples) > 30
    assert page.run('document.querySelectorAll("#list > details").length') == 30
    for _ in range(len(data.examples) // 30):
        page.run('document.getElementById("more").click()')

    assert page.run('document.querySelectorAll("#list > details").length') == len(data.examples)
    assert page.run('document.getElementById("more").hidden')


def test_a_sample_shows_prompts_and_answers_of_all_levels(page, data):
    """An opened sample has every level's prompt and answers whole, apart from what is marked."""
    wanted = data.examples[1]
    found = page.run("""new Promise((done) => {
      const sample = document.querySelectorAll("#list > details")[1];
      const told = (level) => ({
        head: level.querySelector("summary").textContent,
        texts: [...level.querySelectorAll("pre")].map((pre) => {
          const copy = pre.cloneNode(true);
          for (const gone of copy.querySelectorAll("del")) gone.remove();
          return copy.textContent;
        }),
        answers: [...level.querySelectorAll("h4")].slice(1).map((head) => head.textContent),
      });
      const levels = () => [...sample.querySelectorAll("details")].map(told);
      sample.addEventListener("toggle", () => done(levels()));
      sample.open = true;
    })""")

    assert [each["head"].split(" mean")[0] for each in found[:-1]] == [
        f"Level {level.level}" for level in wanted.levels
    ]
    for shown, level in zip(found, wanted.levels, strict=False):
        assert shown["texts"][0] == level.prompt
        assert set(shown["texts"][1:]) <= {each.text for each in level.answers}
        assert len(shown["answers"]) == len(set(level.answers))
        assert f"mean {level.mean:.2f}, {len(level.answers)} answers" in shown["head"]
    assert found[-1]["texts"] == [wanted.levels[0].reference]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_wider_than_the_screen(page, path, width, dark):
    """Page and charts fit a desk and a phone; text stands out from its ground in both schemes."""
    page.requests.clear()
    page.open(path, width=width, dark=dark)
    page.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    ink, paper = page.run("""(() => {
      const style = getComputedStyle(document.body);
      return [style.color, style.backgroundColor].map((c) => c.match(/\\d+/g).map(Number));
    })()""")
    light = [sum(channels) for channels in (ink, paper)]

    assert page.run("document.documentElement.scrollWidth") <= width
    assert (light[0] > light[1]) == dark
    assert abs(light[0] - light[1]) > 400


@pytest.mark.parametrize(("width", "display"), [(1280, "table-cell"), (390, "none")])
def test_a_phone_leaves_out_the_name_of_the_only_model(page, path, width, display):
    """Tables of one model do not spend a third of a narrow screen on it."""
    page.requests.clear()
    page.open(path, width=width)
    found = page.run("""[...document.querySelectorAll('table.sortable')].map((each) => [
      new Set([...each.tBodies[0].rows].map((row) => row.cells[0].textContent)).size,
      each.tHead.rows[0].cells[0].textContent.startsWith('Model'),
      getComputedStyle(each.tHead.rows[0].cells[0]).display])""")

    assert found
    for n_names, of_models, shown in found:
        assert shown == (display if of_models and n_names == 1 else "table-cell")


def test_the_page_prints(page):
    """Printing opens what is folded, but for samples and what is exploratory."""
    printed = page.printed()
    pages = len(re.findall(rb"/Type ?/Page\b", printed))

    assert printed.startswith(b"%PDF")
    assert 3 < pages < 20
    assert page.run('document.querySelectorAll("section:not(#samples) details[open]").length') > 0


def test_hostile_text_stays_text_in_the_browser(tab, tmp_path):
    """Markup in ids, prompts and answers is shown by the script, and never run."""
    text = "<img src=x onerror='window.pwned=1'></script><script>window.pwned=1</script>"
    data = synthetic(n_items=3, n_controls=2)
    hostile = [
        replace(
            each,
            sample_id=text,
            levels=[
                replace(
                    level,
                    prompt=text + str(level.level),
                    answers=[replaced._replace(text=text) for replaced in level.answers],
                )
                for level in each.levels
            ],
        )
        for each in data.examples
    ]
    noted = [replace(each, note=text) for each in data.comparisons]
    path = tmp_path / "hostile.html"
    path.write_text(render(replace(data, examples=hostile, comparisons=noted)), encoding="utf-8")
    tab.complaints.clear()
    tab.open(path)

    assert tab.run("window.pwned") is None
    assert tab.run("document.images.length") == 0
    assert texts(tab, "#list summary b")[0] == text
    assert tab.complaints == []
