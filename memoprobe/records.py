"""Hold the records of a run, in pipeline order; each is a row of the table named in its plural.

Sample, Variant, Request and Response are facts and only ever appended. A Failure
lasts until a Response replaces it. Score and all after it can be rebuilt.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Task = Literal[
    "code_generation",
    "program_repair",
    "test_generation",
    "vulnerability_detection",
    "code_summarization",
]
ANSWERED_WITH_CODE: frozenset[Task] = frozenset(
    {"code_generation", "program_repair", "test_generation"}
)
InputKind = Literal["prose", "code"]
Interface = Literal["chat", "completions"]
Probe = Literal["answers", "likelihood"]
"""What a model is asked for: texts it draws, or how likely it finds a given one."""

TEXT_SLOT = "⟦text⟧"
"""Where a Sample's text stands in its context; without it the text comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Hold one benchmark item."""

    benchmark: str
    sample_id: str
    task: Task
    language: str  # of the code that is renamed or asked for, lower case
    input_kind: InputKind  # of text
    text: str  # what is perturbed
    context: str = ""  # goes into the prompt unperturbed; TEXT_SLOT marks the place of text
    reference: str | None = None  # a whole function where the answer is code
    alternatives: tuple[str, ...] = ()  # further references; the nearest of all of them counts
    tests: str | None = None  # JSON, see benchmarks
    entry_point: str | None = None  # the function under test; never renamed
    cluster: str | None = None  # project, repository, contest
    date: str | None = None  # ISO 8601
    control: bool = False  # the model cannot have seen it

    @property
    def references(self) -> tuple[str, ...]:
        """Return every reference that counts, none where there is none."""
        return () if self.reference is None else (self.reference, *self.alternatives)

    def whole(self, text: str) -> str:
        """Return the sample's unperturbed context around ``text``."""
        if TEXT_SLOT in self.context:
            return self.context.replace(TEXT_SLOT, text)
        return f"{text}\n\n{self.context}" if self.context else text


def content_hash(sample: Sample) -> str:
    """Return a hash of what a sample asks and expects; an edited row is a new sample.

    Cluster, date and control describe the sample and are no part of it.
    """
    parts = [
        sample.task,
        sample.language,
        sample.input_kind,
        sample.text,
        sample.context,
        sample.reference,
        sample.tests,
        sample.entry_point,
        *([sample.alternatives] if sample.alternatives else []),
    ]
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Hold one sample's text at one level of a perturbation."""

    benchmark: str
    sample_id: str
    perturbation: str
    level: int  # 0 is the original
    text: str
    distance: float  # cosine distance of word TF vectors to level 0, in [0, 1]
    edit_share: float  # token Levenshtein to level 0 over the longer of the two, in [0, 1]
    rename_map: Mapping[str, str]  # original name -> name in this variant; empty for prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Hold what a server is told about drawing an answer."""

    temperature: float = 0.3
    top_p: float = 0.5
    max_tokens: int = 1024


class Slot(NamedTuple):
    """Name one planned answer of a request."""

    repeat: int  # from 1
    answer: int  # from 1, within the repeat
    seed: int
    key: bytes  # hashes all that can change the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Hold one call for several slots of one variant."""

    model: str  # our name
    served_model: str  # the server's name
    benchmark: str
    sample_id: str
    perturbation: str
    level: int
    interface: Interface
    prompt: str
    stop: tuple[str, ...] = ()  # texts before which the server ends an answer
    sampling: Sampling
    slots: tuple[Slot, ...]  # of rising seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Forcing(Request):
    """Hold one call that draws no answer: it asks how likely the reference is as the answer."""

    given: str  # what the answer opens with and is not measured, such as a code fence
    reference: str  # in the variant's names


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """Hold what came back for one slot."""

    key: bytes
    model: str
    benchmark: str
    sample_id: str
    perturbation: str
    level: int
    repeat: int
    answer: int
    text: str | None  # None: the reply had no answer text, only a finish reason
    reasoning: str | None
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None  # an equal share of what the server counts for the request
    latency_s: float
    seed: int
    endpoint: str


State = Literal["ok", "truncated", "truncated_empty", "empty", "refused"]


def state(response: Response) -> State:
    """Return whether a response holds an answer, and if not, why; only ``ok`` is an answer.

    A cut-off answer is none, however much of it came; ``truncated_empty`` is one that
    spent its tokens before the first word, by thinking as a rule.
    """
    blank = not (response.text or "").strip()
    if response.finish_reason in {"content_filter", "refusal"}:
        return "refused"
    if response.finish_reason == "length":
        return "truncated_empty" if blank else "truncated"
    return "empty" if blank else "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Hold that nothing usable came back for one slot; never scored."""

    key: bytes
    model: str
    benchmark: str
    sample_id: str
    perturbation: str
    level: int
    repeat: int
    answer: int
    kind: str
    phase: str
    detail: str
    attempts: int
    permanent: bool
    probe: Probe = "answers"  # for what was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Likelihood:
    """Hold how likely a reference is as the answer to one variant, by one model."""

    key: bytes  # hashes all that can change it
    model: str
    benchmark: str
    sample_id: str
    perturbation: str
    level: int
    total: float  # log-probability in nats, of the tokens that lie wholly in the reference
    n_tokens: int
    n_bytes: int  # of the reference that these tokens spell, in UTF-8
    tokens: bytes  # each one's log-probability at level 0, float32 little-endian; else empty
    endpoint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Hold one answer's performance by one metric."""

    model: str
    benchmark: str
    sample_id: str
    perturbation: str
    level: int
    repeat: int
    answer: int
    metric: str
    value: float  # performance in [0, 1], 1 is best
    rule: str  # how the answer was selected from the text
    answered: bool = True  # False: cut off, empty, refused or failed, and 0 if it counts at all
    verdict: str | None = None  # of the answer's tests, where they were run


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Hold one sample's mean performance at every level that has answers."""

    model: str
    benchmark: str
    sample_id: str
    perturbation: str
    metric: str
    means: Mapping[int, float]  # level -> mean over its answers, in rising order of level


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Hold how far one sample's performance falls, by one definition (METHOD 1)."""

    model: str
    benchmark: str
    sample_id: str
    perturbation: str
    metric: str
    definition: str
    value: float
    n_levels: int  # levels above 0 with answers, K_i
    noise_floor: float | None  # None where the definition has none
    excess: float | None
    answer_noise_p: float | None
    control_p: float | None
    control_q: float | None = None  # control_p by Benjamini and Hochberg within the cell


CHANGES_MEANING = frozenset({"constants", "bitflip"})
"""Perturbations after which the reference no longer answers what is asked, or nobody can tell.

No claim rests on them, and they are pooled with no other.
"""

CheckedBy = Literal["tests", "parsed"]
"""How perturbed code was checked: run against its tests, or parsed and compared token by token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeaningCheck:
    """Count the samples whose perturbed code still means the same at one level."""

    benchmark: str
    perturbation: str
    language: str
    way: CheckedBy
    level: int  # at 0, of how many the unperturbed code passes: only those count above
    n: int
    passed: int
    broken: tuple[str, ...] = ()  # ids of those that do not pass


DEFAULT_POOL = "default"
"""The pool of every benchmark's default perturbation; another perturbation is its own pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Hold one test of a subject against the rest."""

    question: str
    test: str
    subject: str
    context: str
    perturbation: str
    pool: str  # only groups of one pool are compared, and corrected, together
    metric: str
    definition: str
    n_subject: int
    n_rest: int
    statistic: float | None
    p_value: float | None
    p_adjusted: float | None  # by the correction that the family declares
    p_holm: float | None
    p_bh: float | None
    effect: float | None
    effect_low: float | None
    effect_high: float | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """Hold how well one detector of memorization tells a cell's items from the controls.

    A detector is higher where it suspects more, so that an ``auc`` of .5 says nothing and one
    of 1 that every item lies above every control.
    """

    model: str
    benchmark: str
    perturbation: str
    detector: str
    metric: str
    definition: str
    n_items: int
    n_controls: int  # of the model, task and perturbation, whichever benchmark they are in
    items: float  # mean
    controls: float | None
    auc: float | None  # share of pairs in which the item is higher, a tie counting half
    auc_low: float | None
    auc_high: float | None
    found: float | None  # share of items above what at most 5 % of the controls exceed
