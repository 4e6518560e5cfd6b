"""Score answers by running their tests, each behind a wall of its own."""

import json
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import NamedTuple

from memoprobe import answers, sandbox, scoring, workers
from memoprobe.records import Response, Sample, Score, Variant, state
from memoprobe.sandbox import Limits, Program, Verdict
from memoprobe.scoring import Reading
from memoprobe.store import Store, results

SAMPLES_AT_ONCE = 50

NO_VERDICT = frozenset({"infrastructure", "unsupported"})
"""What says nothing of the answer: the sandbox failed, or a test needs what is not here."""


class Verdicts(MutableMapping[str, Verdict]):
    """Hold verdicts in the run database, so that no program runs twice."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getitem__(self, key: str) -> Verdict:
        """Return a verdict."""
        found = results.verdict(self._store, key)
        if found is None:
            raise KeyError(key)
        return Verdict(**json.loads(found))

    def __setitem__(self, key: str, verdict: Verdict) -> None:
        """Keep a verdict."""
        results.write_verdict(self._store, key, json.dumps(asdict(verdict)))

    def __delitem__(self, key: str) -> None:
        """Refuse: a verdict is a fact."""
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        """Yield the keys of all verdicts."""
        return iter(results.verdict_keys(self._store))

    def __len__(self) -> int:
        """Return the number of verdicts."""
        return len(results.verdict_keys(self._store))


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Say how tests are run."""

    reading: Reading
    limits: Limits
    pool: workers.Pool
    unsafe: bool = False  # without a wall, as the user


class Asked(NamedTuple):
    """Hold one sample with what was asked and answered of it."""

    sample: Sample
    levels: dict[int, Variant]
    responses: list[Response]


class _Trial(NamedTuple):
    response: Response
    rule: str
    program: Program


def scores(store: Store, asked: Iterable[Asked], way: Way) -> Iterator[Score]:
    """Yield the scores of answers by their tests: 1 where all pass, else 0.

    What was not answered has 0 that counts only where it is asked for. An answer without a
    verdict has no score.

    Raises:
        SandboxError: There is no wall to run programs behind, and ``way`` does not do without.
    """
    known, left = Verdicts(store), iter(asked)
    while some := list(islice(left, SAMPLES_AT_ONCE)):
        trials = [trial for each in some for trial in _trials(each, way)]
        programs = [trial.program for trial in trials]
        verdicts = run(programs, known, way.pool, unsafe=way.unsafe)
        for trial, verdict in zip(trials, verdicts, strict=True):
            if verdict.kind not in NO_VERDICT:
                value = float(verdict.kind == "passed")
                yield scoring.tested(trial.response, value, trial.rule, _said(verdict))
        for each in some:
            for response in each.responses:
                if state(response) != "ok":
                    yield scoring.unanswered(response, "tests")


def run(
    programs: Sequence[Program],
    known: MutableMapping[str, Verdict] | None,
    pool: workers.Pool,
    *,
    unsafe: bool,
) -> list[Verdict]:
    """Return the verdicts of programs in their order; ``known`` ones are taken and new ones kept.

    Raises:
        SandboxError: There is no wall to run programs behind, and ``unsafe`` is not given.
    """
    return sandbox.run_all(programs, pool=pool, cache=known, unsafe=unsafe)


def _said(verdict: Verdict) -> str:
    """Return a verdict in words, with the mode: only a shared one could be forged."""
    return f"{verdict.kind} ({verdict.mode})"


def _trials(asked: Asked, way: Way) -> Iterator[_Trial]:
    sample, levels, responses = asked
    for response in responses:
        if state(response) == "ok":
            answer = scoring.read(response, sample, levels[response.level], way.reading)
            yield _Trial(response, answer.rule, program(answer.code, sample, way.limits))


def program(code: str, sample: Sample, limits: Limits) -> Program:
    """Return an answer as a program with its tests; a generated test runs on the original one."""
    tests = sample.tests or ""
    if sample.task == "test_generation":
        tests, code = json.dumps({**json.loads(tests), "test": code}), sample.text
    else:
        code = answers.program(code, sample)
    return Program(
        language=sample.language,
        code=code,
        tests=tests,
        entry_point=sample.entry_point,
        limits=limits,
    )
