"""Calibrate and write the outcome into a folder: page, drawings, figures and items."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

from memoprobe.calibration import calibrate, drawing, page, record, seeds_in
from memoprobe.calibration.detectors import Value
from memoprobe.calibration.record import Calibration
from memoprobe.calibration.warm import Show
from memoprobe.errors import ConfigError
from memoprobe.reference.model import FOLDER
from memoprobe.report.charts import save

PAGE = "validity.md"
FIGURES = "validity/figures.json"
"""Beside the page and its drawings; ``page.render`` makes the page of it."""

ITEMS = "items.csv"


class Told(NamedTuple):
    """Hold what there is to print."""

    summary: str
    as_json: dict[str, Any]


def run(
    out: Path, weights: Path | None, seeds: Sequence[int] | None, limit: int | None, show: Show
) -> Told:
    """Calibrate and write all files; see ``calibrate``.

    Args:
        out: Their folder.
        weights: A folder of models; None is the package's.
        seeds: Of the models; None or none is all that are there.
        limit: Of items.
        show: Called about once a second.

    Raises:
        ConfigError: A folder cannot be used, or has no model of a seed.
        Interrupted: A signal came.
    """
    folder = weights or FOLDER
    there = seeds_in(folder)
    chosen = sorted(set(seeds or there))
    if missing := [seed for seed in chosen if seed not in there]:
        msg = f"--seed {missing[0]}: {folder} has models of seeds {', '.join(map(str, there))} only"
        raise ConfigError(msg)
    try:
        found, values = calibrate(out, chosen, show, folder, limit)
        _write(found, values, out)
    except OSError as error:
        msg = f"{error.filename or out}: cannot be written: {error.strerror}"
        raise ConfigError(msg) from error
    return Told(page.summary(found), record.as_json(found))


def _write(found: Calibration, values: Sequence[Value], out: Path) -> None:
    drawings = (out / FIGURES).parent
    drawings.mkdir(exist_ok=True)
    for panel in drawing.panels(found):
        save(panel, drawings / panel.name)
    record.write(found, out / FIGURES)
    # Of the figures as they are kept, so that page and file agree to the last digit.
    (out / PAGE).write_text(page.render(record.read(out / FIGURES)), encoding="utf-8")
    _write_items(values, out / ITEMS)


def _write_items(values: Sequence[Value], path: Path) -> None:
    names = [field.name for field in fields(Value)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(map(asdict, values))
