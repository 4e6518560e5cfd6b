"""Write what a calibration found as a page, and in short for a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from memoprobe.calibration.detectors import DETECTORS
from memoprobe.calibration.judging import FALSE_POSITIVES, SPLITS, Accused, Judged
from memoprobe.calibration.record import Calibration
from memoprobe.records import Task
from memoprobe.reference.items import TASKS
from memoprobe.report.text import MISSING, interval, number, percent
from memoprobe.tables import aligned

COPIES = 16
"""The number of copies that is shown in full."""

TITLES: dict[Task, str] = {
    "code_generation": "Prose to code (reworded)",
    "program_repair": "Buggy code to fix (renamed)",
    "code_summarization": "Code to summary (renamed)",
}

_HEAD = """\
# Validity: what the probe finds where the truth is known

`memoprobe calibrate` asks the reference model, a transformer of 3.3 million parameters whose
whole training is in this repository, for items that it saw 1, 4, 16 or 64 times late in its
training, and for items of the same kind that it never saw. Every figure here is of one such run
by memoprobe {version}, which took {minutes:.0f} minutes of processor time; the same command repeats
it. Variants, answers, likelihoods and scores are the ordinary pipeline's at the study's settings:
six levels, nine answers a level. Models: {models}.

**AUC** is the chance that a seen item lies above an unseen one: 1 finds all, .5 none, and below .5
a detector points the wrong way. Intervals are 95 % intervals over items.
"""

_QUICK = """\
**A quick look**, at no more than {limit} items of each number of copies: its figures say little.
"""

_SHARES = """\
## False alarms

Share of the items never seen that a p-value below .05 calls all the same. `answer_noise_p`
asks whether the answers differ from level to level at all, and any model reacts to another
prompt: it must not be read as "memorized". `control_p` ranks an item among controls: here {splits}
times a random half of the unseen items are the controls and the others are tested, and the
share is the mean.
"""

_LIMITS = """\
## What this does not show

- It is one small model on short functions composed of a few hundred clauses, in one language.
  Larger models generalize better, memorize after fewer copies and are tuned to chat; how much of
  this carries over nobody knows. The figures rank detectors; they are no error rates of yours.
- Copies are exact and come late. Copies spread over the whole training hardly stuck in a prototype,
  so no detector would find them; contamination by paraphrase or translation was not tried.
- A third of the background was asked in reworded or renamed prompts, so that the perturbations are
  nothing foreign. Where they are foreign, unseen items fall too, and the fall says less.
- Seen and unseen items are drawn from one source and told apart by chance alone. That makes
  `control_p` exact here. Controls that differ from the items in any other way make it wrong, and no
  statistic can tell (METHOD 4; the report's balance table is what there is).
- All seeds share one base training: they repeat items, exposure and chance, not the base. So
  intervals cover items, and no more.
- The corpus and the training were settled by people who knew what was to be shown: copies late,
  names and spellings that no prompt tells. Detectors are many and none is corrected for it.
- One copy is out of reach of everything here but of likelihoods, which tell some of it, most in
  program repair. A fall that is not there acquits nobody: compare 64 copies with 16, and both with
  recall.
"""


def render(found: Calibration) -> str:
    """Return the page as Markdown; it shows drawings that lie in ``validity/`` beside it."""
    models = ", ".join(f"seed {seed} ({name})" for seed, name in found.models.items())
    parts = [
        _HEAD.format(
            version=found.version,
            models=models,
            minutes=max(1, found.seconds / 60),
        )
    ]
    if found.limit is not None:
        parts.append(_QUICK.format(limit=found.limit))
    for task in dict.fromkeys(row.task for row in found.judged):
        own = [row for row in found.judged if row.task == task]
        counted = [row for row in own if row.detector == "recall"]
        seen = "; ".join(
            f"{_copies(n)}: {_by_seed(str(row.n) for row in counted if row.copies == n)}"
            for n in sorted({row.copies for row in counted})
        )
        unseen = _by_seed(str(row.n_unseen) for row in counted if row.copies == COPIES)
        parts += [
            f"## {TITLES[task]}\n\n"
            f"Items by seed: {seen}; never seen: {unseen}.\n\n"
            f"![AUC by copies](validity/auc-{task}.svg) "
            f"![Falloff by copies](validity/falloff-{task}.svg)\n",
            _by_copies(own),
            f"After {COPIES} copies, with intervals; true positives are the share of seen items "
            f"called where {FALSE_POSITIVES:.0%} of the unseen are:\n\n{_in_full(own)}",
        ]
    parts += [
        _SHARES.format(splits=SPLITS),
        _alarms(found.accused, "answer_noise_p"),
        _alarms(found.accused, "control_p"),
        _legend(),
        _LIMITS,
    ]
    return "\n".join(parts)


def _by_copies(judged: Sequence[Judged]) -> str:
    numbers = sorted({row.copies for row in judged})
    lines = []
    for detector in _detectors(judged):
        cells = [
            _by_seed(
                number(row.auc) for row in judged if (row.detector, row.copies) == (detector, n)
            )
            for n in numbers
        ]
        lines.append([f"`{detector}`", *cells])
    head = ["AUC by seed", *map(_copies, numbers)]
    return _table([head, *lines])


def _in_full(judged: Sequence[Judged]) -> str:
    rows = [row for row in judged if row.copies == COPIES]
    seeds = sorted({row.seed for row in rows})
    lines = []
    for detector in _detectors(rows):
        own = {row.seed: row for row in rows if row.detector == detector}
        areas = [_area(own[s]) if s in own else MISSING for s in seeds]
        found = [percent(own[s].true_positives) if s in own else MISSING for s in seeds]
        lines.append([f"`{detector}`", *areas, " / ".join(found)])
    return _table([["AUC", *(f"seed {seed}" for seed in seeds), "true positives"], *lines])


def _area(row: Judged) -> str:
    return interval(row.auc, row.auc_low, row.auc_high)


def _alarms(accused: Sequence[Accused], name: str) -> str:
    """Return the share of unseen items that one p-value calls, by detector, task and seed."""
    tasks = list(dict.fromkeys(row.task for row in accused))
    own = [row for row in accused if row.p_value == name]
    lines = [
        [
            f"`{detector}`",
            *(
                _by_seed(percent(row.share, 1) for row in _of(own, detector, task))
                for task in tasks
            ),
        ]
        for detector in _detectors(own)
    ]
    sizes = [_by_seed(str(row.n_unseen) for row in _of(own, "calibrated", task)) for task in tasks]
    head = [
        f"`{name}` < .05",
        *(f"{task} ({n} unseen)" for task, n in zip(tasks, sizes, strict=True)),
    ]
    return _table([head, *lines])


def _of(accused: Iterable[Accused], detector: str, task: Task) -> Iterator[Accused]:
    return (row for row in accused if (row.detector, row.task) == (detector, task))


def _copies(n: int) -> str:
    return "1 copy" if n == 1 else f"{n} copies"


def _by_seed(cells: Iterable[str]) -> str:
    return " / ".join(cells) or MISSING


def _legend() -> str:
    lines = [f"- `{name}`: {what}" for name, what in DETECTORS.items()]
    return "## The detectors\n\n" + "\n".join(lines) + "\n"


def _detectors(rows: Iterable[Judged | Accused]) -> list[str]:
    present = {row.detector for row in rows}
    return [name for name in DETECTORS if name in present]


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *body = lines
    rule = ["---"] * len(head)
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *body))


def summary(found: Calibration) -> str:
    """Return a table a task for a terminal: AUC by copies, the mean over seeds."""
    blocks = []
    for task in TASKS:
        own = [row for row in found.judged if row.task == task]
        rows = []
        for detector in _detectors(own):
            mine = [row for row in own if row.detector == detector]
            areas = {
                _copies(n): number(fmean([row.auc for row in mine if row.copies == n]))
                for n in sorted({row.copies for row in mine})
            }
            called = [row.true_positives for row in mine if row.copies == COPIES]
            rows.append(
                {
                    "detector": detector,
                    **areas,
                    f"found of {COPIES}": percent(fmean(called)) if called else MISSING,
                }
            )
        if rows:
            blocks.append(f"{TITLES[task]}: AUC, mean over seeds\n{aligned(rows, tuple(rows[0]))}")
    return "\n\n".join(blocks)
