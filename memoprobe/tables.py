"""Lay out rows as an aligned plain-text table."""

from collections.abc import Mapping, Sequence


def aligned(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """Return a table of the given columns; numbers stand to the right, None is a dash."""
    if not rows:
        return "(none)"
    lines = [list(columns), *([shown(row[name]) for name in columns] for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    right = [
        all(isinstance(row[name], int | float | None) for row in rows)
        and not any(isinstance(row[name], bool) for row in rows)
        for name in columns
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if numeric else cell.ljust(width)
            for cell, width, numeric in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def shown(value: object) -> str:
    """Return a value as a cell of a table."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{n} {name}" for name, n in sorted(value.items())) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
