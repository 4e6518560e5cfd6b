"""Draw what the reference model is trained on, and what it is asked, everything from a seed.

All targets, of every seed, are drawn first; no background document is of the meaning of any.
Half of a seed's targets, drawn at random after them, stay unseen: they are the controls. The
others, the members, are shown 1, 4, 16 or 64 times in the exposure phase of their seed, late:
copies spread through the whole training hardly stick.

Background prompts come as a run would ask them: some reworded, renamed or touched by the
placebo, some by chat. So the words of a perturbation are known to the model, and what an
unseen item loses by them is not that they are foreign.
"""

import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from memoprobe import prompts
from memoprobe.languages import rename_identifiers
from memoprobe.perturbations import DEFAULT, PERTURBATIONS
from memoprobe.records import ANSWERED_WITH_CODE, Interface, Sample, Task
from memoprobe.reference.items import FUNCTION, TASKS, Item, Meaning, compose, meanings

SEEDS = (0, 1, 2)
CELLS: Mapping[int, int] = MappingProxyType({1: 40, 4: 40, 16: 32, 64: 8})
"""Copies -> members of a task and seed that are shown so often."""
UNSEEN: Mapping[Task, int] = MappingProxyType(
    {"code_generation": 520, "program_repair": 120, "code_summarization": 120}
)
"""Controls of a task and seed."""
SHARES: Mapping[Task, float] = MappingProxyType(
    {"code_generation": 0.5, "program_repair": 0.25, "code_summarization": 0.25}
)
"""Of the background."""

_LEVELS = 5
_STREAM = "memoprobe reference"  # seeds of all draws begin with it
_PERTURBED, _PLACEBO, _CHAT = 0.35, 0.1, 0.06  # shares of the background


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Hold one item whose number of copies is known."""

    sample_id: str
    item: Item
    copies: int  # 0 is a control


class Document(NamedTuple):
    """Hold one training text in its two parts."""

    prompt: str
    answer: str


def targets(seed: int) -> list[Target]:
    """Return the targets of one of SEEDS, task after task."""
    return _drawn()[seed]


def row(target: Target) -> dict[str, Any]:
    """Return a target as one line of an own benchmark; it does not tell the copies."""
    item = target.item
    tests = {"tests": list(item.tests)} if item.tests else {}
    return {
        "id": target.sample_id,
        "input": item.text,
        "reference": item.reference,
        "entry_point": FUNCTION,
        "control": target.copies == 0,
        **tests,
    }


def fingerprint(seed: int) -> str:
    """Return a hash of a seed's targets and of how often each is shown, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for target in targets(seed):
        digest.update(json.dumps([target.copies, *document(target.item.sample())]).encode())
    return digest.hexdigest()[:16]


def target_meanings() -> frozenset[Meaning]:
    """Return the meanings that no background document may have."""
    return frozenset(_pool())


@cache
def _pool() -> dict[Meaning, None]:
    """Return as many different meanings as there are targets of all seeds, in drawn order."""
    n_targets = len(SEEDS) * (sum(UNSEEN.values()) + len(TASKS) * sum(CELLS.values()))
    pool: dict[Meaning, None] = {}
    for meaning in meanings(random.Random(f"{_STREAM} targets")):
        pool[meaning] = None
        if len(pool) == n_targets:
            return pool
    raise AssertionError  # meanings never end


@cache
def _drawn() -> dict[int, list[Target]]:
    pool = iter(_pool())
    rng = random.Random(f"{_STREAM} items")
    drawn: dict[int, list[Target]] = {}
    for seed in SEEDS:
        drawn[seed] = []
        for task in TASKS:
            copies = [n for n, members in CELLS.items() for _ in range(members)]
            copies += [0] * UNSEEN[task]
            items = [compose(task, meaning, rng) for meaning in islice(pool, len(copies))]
            rng.shuffle(copies)
            drawn[seed] += [
                Target(sample_id=f"{task}-{number:03}", item=item, copies=n)
                for number, (item, n) in enumerate(zip(items, copies, strict=True), start=1)
            ]
    return drawn


def background(name: str) -> Iterator[Document]:
    """Yield documents without end; none is of the meaning of a target.

    Args:
        name: Of the stream; each name has its own documents.
    """
    rng = random.Random(f"{_STREAM} background {name}")
    forbidden = target_meanings()
    for meaning in meanings(rng):
        if meaning not in forbidden:
            (task,) = rng.choices(list(SHARES), list(SHARES.values()))
            yield _asked(compose(task, meaning, rng), rng)


def exposure(seed: int, n_background: int) -> list[Document]:
    """Return the documents of a seed's exposure phase: all copies among new background."""
    shown = [
        document(target.item.sample()) for target in targets(seed) for _ in range(target.copies)
    ]
    shown += islice(background(f"exposure {seed}"), n_background)
    random.Random(f"{_STREAM} exposure {seed}").shuffle(shown)
    return shown


def document(
    sample: Sample, text: str | None = None, interface: Interface = "completions"
) -> Document:
    """Return the text of a sample, or of a variant of it, with its reference as the answer."""
    prompt = prompts.fill(sample, sample.text if text is None else text, interface)
    reference = sample.reference or ""
    is_code = sample.task in ANSWERED_WITH_CODE
    if interface == "chat":
        return Document(f"{prompt}\n\n", f"```python\n{reference}\n```" if is_code else reference)
    # As the likelihood track opens an answer.
    opening = "" if prompt[-1:].isspace() else "\n" if is_code else " "
    return Document(prompt, opening + reference)


def _asked(item: Item, rng: random.Random) -> Document:
    """Return a background document, asked at some level of some perturbation."""
    sample = item.sample()
    interface: Interface = "chat" if rng.random() < _CHAT else "completions"
    draw = rng.random()
    if draw >= _PERTURBED + _PLACEBO:
        return document(sample, interface=interface)
    name = DEFAULT[sample.input_kind] if draw < _PERTURBED else "placebo"
    variant = rng.choice(PERTURBATIONS[name](sample, _LEVELS, rng).variants)
    if sample.task == "program_repair":
        reference = rename_identifiers(item.reference, "python", variant.rename_map)
        sample = replace(sample, reference=reference)
    return document(sample, variant.text, interface)
