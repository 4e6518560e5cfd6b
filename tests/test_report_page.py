"""The report's page: that it shows what there is, loads nothing and obeys no text."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe.records import Curve, Sensitivity
from memoprobe.report import samples
from memoprobe.report.data import ExampleAnswer, ReportData
from memoprobe.report.figures import write as figures
from memoprobe.report.page import MANY_PANELS, MANY_ROWS, embedded, render
from tests.report_data import TASKS, cell, example, small, synthetic, without_anything

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


def held(html, name):
    """Return what the page's script reads under a name."""
    return json.loads(
        re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html, re.S)[1]
    )


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
    named = page.replace("http://gpu1:8000/v1", "")  # the server that was asked, as a word
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(|https?:", named)


def test_page_claims_nothing_without_the_rule():
    """Without the three contrasts the page has no word for more than "sensitive"."""
    words = " ".join(Page(render(small(comparisons=[]))).words).lower()

    assert "memoriz" not in words
    assert "sensitive" in words


def test_page_allows_one_script_and_no_request(page):
    """The content security policy names the hash of the page's own script and nothing else."""
    elements = Page(page).elements
    [policy] = [a["content"] for tag, a in elements if a.get("http-equiv")]

    assert re.match(r"default-src 'none'; .*script-src 'sha256-[\w+/=]+';", policy)
    assert scripts(elements) == [None]


def scripts(elements):
    """Return the types of the scripts that a browser runs: not of those that only hold data."""
    types = [attrs.get("type") for tag, attrs in elements if tag == "script"]
    return [each for each in types if each != "application/json"]


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
    """Every model, benchmark, server, family and chart is on the page, settings as words."""
    words = re.sub(r"\s+", " ", " ".join(Page(page).words))

    for said in (*TASKS, *{each.model for each in data.cells}, data.title, "http://gpu1:8000/v1"):
        assert said in words
    assert "vllm 0.11.0" in words
    assert "confirmatory, family of 6; effect: Cliff's delta, 6 rows" in words
    assert "timeout 2, context_overflow 1" in words
    assert "2025-11-29 12:00 UTC" in words
    assert "T12:00" not in words
    assert page.count("<svg") == 3 + 2 * 3 + 2 * 3 + 2
    assert words.count("Which benchmarks stand out") == 1
    assert '{"' not in words


def test_comparisons_are_held_row_by_row(data, page):
    """Each comparison is in its family, with its n, effect, interval and p-values."""
    families = held(page, "comparisons-data")["families"]
    first = next(c for c in data.comparisons if c.metric == "token_levenshtein")
    row = next(r for r in families[0] if r[:2] == [first.subject, first.context])

    assert sum(map(len, families)) == len(data.comparisons)
    assert row[3:5] == [first.n_subject, first.n_rest]
    assert row[5] == pytest.approx([first.effect, first.effect_low, first.effect_high])
    assert row[6:11] == pytest.approx(
        [first.statistic, first.p_value, first.p_adjusted, first.p_holm, first.p_bh]
    )
    assert len(families) == len(re.findall(r'data-family="\d+"', page))


def test_samples_are_held_with_their_differences(data, page):
    """A sample's texts are runs against level 0; equal answers are counted, verdicts kept."""
    found = held(page, "samples-data")
    first = found[0]
    level = first["levels"][3]

    assert len(found) == 10
    assert applied(first["prompt"], level["prompt"]) == data.examples[0].levels[3].prompt
    assert [answer[:2] for answer in level["answers"]] == [
        [6, "ok"],
        [2, "ok"],
        [1, "timeout"],
    ]
    assert [answer[4] for answer in level["answers"]] == ["passed", "failed", None]
    assert applied(first["answer"], first["texts"][level["answers"][1][3]]) == (
        data.examples[0].levels[3].answers[6].text
    )
    assert (first["corner"], first["flaws"]) == ("falls and recalls", {"timeout": 5})


def applied(before, runs):
    """Return the text that a list of runs makes of another, as the page's script does."""
    units = before.encode("utf-16-le")
    after, place = "", 0
    for run in runs:
        if isinstance(run, str):
            after += run
        else:
            end = place + 2 * abs(run)
            after += units[place:end].decode("utf-16-le") if run > 0 else ""
            place = end
    return after


texts = st.lists(st.sampled_from(["a ", "b", "\n", "🙂", "(", "é "]), max_size=20).map("".join)


@given(texts, texts)
def test_runs_make_the_one_text_of_the_other(before, after):
    """Runs count as JavaScript does, so that signs beyond 16 bits come back whole."""
    assert applied(before, samples.runs(before, after)) == after


def test_samples_stay_within_their_budget(data):
    """Where samples are too large together, those chosen last in their cells are left out."""
    ranked = [replace(each, rank=place % 3) for place, each in enumerate(data.examples)]
    whole = samples.as_data(ranked)
    size = sum(len(json.dumps(each)) for each in whole) // 2
    kept = [each["id"] for each in samples.as_data(ranked, size)]
    ranks = {each.sample_id: each.rank for each in ranked}

    assert 3 <= len(kept) < len(whole)
    assert kept == [each["id"] for each in whole if each["id"] in kept]
    left = {ranks[each["id"]] for each in whole if each["id"] not in kept}
    assert max(ranks[each] for each in kept) <= min(left)


def test_page_says_how_many_samples_it_leaves_out(data):
    """Samples that did not fit are counted."""
    many = [replace(each, levels=each.levels * 400) for each in data.examples]

    assert "more were left out" in render(replace(data, examples=many))
    assert "left out to keep" not in render(data)


def test_many_different_answers_are_counted():
    """A level shows its commonest answers and how many others there are."""
    shown = example(0, "m", levels=1)
    answers = [ExampleAnswer(f"answer {k}", (), "ok") for k in range(9)]
    [found] = samples.as_data(
        [replace(shown, levels=[replace(shown.levels[0], answers=answers, reference=None)])]
    )

    assert len(found["levels"][0]["answers"]) == samples.MOST_ANSWERS
    assert found["levels"][0]["more"] == 9 - samples.MOST_ANSWERS
    assert found["reference"] is None


def test_what_is_large_is_folded():
    """Many falloff panels are folded by model, long tables are closed."""
    many = {f"b{k:02}": "code_generation" for k in range(MANY_PANELS // 2 + 1)}
    large = render(synthetic(tasks=many, n_items=2, n_controls=2, metrics=["token_levenshtein"]))
    wide = synthetic(
        models=[f"m{k}" for k in range(MANY_ROWS // 3 + 1)], n_items=2, n_controls=0, n_examples=0
    )

    assert f"{len(many)} panels</span></summary>" in large
    assert re.search(r"<details>\s*<summary><b>What may be said", render(wide))


def test_embedded_data_cannot_leave_their_element():
    """No value ends the script element, is NaN, or has more digits than are shown."""
    found = embedded({"a": "</script><!--", "b": float("nan"), "c": (0.123456789, None), "d": "\0"})

    assert "<" not in found
    assert json.loads(found) == {
        "a": "</script><!--",
        "b": None,
        "c": [0.123457, None],
        "d": "⟨U+0000⟩",
    }


def test_correction_is_named_where_it_is_known():
    """A family says how its p-values were adjusted."""
    one = small(corrections={("memorization", "mean"): "holm"})

    assert "confirmatory, family of 1, adjusted by holm; effect: difference of means" in render(one)


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
            level,
            prompt=text,
            reference=text,
            answers=[
                ExampleAnswer(text, ((text, 0.5),), text, text),
                ExampleAnswer(None, (), text),
            ],
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
        examples=[
            replace(
                shown,
                **names,
                levels=levels,
                reasons=(text,),
                flaws={text: 1},
                values={text: 1.0},
                corner=text,
            )
        ],
        clusters={(text, text): text},
        corrections={(text, text): text},
    )


def test_hostile_text_is_only_text():
    """Markup, NUL, half surrogates and reversing marks from outside become visible signs."""
    html = render(hostile(HOSTILE))
    parsed = Page(html)
    words = "".join(parsed.words)

    html.encode()
    assert scripts(parsed.elements) == [None]
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
            "no fall shown",
        ),
        (small(controls=frozenset()), "There are no control items"),
        (small(comparisons=[]), "There is nothing to compare"),
        (small(examples=[replace(example(0, "m"), levels=[])]), '"levels":[]'),
        (small(examples=[example(0, "m", levels=1)]), '"level":0'),
        (small(examples=[]), "No sample is shown"),
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
        "no example",
        "no bookkeeping",
    ],
)
def test_poor_data_still_make_a_page(poor, said):
    """A run with hardly anything in it has a report that says what is missing."""
    assert said in render(poor)


def test_answers_without_text_are_kept():
    """A level without slots is empty; where level 0 has no answer, others are wholly new."""
    shown = example(0, "m")
    first, second = replace(shown.levels[0], answers=[]), shown.levels[1]
    [found] = held(render(small(examples=[replace(shown, levels=[first, second])])), "samples-data")

    assert found["levels"][0]["answers"] == []
    assert found["answer"] == ""
    assert found["texts"] == [[second.answers[0].text]]
    assert [answer[3] for answer in found["levels"][1]["answers"]] == [0, None]
