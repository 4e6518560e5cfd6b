"""Check that perturbed code still does what it did: by its tests, else by its tokens.

Where a sample has tests that run here, its *reference* is perturbed as its text was, by the same
perturbation and seed, and run against them; of a sample that asks for a test, the program
itself is run against the reference test. Anything else is only parsed: it must parse and have
the tokens of the original, once our own names and lines are taken back. Code that does not
pass unperturbed says nothing and counts at no level.
"""

import ast
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import NamedTuple

from memoprobe import languages, sandbox, workers
from memoprobe.errors import SandboxError
from memoprobe.metrics import METRICS
from memoprobe.perturbations import CHANGES_MEANING, PERTURBATIONS
from memoprobe.perturbations.preserving import preserved
from memoprobe.perturbations.syntax import Edit, edited
from memoprobe.pipeline import perturbing, settings, testing
from memoprobe.records import CheckedBy, Sample, Variant
from memoprobe.sandbox import Limits, Program, Verdict
from memoprobe.store import Store
from memoprobe.store import meaning as stored
from memoprobe.store.meaning import Checked
from memoprobe.study import Study

_RENAMES_WHAT_TESTS_CALL = "function-name"
_AT_ONCE = 400  # samples
_RUN = frozenset({"python", "java"})  # languages whose programs the sandbox runs

Altered = tuple[Sample, Sequence[Variant]]
"""A sample in code and its levels under one perturbation, level 0 first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Say how references are perturbed and run."""

    study: Study  # whose seed, levels and intensity hold
    store: Store | None = None  # of the run, which may hold aims of strength
    limits: Limits = field(default_factory=Limits)
    pool: workers.Pool = workers.DEFAULT
    unsafe: bool = False  # without a wall, as the user
    known: MutableMapping[str, Verdict] | None = None  # verdicts of earlier times
    walled: bool = True  # whether anything can be run


class Rates(NamedTuple):
    """Hold the shares of samples whose code still means the same at a level, None without any."""

    passed: float | None  # of those that were run against tests
    parsed: float | None  # of those that could only be parsed


UNKNOWN = Rates(None, None)

RatesOf = Callable[[Sequence[Altered]], Mapping[int, Rates]]
"""Return level -> the rates of some samples under one perturbation."""


def fill(store: Store, pool: workers.Pool, *, unsafe: bool = False) -> None:
    """Check what a run has perturbed and nobody has checked yet, and keep what was found.

    Without a wall what has tests is left for a later time.
    """
    wanted = stored.unchecked(store)
    if not wanted:
        return
    settled = settings.stored_settings(store)
    usual = Study()
    study = replace(
        usual,
        **{
            name: settled.get(name, getattr(usual, name))
            for name in ("seed", "levels", "intensity", "match_edit_share")
        },
    )
    way = Way(
        study=study,
        store=store,
        limits=Limits(**json.loads(store.info().get("limits", "{}"))),
        pool=pool,
        unsafe=unsafe,
        known=testing.Verdicts(store),
        walled=why_not(unsafe=unsafe) is None,
    )
    samples = {(sample.benchmark, sample.sample_id): sample for sample in store.samples()}
    altered = (
        (samples[benchmark, sample_id], store.variants(benchmark, sample_id, perturbation))
        for benchmark, perturbation, sample_id in wanted
    )
    with store.db.atomic():
        stored.write(store, checks(altered, way))


def why_not(*, unsafe: bool = False) -> str | None:
    """Return why nothing can be run, None where it can."""
    try:
        sandbox.find_wall(unsafe=unsafe)
    except SandboxError as error:
        return str(error)
    return None


def checks(altered: Iterable[Altered], way: Way) -> Iterator[Checked]:
    """Yield what is found of samples, level by level, up to level 0 where that does not hold.

    What has tests and can not be run is left out, and so is what changes the meaning.
    """
    left = (each for each in altered if _is_checked(each))
    while some := list(islice(left, _AT_ONCE)):
        programs = [_programs(each, way) for each in some]
        everything = [program for own in programs for program in own]
        verdicts = iter(testing.run(everything, way.known, way.pool, unsafe=way.unsafe))
        untested = []
        for each, own in zip(some, programs, strict=True):
            kinds = [verdict.kind for verdict in islice(verdicts, len(own))]
            if (_is_tested(each) and not way.walled) or "infrastructure" in kinds:
                continue
            if not kinds or kinds[0] == "unsupported":
                untested += [each] if _is_ours(each) else []
            else:
                yield from _rows(each, "tests", [kind == "passed" for kind in kinds])
        parsed = workers.each(preserved, untested, way.pool, len(untested))
        for each, holds in zip(untested, parsed, strict=True):
            yield from _rows(each, "parsed", holds)


def _is_checked(altered: Altered) -> bool:
    """Tell whether it is code, and altered by something that is to keep its meaning."""
    sample, variants = altered
    is_kept = variants[0].perturbation not in CHANGES_MEANING
    return sample.input_kind == "code" and is_kept and (_is_ours(altered) or _is_tested(altered))


def _is_ours(altered: Altered) -> bool:
    """Tell whether the perturbation is known, so that its edits can be made, and taken back."""
    return altered[1][0].perturbation in PERTURBATIONS


def _is_tested(altered: Altered) -> bool:
    """Tell whether there are tests, and code of which they are known to hold."""
    sample, variants = altered
    # Of an own perturbation there are the texts that a run holds, and nothing else.
    is_made = _is_ours(altered) or sample.task == "test_generation"
    is_called = variants[0].perturbation != _RENAMES_WHAT_TESTS_CALL
    is_run = sample.language in _RUN and METRICS["tests"].suits(sample)
    return is_made and is_called and is_run and sample.reference is not None


def _programs(altered: Altered, way: Way) -> list[Program]:
    """Return a sample's code at all levels with its tests, nothing where it has none."""
    sample, variants = altered
    if not way.walled or not _is_tested(altered):
        return []
    code = sample.reference or ""
    if sample.task == "test_generation":
        return [
            testing.program(
                _calling(code, sample, each), replace(sample, text=each.text), way.limits
            )
            for each in variants
        ]
    name = variants[0].perturbation
    made = perturbing.variants_of(way.study, replace(sample, text=code), name, way.store).variants
    return [testing.program(each.text, sample, way.limits) for each in made]


def _calling(test: str, sample: Sample, variant: Variant) -> str:
    """Return a test whose calls of the function under test name arguments as the variant does.

    So does a model that has seen the variant, and its test is mapped back before it is run.
    """
    if sample.language != "python":
        return test
    data = languages.encode(test)
    starts = list(accumulate((len(line) + 1 for line in data.split(b"\n")), initial=0))
    edits = []
    for name in _argument_names(test, sample.entry_point):
        old, new = name.arg or "", variant.rename_map.get(name.arg or "")
        if new is not None:
            start = starts[name.lineno - 1] + name.col_offset
            edits.append(Edit(start, start + len(languages.encode(old)), languages.encode(new)))
    return edited(data, edits)[0]


def _argument_names(test: str, function: str | None) -> Iterator[ast.keyword]:
    """Yield the arguments that calls of a function give by their names."""
    try:
        tree = ast.parse(test)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)):
                yield from node.keywords if called == function else ()


def _rows(altered: Altered, way: CheckedBy, holds: Sequence[bool]) -> Iterator[Checked]:
    sample, variants = altered
    name = variants[0].perturbation
    for level, each in enumerate(holds if holds[0] else holds[:1]):
        yield Checked(sample.benchmark, sample.sample_id, name, level, way, each)


def rates_of(way: Way) -> RatesOf:
    """Return what checks samples here and now."""

    def rates(altered: Sequence[Altered]) -> dict[int, Rates]:
        found = defaultdict[tuple[int, str], list[bool]](list)
        for each in checks(altered, way):
            found[each.level, each.way].append(each.holds)
        return _rates({key: (sum(held), len(held)) for key, held in found.items()})

    return rates


def stored_rates(store: Store) -> RatesOf:
    """Return what tells the rates that a run's last ``score`` has found."""
    known = stored.checks(store)

    def rates(altered: Sequence[Altered]) -> dict[int, Rates]:
        place = altered[0][0].benchmark, altered[0][1][0].perturbation
        found = defaultdict[tuple[int, str], tuple[int, int]](lambda: (0, 0))
        for each in known:
            if (each.benchmark, each.perturbation) == place:
                passed, n = found[each.level, each.way]
                found[each.level, each.way] = passed + each.passed, n + each.n
        return _rates(found)

    return rates


def _rates(counts: Mapping[tuple[int, str], tuple[int, int]]) -> dict[int, Rates]:
    """Return level -> rates, given (level, way) -> how many passed of how many."""
    shares = {key: passed / n for key, (passed, n) in counts.items()}
    return {
        level: Rates(shares.get((level, "tests")), shares.get((level, "parsed")))
        for level, _ in shares
    }
