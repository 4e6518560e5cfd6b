"""Load a prompt template and fill it; a template is a file ``prompts/<task>.<interface>.txt``.

Placeholders are ``$input`` (the variant's text in its unperturbed context) and
``$language``. Filling is strict both ways and one pass: a ``$`` in a sample stays.
"""

import hashlib
import re
from functools import cache
from pathlib import Path
from string import Template

from memoprobe.errors import PromptError
from memoprobe.records import TEXT_SLOT, Interface, Sample

_PACKAGE = Path(__file__).parent
FOLDERS = (_PACKAGE / "_prompts", _PACKAGE.parent / "prompts")  # the wheel's, the checkout's
STOPS = ("\ndef ", "\nclass ", "\nif __name__", "\nprint(", "\nassert ")
PLACEHOLDERS = frozenset({"input", "language"})


@cache
def template(task: str, interface: str) -> str:
    """Return the text of a template, without the line end that closes its file.

    Raises:
        PromptError: There is no such template, or it lacks ``$input`` or names an
            unknown placeholder.
    """
    name = f"{task}.{interface}.txt"
    for folder in FOLDERS:
        path = folder / name
        if path.is_file():
            return check(path.read_text(encoding="utf-8").removesuffix("\n"), name)
    msg = f"no prompt template {name} in {' or '.join(map(str, FOLDERS))}"
    raise PromptError(msg)


def check(text: str, name: str) -> str:
    """Return ``text`` if it is a valid template, else raise PromptError."""
    parsed = Template(text)
    found = set(parsed.get_identifiers())
    if not parsed.is_valid() or "input" not in found or not found <= PLACEHOLDERS:
        known = ", ".join(f"${word}" for word in sorted(PLACEHOLDERS))
        msg = f"prompt template {name}: needs $input and may use only {known}; $$ stands for $"
        raise PromptError(msg)
    return text


def fill(sample: Sample, text: str, interface: Interface) -> str:
    """Return the prompt for ``text``, a variant of the sample's text.

    A sample whose context is code around the text is its own completion prompt:
    a base model meets it as it stands in the benchmark.
    """
    whole = sample.whole(text)
    if interface == "completions" and continues(sample):
        return whole
    return Template(template(sample.task, interface)).substitute(
        input=whole, language=sample.language
    )


def continues(sample: Sample) -> bool:
    """Tell whether a completion continues the sample's own code."""
    return sample.task == "code_generation" and bool(_code_before_slot(sample))


def stops(sample: Sample, interface: Interface) -> tuple[str, ...]:
    """Return where a completion ends: a base model that has written the function runs on."""
    return STOPS if interface == "completions" and continues(sample) else ()


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
    """Return a hash of the template, by which a run notices that its prompts changed."""
    parts = (template(task, interface), *STOPS)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
