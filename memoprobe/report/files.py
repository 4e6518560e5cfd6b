"""Write the report's tables as files of their own."""

from collections.abc import Callable
from pathlib import Path

from memoprobe.report import answer, checks, corners, detectors, families, run, summary
from memoprobe.report.charts import file_name
from memoprobe.report.data import ReportData
from memoprobe.report.tables import Table, as_csv
from memoprobe.report.tables import markdown as as_markdown


def tables(data: ReportData, *, primary: bool = False) -> list[Table]:
    """Return the tables that have rows; comparisons on request of the confirmatory families."""
    rows = summary.rows(data)
    found = [
        answer.table(answer.findings(data, rows)),
        *summary.tables(rows),
        corners.table(corners.placed(data)),
        families.table(families.families(data), primary=primary),
        detectors.table(data),
        detectors.likelihoods(data),
        checks.placebos(rows),
        checks.gated(data),
        checks.treatments(data),
        checks.edits(data),
        checks.meaning(data),
        checks.bookkeeping(data),
        *run.tables(data),
    ]
    return [table for table in found if table.rows]


def markdown(data: ReportData) -> str:
    """Return the tables as Markdown, of the comparisons those of the confirmatory families."""
    return as_markdown(tables(data, primary=True))


def write_csv(data: ReportData, folder: Path) -> list[Path]:
    """Write every table, in full precision, as a CSV file and return the paths.

    Args:
        data: What the report is made of.
        folder: Made where it is missing; files of the same names are overwritten.
    """
    folder.mkdir(parents=True, exist_ok=True)
    named = numbered()
    written = []
    for table in tables(data):
        path = folder / f"{named(file_name(table.name))}.csv"
        path.write_text(as_csv(table), encoding="utf-8")
        written.append(path)
    return written


def numbered() -> Callable[[str], str]:
    """Return a function that gives a name back, with a number where it was given before.

    Names that differ only in what no file name holds, or in case, are told apart by it.
    """
    taken: set[str] = set()

    def unique(name: str) -> str:
        tries = (name if n == 1 else f"{name}-{n}" for n in range(1, len(taken) + 2))
        free = next(each for each in tries if each.lower() not in taken)
        taken.add(free.lower())
        return free

    return unique
