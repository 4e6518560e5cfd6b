"""Load a prompt template and fill it; a template is a file ``prompts/<task>.<interface>.txt``.

Its placeholders are those of PLACEHOLDERS. Filling is strict both ways and one pass: a ``$`` in
a sample stays. A paragraph that names ``$context`` or ``$function`` is left out for a sample
that has none.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template
from types import MappingProxyType

from memoprobe.errors import PromptError
from memoprobe.records import TEXT_SLOT, Interface, Sample

_PACKAGE = Path(__file__).parent
FOLDERS = (_PACKAGE / "_prompts", _PACKAGE.parent / "prompts")  # the wheel's, the checkout's
PLACEHOLDERS: Mapping[str, str] = MappingProxyType(
    {
        "input": "the variant's text with all of its unperturbed context",
        "code": "the text in the context that stands around it, and no other context",
        "context": "the context that marks no place of the text; often empty",
        "question": "that context, or the task's own question, prompts/<task>.question.txt",
        "function": "the function under test; empty where there is none",
        "language": "of the sample",
    }
)
# A base model runs on where its answer is done: it writes another paragraph, another definition
# or the template's own headings. What it ran into the token limit with would be no answer.
_PROSE_STOPS = ("\n\n", "\nCode:", "\nQuestion:")
STOPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "code_generation": ("\ndef ", "\nclass ", "\nif __name__", "\nprint(", "\nassert "),
        "test_generation": ("\nif __name__", "\n```", "\n# Program under test"),
        "vulnerability_detection": _PROSE_STOPS,
        "code_summarization": _PROSE_STOPS,
    }
)


@cache
def template(task: str, interface: str) -> str:
    """Return the text of a template, without the line end that closes its file.

    Raises:
        PromptError: There is no such template, or it lacks the sample's text or context, or
            names an unknown placeholder.
    """
    name = f"{task}.{interface}.txt"
    return check(_text(name), name)


@cache
def _text(name: str) -> str:
    for folder in FOLDERS:
        path = folder / name
        if path.is_file():
            return path.read_text(encoding="utf-8").removesuffix("\n")
    msg = f"no prompt template {name} in {' or '.join(map(str, FOLDERS))}"
    raise PromptError(msg)


def check(text: str, name: str) -> str:
    """Return ``text`` if it is a valid template, else raise PromptError."""
    parsed = Template(text)
    found = set(parsed.get_identifiers())
    # Else a part of the sample would never reach the model.
    is_whole = "input" in found or ("code" in found and found & {"context", "question"})
    if not parsed.is_valid() or not is_whole or not found <= PLACEHOLDERS.keys():
        known = ", ".join(f"${word}" for word in sorted(PLACEHOLDERS))
        msg = (
            f"prompt template {name}: needs $input, or $code with $context or $question, and may"
            f" use only {known}; $$ stands for $"
        )
        raise PromptError(msg)
    return text


def fill(sample: Sample, text: str, interface: Interface) -> str:
    """Return the prompt for ``text``, a variant of the sample's text.

    A sample whose context is code around the text is its own completion prompt:
    a base model meets it as it stands in the benchmark.

    Raises:
        PromptError: The template is not there or not valid.
    """
    if interface == "completions" and continues(sample):
        return sample.whole(text)
    is_around = TEXT_SLOT in sample.context
    context = "" if is_around else sample.context
    function = sample.entry_point or ""
    empty = frozenset(
        name for name, value in (("context", context), ("function", function)) if not value
    )
    return _form(sample.task, interface, empty).substitute(
        input=sample.whole(text),
        code=sample.whole(text) if is_around else text,
        context=context,
        question=context or _question(sample.task, interface),
        function=function,
        language=sample.language,
    )


@cache
def _form(task: str, interface: str, empty: frozenset[str]) -> Template:
    """Return a template without the paragraphs that need what is empty."""
    paragraphs = template(task, interface).split("\n\n")
    kept = [part for part in paragraphs if empty.isdisjoint(Template(part).get_identifiers())]
    return Template("\n\n".join(kept))


@cache
def _question(task: str, interface: str) -> str:
    """Return a task's own question, nothing where the template asks none."""
    asks = "question" in Template(template(task, interface)).get_identifiers()
    return _text(f"{task}.question.txt") if asks else ""


def continues(sample: Sample) -> bool:
    """Tell whether a completion continues the sample's own code."""
    return sample.task == "code_generation" and bool(_code_before_slot(sample))


def stops(sample: Sample, interface: Interface) -> tuple[str, ...]:
    """Return where a completion ends: a base model that has written the answer runs on."""
    if interface != "completions":
        return ()
    # Code that does not continue the sample's own may begin with imports or a helper.
    is_open = sample.task == "code_generation" and not continues(sample)
    return () if is_open else STOPS.get(sample.task, ())


def _code_before_slot(sample: Sample) -> str:
    """Return the context in front of the text where the function under test is declared there."""
    before, slot, _ = sample.context.partition(TEXT_SLOT)
    if not slot or not sample.entry_point:
        return ""
    # Of another language it is enough that the name occurs, as in languages.defines.
    opening = r"^[ \t]*(async\s+def|def|class)\s+" if sample.language == "python" else r"\b"
    declared = re.search(rf"{opening}{re.escape(sample.entry_point)}\b", before, re.MULTILINE)
    return before if declared else ""


def fingerprint(task: str, interface: str) -> str:
    """Return a hash of all that makes a prompt, by which a run notices that its prompts changed."""
    parts = (template(task, interface), *STOPS.get(task, ()), _question(task, interface))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
