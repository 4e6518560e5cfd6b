"""Lay detectors of memorization side by side, and say what likelihoods were asked for."""

from memoprobe.report.data import ReportData
from memoprobe.report.tables import Column, Table

NAMES = {
    "calibrated": "fall of the answers",
    "paper": "largest fall of the answers (the study's)",
    "recall": "level-0 performance",
    "logprob.calibrated": "fall of the reference's log-probability",
    "ma": "likelihood advantage (the study's)",
    "level0_logprob": "level-0 log-probability of the reference",
    "min_k": "Min-K % of the reference, level 0",
    "cdd": "CDD: answers peaked around the greedy one",
    "mri": "MRI: like the reference, and wrong",
}
"""Detector -> what it measures; each is higher where it suspects more."""

COLUMNS = (
    Column("model", "Model"),
    Column("benchmark", "Benchmark"),
    Column("perturbation", "Perturbation"),
    Column("detector", "Detector"),
    Column("auc", "AUC [95 %]", "interval"),
    Column("found", "Found at 5 % false alarms", "share"),
    Column("n_items", "Items", "count"),
    Column("n_controls", "Controls", "count"),
    Column("items", "Mean of items", "number"),
    Column("controls", "Mean of controls", "number"),
    Column("what", "What it measures"),
)


def table(data: ReportData) -> Table:
    """Return a row per model, benchmark, perturbation and detector."""
    return Table(
        name="detectors",
        title="Detectors side by side",
        columns=COLUMNS,
        rows=[
            [
                each.model,
                each.benchmark,
                each.perturbation,
                each.detector,
                None if each.auc is None else (each.auc, each.auc_low, each.auc_high),
                each.found,
                each.n_items,
                each.n_controls,
                each.items,
                each.controls,
                NAMES[each.detector],
            ]
            for each in data.detections
        ],
    )


def likelihoods(data: ReportData) -> Table:
    """Return how many likelihoods were planned, told, failed and are left."""
    names = ("model", "benchmark", "perturbation", "samples", "planned", "answered", "left")
    return Table(
        name="likelihoods",
        title="Likelihoods",
        columns=(
            Column("model", "Model"),
            Column("benchmark", "Benchmark"),
            Column("perturbation", "Perturbation"),
            Column("samples", "Samples", "count"),
            Column("planned", "Planned", "count"),
            Column("told", "Told", "count"),
            Column("left", "Left", "count"),
            Column("failed", "Failed"),
        ),
        rows=[
            [
                *(row[name] for name in names),
                ", ".join(f"{n} {kind}" for kind, n in sorted(row["failed"].items())) or None,
            ]
            for row in data.likelihoods
        ],
    )
