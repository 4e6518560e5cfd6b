"""Write the report's charts as files."""

from collections import Counter
from pathlib import Path

from memoprobe.report.charts import save
from memoprobe.report.data import ReportData
from memoprobe.report.distribution import distributions
from memoprobe.report.falloff import falloffs


def write(data: ReportData, folder: Path) -> list[Path]:
    """Write the report's charts, each as SVG, PDF and PNG, and return the paths.

    Args:
        data: What the report is made of.
        folder: Made where it is missing; files of the same names are overwritten.
    """
    folder.mkdir(parents=True, exist_ok=True)
    panels = [
        *(item.panel for item in falloffs(data, legend=True)),
        *(panel for item in distributions(data, legend=True) for panel in item.panels),
    ]
    written: list[Path] = []
    taken: Counter[str] = Counter()
    for panel in panels:
        # Names that differ only in what no file name holds, or in case, are numbered.
        taken[panel.name.lower()] += 1
        number = taken[panel.name.lower()]
        written += save(panel, folder / (panel.name if number == 1 else f"{panel.name}-{number}"))
    return written
