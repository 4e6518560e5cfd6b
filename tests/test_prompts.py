"""Facts about the prompt templates of the five tasks."""

from dataclasses import replace
from typing import get_args

import pytest

from memoprobe import benchmarks, prompts
from memoprobe.benchmarks import sources
from memoprobe.benchmarks.files import Copy
from memoprobe.errors import PromptError
from memoprobe.records import TEXT_SLOT, Interface, Sample, Task
from tests.local import SHARED, needs_shared

TASKS, INTERFACES = get_args(Task), get_args(Interface)
CASES = [(task, interface) for task in TASKS for interface in INTERFACES]
CODE = "def add(a, b):\n    return a + b"
# Folder of the real rows, where it is not the use's own name.
FOLDERS = {"quixbugs-repair": "quixbugs", "quixbugs-tests": "quixbugs", "tlcodesum": "tl_codesum"}


def sample(task, **changes):
    values = {
        "benchmark": "made",
        "sample_id": "1",
        "task": task,
        "language": "python",
        "input_kind": "code",
        "text": CODE,
    }
    return Sample(**(values | changes))


@pytest.mark.parametrize(("task", "interface"), CASES)
def test_every_task_has_a_prompt_for_every_interface(task, interface):
    """Text and context stand in it once, whatever else a sample has or lacks."""
    context = "What stands beside the text: $input ${x} $$."
    for item in (sample(task), sample(task, context=context, entry_point="add")):
        prompt = prompts.fill(item, CODE, interface)

        assert prompt.count(CODE) == 1
        assert prompt.count(context) == (1 if item.context else 0)
        assert "$" not in prompt.replace(context, "")
        assert "\n\n\n" not in prompt


@pytest.mark.parametrize(("task", "interface"), CASES)
def test_code_around_the_text_stays_around_it(task, interface):
    """A marked place is kept, with no other context beside it."""
    around = f"import math\n{TEXT_SLOT}\nDONE = 1"
    prompt = prompts.fill(sample(task, context=around), CODE, interface)

    assert f"import math\n{CODE}\nDONE = 1" in prompt
    assert prompt.count("DONE") == 1


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("name", benchmarks.BENCHMARKS)
@needs_shared
def test_real_samples_fill_their_prompts(name, interface):
    """Each use with data here has its text in its prompts, once."""
    folder = SHARED / "data" / FOLDERS.get(name, name)
    benchmark = benchmarks.find(name)
    options = sources.complete(benchmark, {})
    found = [] if not folder.is_dir() else benchmark.read(Copy(folder, "real rows"))
    results = (benchmark.sample(row, options) for row in found)
    items = [each for each in results if isinstance(each, Sample)]

    # Two uses have no rows here, and one has problems without solutions.
    assert bool(items) == (name not in {"lbpp", "vulnpatchpairs", "codecontests"})
    for item in items:
        assert item.text in prompts.fill(item, item.text, interface)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("program_repair", "Provide a fix for the buggy function."),
        ("vulnerability_detection", "Examine the following code for security flaws"),
        ("vulnerability_detection", "a summary of the vulnerability in at most 100 words"),
        ("code_summarization", "Examine the following code and provide as output a summary of"),
    ],
)
def test_the_studys_instructions_are_kept(task, words):
    """Where the study's prompt is known, ours says the same."""
    assert words in prompts.fill(sample(task), CODE, "chat")


def test_a_test_is_asked_for_by_the_functions_name():
    """As in TestEval the test is named after the function, and one test input is asked for."""
    item = sample("test_generation", entry_point="add", context="Adds two numbers.")

    for interface in INTERFACES:
        prompt = prompts.fill(item, CODE, interface)
        assert "test_add" in prompt
        assert "one test input" in prompt
    assert "test_" not in prompts.fill(replace(item, entry_point=None), CODE, "chat")


@pytest.mark.parametrize("interface", INTERFACES)
def test_a_question_of_the_samples_own_stands_for_the_tasks(interface):
    """A vulnerability sample's context is the question, and no other is asked."""
    question = "Is it vulnerable? Answer with yes or no."
    own = prompts.fill(sample("vulnerability_detection", context=question), CODE, interface)
    usual = prompts.fill(sample("vulnerability_detection"), CODE, interface)

    assert question in own
    assert "100 words" not in own
    assert "100 words" in usual


@pytest.mark.parametrize(
    "wrong",
    ["$code", "$context", "$input $name", "$code $function", "$input $", "nothing"],
)
def test_a_template_that_would_lose_or_invent_something(wrong):
    """It must show the text and its context, and know every placeholder."""
    with pytest.raises(PromptError, match=r"needs \$input, or \$code with"):
        prompts.check(wrong, "wrong.txt")


@pytest.mark.parametrize("right", ["$input", "$code $context", "$code $question", "$$ $input"])
def test_a_template_that_shows_all(right):
    """Text and context may stand together or apart."""
    assert prompts.check(right, "right.txt") == right


def test_prose_ends_before_the_next_example():
    """A base model goes on with the template's own headings, and chat needs no stops."""
    for task in ("vulnerability_detection", "code_summarization"):
        stops = prompts.stops(sample(task), "completions")
        template = f"\n{prompts.template(task, 'completions')}"

        assert all(stop in template for stop in stops)
        assert "\n\n" in stops  # an answer is one paragraph
        assert prompts.stops(sample(task), "chat") == ()
    assert prompts.stops(sample("program_repair"), "completions") == ()
    assert "\n# Program under test" in prompts.stops(sample("test_generation"), "completions")


def test_a_fingerprint_covers_all_that_makes_a_prompt(monkeypatch, tmp_path):
    """Template, stop texts and the task's question; a template without a question has none."""
    before = {case: prompts.fingerprint(*case) for case in CASES}
    assert len(set(before.values())) == len(CASES)

    folder = prompts.FOLDERS[1]
    for path in folder.glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        changed = text.replace("100", "50") if ".question." in path.name else text
        (tmp_path / path.name).write_text(changed, encoding="utf-8")
    monkeypatch.setattr(prompts, "FOLDERS", (tmp_path,))
    caches = [getattr(prompts, name) for name in ("template", "_text", "_form", "_question")]
    try:
        for cache in caches:
            cache.cache_clear()
        after = {case: prompts.fingerprint(*case) for case in CASES}
    finally:
        for cache in caches:
            cache.cache_clear()

    changed = {case for case in CASES if before[case] != after[case]}
    assert changed == {("vulnerability_detection", each) for each in INTERFACES}
