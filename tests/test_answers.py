"""Facts about selecting the answer in a response's text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe.answers import answer_language, extract, reference_codes
from memoprobe.records import TEXT_SLOT, Sample, Variant

GCD = "def gcd(a, b):\n    return a if b == 0 else gcd(b, a % b)"
SHOWN = 'def gcd(a, b):\n    """\n    ```\n    gcd(2, 4)\n    ```\n    """\n    return a'
DRAFT = "def gcd(a, b):\n    return gcd(a % b, b)"
USAGE = "print(gcd(35, 21))"
HEAD = f'import math\n\n\ndef half(x):\n    return x / 2\n\n\ndef root(x):\n    """{TEXT_SLOT}"""\n'
BODY = "    return math.sqrt(half(x))"
ROOT = f"def root(x):\n{BODY}"


def repair(**fields):
    defaults = {"task": "program_repair", "language": "python", "input_kind": "code"}
    named = {"benchmark": "b", "sample_id": "s", "text": DRAFT, "entry_point": "gcd"}
    return Sample(**defaults | named | fields)


def generation(**fields):
    return repair(
        **{"task": "code_generation", "input_kind": "prose", "text": "Root of half."}
        | {"context": HEAD, "reference": ROOT, "entry_point": "root"}
        | fields
    )


def variant(text=DRAFT, **rename_map):
    place = {"benchmark": "b", "sample_id": "s", "perturbation": "p", "level": 1}
    return Variant(**place, text=text, distance=0.5, edit_share=0.5, rename_map=rename_map)


def answer(text, sample=None, interface="chat", **names):
    sample = sample or repair()
    return extract(text, sample, variant(sample.text, **names), interface=interface)


CHAT = {
    "one block": (f"Sure:\n```python\n{GCD}\n```\nDone.", GCD, "fenced"),
    "the last that defines it": (
        f"```python\n{DRAFT}\n```\nNo:\n```python\n{GCD}\n```\nUse:\n```python\n{USAGE}\n```",
        GCD,
        "fenced",
    ),
    "bare fences": (f"```\n{DRAFT}\n```\nNo:\n```\n{GCD}\n```\n\n```\n{USAGE}\n```", GCD, "fenced"),
    "code on the fence's line": (f"```{GCD}\n```", GCD, "fenced"),
    "tag in capitals, spaced": (f"``` Python \n{GCD}\n```", GCD, "fenced"),
    "tildes": (f"~~~py\n{GCD}\n~~~", GCD, "fenced"),
    "four ticks around three": (f"````\n{GCD}\n```\n````", GCD, "fenced"),
    "in a list": ("1. So:\n   ```py\n   x = 1\n    y\n   ```", "x = 1\n y", "last_fenced"),
    "unfinished fence": (f"So:\n```python\n{GCD}", GCD, "unclosed"),
    "one fence not closed": (f"```python\n{USAGE}\n```python\n{GCD}\n```", GCD, "fenced"),
    "the prompt opened the fence": (f"{GCD}\n```\n\nIt works, isn't it?", GCD, "opened"),
    "opened, then usage": (f"{GCD}\n```\nUse:\n```python\n{USAGE}\n```", GCD, "opened"),
    "bare": (GCD, GCD, "bare"),
    "prose around": (f"Here's the fix:\n\n{GCD}\n\nIt isn't hard.", GCD, "bare"),
    "prose around, usage fenced": (f"Fix:\n{GCD}\n\nUse:\n```\n{USAGE}\n```", GCD, "bare"),
    "a heading is no code": (f"# Fix\n\nAs such:\n```\n{GCD}\n```", GCD, "fenced"),
    "fences in a docstring": (f"```python\n{SHOWN}\n```", SHOWN, "fenced"),
    "fences in a docstring, tag": (
        f"```\n{SHOWN.replace('```', '```py', 1)}\n```",
        SHOWN.replace("```", "```py", 1),
        "fenced",
    ),
    "fences in a docstring, bare": (SHOWN, SHOWN, "bare"),
    "fences in a docstring, opened": (f"{SHOWN}\n```\nDone.", SHOWN, "opened"),
    "quoted": (f"> ```python\n> {GCD}\n> ```".replace("\n    ", "\n>     "), GCD, "fenced"),
    "a quote beside": (f"> So:\n\n```\n{GCD}\n```\n> Done.", GCD, "fenced"),
    "no definition": ("```python\nx = 1\n```\n```bash\nls\n```", "x = 1", "last_fenced"),
    "only another language": ("```bash\nls\n```", "ls", "last_fenced"),
    "no code": ("I do not know.", "I do not know.", "whole"),
    "line ends": (f"```python\r\n{GCD}\r\n```".replace("\n    ", "\r\n\t"), GCD, "fenced"),
    "method": (f"```\nclass S:\n    {GCD}\n```", f"class S:\n    {GCD}", "fenced"),
    "after thinking": (f"<think>\n```\n{DRAFT}\n```\n</think>\n```\n{GCD}\n```", GCD, "fenced"),
    "thinking that was opened elsewhere": (f"{DRAFT}\n</think>\n{GCD}", GCD, "bare"),
    "a tag of thoughts in code": (f"```\n{GCD}  # </think>\n```", f"{GCD}  # </think>", "fenced"),
    "in code after thinking": (
        f"<think>\nx\n</think>\n\n<think></think>\n# </think>\n{GCD}", GCD, "bare"
    ),
    "thinking without end": (f"<think>\n```\n{DRAFT}\n```", "", "none"),
    "broken code is kept": ("```\ndef gcd(a:\nreturn a\n```", "def gcd(a:\nreturn a", "fenced"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code", "rule"), CHAT.values(), ids=CHAT)
def test_selection_from_chat(text, code, rule):
    """The last block that defines the function counts, else the nearest to an answer there is."""
    assert answer(text) == (code, rule)


@pytest.mark.parametrize("task", ["code_generation", "program_repair"])
def test_without_a_function_under_test_a_definition_goes_before_its_use(task):
    """The last block that defines a function or class counts, else the last block."""
    sample = repair(task=task, entry_point=None, text="x = 1")
    use = f"Use:\n```python\n{USAGE}\n```"

    defined = answer(f"```python\n{DRAFT}\n```\nNo:\n```python\n{GCD}\n```\n{use}", sample)
    plain = answer(f"```python\ny = 2\n```\n{use}", sample)

    assert defined == (GCD, "last_fenced")
    assert plain == (USAGE, "last_fenced")


@pytest.mark.parametrize("entry_point", ["gcd", None])
@pytest.mark.parametrize("comment", ["", "  # the bug"])
def test_a_repair_is_not_the_code_that_was_asked_about(entry_point, comment):
    """Where the prompt's code is shown after the fix the fix counts; alone it is the answer."""
    sample = repair(entry_point=entry_point)
    renamed = variant(DRAFT.replace("a", "zo"), a="zo")
    shown = f"```\n{renamed.text}{comment}\n```"
    fixed = GCD.replace("(a,", "(zo,")
    last = "" if entry_point else "last_"

    code, rule = extract(
        f"```\n{fixed}\n```\nThe original:\n{shown}", sample, renamed, interface="chat"
    )
    alone = extract(shown, sample, renamed, interface="chat")

    assert (code, rule) == (GCD, f"unechoed_{last}fenced")
    assert alone == (DRAFT + comment, f"{last}fenced")
    assert answer(f"```\n{GCD}\n```\n{shown}", generation(entry_point="gcd")).rule == "fenced"


def test_demonstrations_go_and_helpers_stay():
    """After the function only definitions that it uses, directly or not, are the answer."""
    top = "import sys\nLIMIT = 9\nsys.setrecursionlimit(LIMIT)\n\ndef before():\n    pass\n\n"
    function = "def gcd(a, b):\n    return help1(a, b)\n"
    helpers = "def help2(b):\n    return b\n\ndef help1(a, b):\n    return help2(b)"
    rest = f"\n\ndef test_gcd():\n    assert gcd(1, 1)\n\nif __name__ == '__main__':\n    {USAGE}\n"

    code, _ = answer(f"```\n{top}{function}\n{helpers}{rest}```")

    assert code == f"{top}{function}{helpers}".replace("b\n\ndef help1", "b\ndef help1")


@pytest.mark.parametrize(
    "text",
    [
        f"```python\nimport math\n\n{ROOT}\n```",
        f"```python\nimport math\n\ndef half(x):\n    # half\n    return x/2\n\n{ROOT}\n```",
        f"```python\n{ROOT}\n```",
        f"```python\n{ROOT}\n\ndef half(x):\n    return x / 2\n```",
        f"{HEAD}{BODY}",
        f"import math\n\n{ROOT}",
    ],
    ids=["import", "helper in another layout", "function", "helper after", "prompt", "bare"],
)
def test_what_the_prompt_gives_is_not_the_answers(text):
    """Imports and helpers of the prompt are dropped where they are repeated."""
    code, _ = answer(text, generation())

    assert code.replace(f'    """{TEXT_SLOT}"""\n', "").strip() == ROOT


def test_a_changed_helper_is_the_models_own():
    """A helper that differs from the prompt's stays, and so does another import."""
    own = f"from math import sqrt\n\ndef half(x):\n    return x * 0.5\n\n{ROOT}"

    assert answer(f"```\n{own}\n```", generation()).code == own


COMPLETIONS = {
    "body": (BODY, "continued"),
    "body after a line end": (f"\n{BODY}\n", "continued"),
    "runs on": (f"{BODY}\n\n\nprint(root(2))\n\ndef other():\n    pass\n", "continued"),
    "runs on into itself": (f"{BODY}\n\n{DRAFT}\n\ndef root(x):\n    return 0\n", "continued"),
    "runs on into prose": (f"{BODY}\n\nThis isn't code.\n", "continued"),
    "body, then a fence": (f"{BODY}\n```\n\n```\ndef root(x):\n    pass\n```", "continued"),
    "function": (f"\n{ROOT}\n\n# Test\nprint(root(2))", "bare"),
    "function, again": (f"{ROOT}\n\ndef root(x):\n    return 0", "bare"),
    "function in a fence": (f"```python\n{ROOT}\n```", "fenced"),
    "body in a fence": (f"```python\n{BODY}\n```", "continued_last_fenced"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "rule"), COMPLETIONS.values(), ids=COMPLETIONS)
def test_selection_from_completions(text, rule):
    """What continues the prompt gets its head in front and ends with its first function."""
    code, used = answer(text, generation(), interface="completions")

    head = "def root(x):\n" + ("    '''Root of half.'''\n" if "continued" in rule else "")
    assert (code.replace('"""', "'''"), used) == (head + BODY, rule)


def test_a_chat_answer_of_a_body_gets_the_head():
    """Also in chat a body alone is put under the prompt's signature."""
    code, rule = answer(f"```python\n{BODY}\n```", generation())

    assert code.endswith(BODY)
    assert code.startswith("def root(x):")
    assert rule == "continued_last_fenced"


def test_a_completion_of_prose_is_not_continued():
    """Where the prompt opens no function, an indented answer stays alone."""
    sample = generation(context=f"{TEXT_SLOT}\n\nassert root(2) == 1", reference=None)

    assert answer(BODY, sample, interface="completions") == (BODY, "whole")


def test_repeats_of_a_repair_prompt_do_not_count():
    """A base model that starts over is read up to there."""
    text = f"\n{GCD}\n\n# Buggy function\n```python\n{DRAFT}\n```\n"

    assert answer(text, interface="completions") == (GCD, "bare")


def test_names_are_mapped_back():
    """The variant's new names become the original ones, in code only, unless switched off."""
    text = "def gcd(zo, b):\n    return f'zo {zo}', x.zo  # zo"
    sample = repair()

    mapped = answer(text, sample, a="zo")
    kept = extract(text, sample, variant(a="zo"), interface="chat", map_back=False)

    assert mapped.code == "def gcd(a, b):\n    return f'zo {a}', x.a  # zo"
    assert kept.code == text


def test_prose_answers_are_taken_whole():
    """A summary is its text, renamed words mapped back, and has no programming language."""
    sample = repair(task="code_summarization", reference=" Returns a. \n")

    assert answer(" Returns zo.\n", sample, a="zo") == ("Returns a.", "text")
    assert answer_language(sample) == "prose"
    assert answer_language(repair()) == "python"
    assert reference_codes(sample) == ["Returns a."]


def test_a_test_is_not_asked_to_define_the_function():
    """In test generation the last block counts, for the function under test is only called."""
    sample = repair(task="test_generation")
    test = "def test_gcd():\n    assert gcd(2, 4) == 2"

    assert answer(f"```\n{GCD}\n```\nTests:\n```\n{test}\n```", sample) == (test, "last_fenced")


def test_references_are_cut_like_answers():
    """A reference loses demonstrations and what the prompt gives; none stays none."""
    given = f"import math\nimport re\n\n{ROOT}\n\nprint(root(3))\n"

    whole = f"import re\n\n{GCD}"

    assert reference_codes(generation(reference=given)) == [f"import re\n\n{ROOT}"]
    assert reference_codes(repair(reference=whole)) == [whole]
    assert reference_codes(repair(reference=whole, alternatives=(DRAFT,))) == [whole, DRAFT]
    assert reference_codes(repair(reference=None)) == []


@given(st.text(st.sampled_from("`~ \ndefgcd(a,b):\t'\"#@=<think>/"), max_size=60))
def test_nothing_is_invented(text):
    """Whatever the text, the answer's visible characters come from it, in their order."""
    code, _ = answer(text)

    rest = iter("".join(text.split()))
    assert all(mark in rest for mark in "".join(code.split()))
