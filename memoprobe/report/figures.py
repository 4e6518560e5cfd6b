"""Write the report's charts as files."""

from pathlib import Path

from memoprobe.report import answer, corner_bars, corners, maps, summary
from memoprobe.report.charts import Panel, save
from memoprobe.report.data import ReportData
from memoprobe.report.distribution import distributions
from memoprobe.report.falloff import falloffs
from memoprobe.report.files import numbered


def write(data: ReportData, folder: Path) -> list[Path]:
    """Write the report's charts, each as SVG, PDF and PNG, and return the paths.

    They are as wide as one column of a paper, or as both where one is too narrow.

    Args:
        data: What the report is made of.
        folder: Made where it is missing; files of the same names are overwritten.
    """
    folder.mkdir(parents=True, exist_ok=True)
    named = numbered()
    return [path for panel in _panels(data) for path in save(panel, folder / named(panel.name))]


def _panels(data: ReportData) -> list[Panel]:
    return [
        *maps.panels(answer.findings(data, summary.rows(data))),
        *(item.panel for item in falloffs(data, legend=True)),
        *(panel for item in distributions(data, legend=True) for panel in item.panels),
        *corner_bars.panels(corners.placed(data), legend=True),
    ]
