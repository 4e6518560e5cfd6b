"""Hold what a calibration found, and write it as JSON and read it again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memoprobe.calibration.judging import Accused, Judged
from memoprobe.calibration.probing import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Hold what a calibration found."""

    version: str  # of memoprobe
    models: Mapping[int, str]  # seed -> hash of the weights
    limit: int | None  # of items of each number of copies, for a quick look
    seconds: float  # of processor time
    judged: Sequence[Judged]
    accused: Sequence[Accused]
    levels: Sequence[Level]


_TABLES: Mapping[str, type[Any]] = {"judged": Judged, "accused": Accused, "levels": Level}


def as_json(found: Calibration) -> dict[str, Any]:
    """Return a calibration as JSON: each table a list of objects, numbers to 4 decimals."""
    return {
        "version": found.version,
        "models": {str(seed): name for seed, name in found.models.items()},
        "limit": found.limit,
        "seconds": round(found.seconds),
        **{name: [_rounded(asdict(row)) for row in getattr(found, name)] for name in _TABLES},
    }


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()
    }


def write(found: Calibration, path: Path) -> None:
    """Write a calibration, a row a line, so that two of them can be compared by eye."""
    parts = []
    for name, value in as_json(found).items():
        rows = ",\n".join(map(json.dumps, value)) if name in _TABLES else ""
        parts.append(f"{json.dumps(name)}: " + (f"[\n{rows}\n]" if rows else json.dumps(value)))
    text = ",\n".join(parts)
    path.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def read(path: Path) -> Calibration:
    """Return the calibration that ``write`` wrote."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    whole["models"] = {int(seed): name for seed, name in whole["models"].items()}
    for name, row in _TABLES.items():
        whole[name] = tuple(row(**each) for each in whole[name])
    return Calibration(**whole)
