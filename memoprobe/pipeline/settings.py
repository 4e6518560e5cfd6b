"""Decide whether a study may extend a run database, and what the database remembers of it."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import platformdirs

from memoprobe import __version__, prompts
from memoprobe.errors import ConfigError, StoreError
from memoprobe.perturbations import DEFAULT, fingerprint
from memoprobe.pipeline import paraphrasing
from memoprobe.plan import Design
from memoprobe.records import Sample
from memoprobe.store import Store
from memoprobe.study import BenchmarkSpec, ModelSpec, Study


def home() -> Path:
    """Return the folder of fetched data."""
    chosen = os.environ.get("MEMOPROBE_HOME")
    return Path(chosen) if chosen else platformdirs.user_data_path("memoprobe", appauthor=False)


def api_key(model: ModelSpec) -> str | None:
    """Return a model's key from the environment, None where the study names no variable.

    Raises:
        ConfigError: The variable is not set.
    """
    return key_of(model.api_key_env, f"model {model.name}")


def key_of(variable: str | None, who: str) -> str | None:
    """Return the key that an environment variable holds, None where none is named.

    Raises:
        ConfigError: The variable is not set.
    """
    if variable is None:
        return None
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
        msg = f"{who}: api_key_env takes the name of an environment variable, not the key itself"
        raise ConfigError(msg)
    key = os.environ.get(variable, "").strip()
    if not key:
        # What is not written like a variable may be the key: it is not repeated.
        named = f" {variable}" if variable.isupper() else ""
        what = f"{who}: the environment variable{named} is not set"
        msg = f"{what}; export it with the key, or name no variable"
        raise ConfigError(msg)
    if not key.isprintable() or not key.isascii():
        msg = f"{who}: the key in {variable} holds characters that no header can"
        raise ConfigError(msg)
    return key


def settings_of(study: Study, samples: Mapping[str, list[Sample]]) -> dict[str, Any]:
    """Return what may not change under a database that already holds answers, or likelihoods.

    How answers are drawn binds those who ask for answers alone.
    """
    tasks = {sample.task for group in samples.values() for sample in group}
    interfaces = {model.interface for model in study.models}
    drawn = {"sampling": asdict(study.sampling), "width": study.answers}
    return {
        **(drawn if "answers" in study.probes else {}),
        "seed": study.seed,
        "levels": study.levels,
        "intensity": study.intensity,
        "match_edit_share": study.match_edit_share,
        "perturbation": {name: _perturbation(study, group) for name, group in samples.items()},
        "paraphrase": paraphrasing.identity(study, samples),
        "options": {spec.label: _options(spec) for spec in study.benchmarks},
        "prompts": {
            f"{task}.{interface}": prompts.fingerprint(task, interface)
            for task in sorted(tasks)
            for interface in sorted(interfaces)
        },
        "models": {
            model.name: {
                "model": model.served_model,
                "interface": model.interface,
                "extra_body": dict(model.extra_body),
            }
            for model in study.models
        },
    }


def _options(spec: BenchmarkSpec) -> dict[str, Any]:
    declared = {"reference": spec.reference, "references": spec.n_references}
    return {**spec.options, **(declared if spec.reference else {})}


def _perturbation(study: Study, group: list[Sample]) -> str:
    """Return the perturbation of a benchmark, ``default`` where it is that of its kind."""
    names = {paraphrasing.name_for(study, sample.input_kind) for sample in group}
    if study.perturbation is None and names <= set(DEFAULT.values()):
        return "default"
    return ", ".join(map(fingerprint, sorted(names))) or str(study.perturbation)


_ANOTHER_STUDY = (
    "the study differs from the one that made it; use another --db, or the old settings"
)


def settle(store: Store, wanted: dict[str, Any], *, differs: str | None = None) -> dict[str, Any]:
    """Return the settings under which the run goes on: the stored ones, extended.

    Models, benchmarks and prompts may be added, answers and repeats raised; anything
    else that differs would mix answers to different questions.

    Args:
        store: The run database.
        wanted: The settings.
        differs: How a message on differences begins; None speaks of the database and a run.

    Raises:
        StoreError: The study differs; the message names every difference.
    """
    store.forget_unasked()
    stored = stored_settings(store)
    merged = dict(wanted)
    if stored:
        planned = {plan.cell.model for plan in store.plans()}
        stored["models"] = {name: m for name, m in stored["models"].items() if name in planned}
        if "width" in stored and "width" in wanted:
            wanted = {**wanted, "width": stored["width"]}
        merged = stored | {
            name: {**stored.get(name, {}), **value} if name in EXTENSIBLE else value
            for name, value in wanted.items()
        }
        if lines := list(_differences(stored, wanted)):
            listed = "\n".join(f"  {line}" for line in lines)
            msg = f"{differs or f'{store.path}: {_ANOTHER_STUDY}'}:\n{listed}"
            raise StoreError(msg)
    store.set_info({"settings": merged, "memoprobe_version": __version__})
    return merged


EXTENSIBLE = frozenset({"models", "prompts", "perturbation", "paraphrase", "options"})


def _differences(stored: Mapping[str, Any], wanted: Mapping[str, Any], place: str = "") -> Any:  # noqa: ANN401
    """Yield a line for every setting that is there in both and differs."""
    for name in wanted:
        if name not in stored:
            continue
        old, new, label = stored[name], wanted[name], f"{place}{name}"
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{label}.")
        elif old != new:
            yield f"{label}: was {old!r}, is {new!r}"


def stored_settings(store: Store) -> dict[str, Any]:
    """Return the settings that a database was made with, empty for a new one."""
    settings: dict[str, Any] = json.loads(store.info().get("settings", "{}"))
    return settings


def families(store: Store) -> dict[str, tuple[str, int]]:
    """Return model -> its family and its place in it, of the models that have one."""
    found: dict[str, tuple[str, int]] = {}
    for family, members in json.loads(store.info().get("families", "{}")).items():
        found |= {model: (family, place) for place, model in enumerate(members)}
    return found


def remember_families(store: Store, study: Study) -> None:
    """Note which models are versions of one family; one that the study leaves out stays."""
    known: dict[str, list[str]] = json.loads(store.info().get("families", "{}"))
    for model in study.models:
        if model.family is not None:
            # In the order of the newest study; earlier members that it lacks come first.
            now = [m.name for m in study.models if m.family == model.family]
            before = [m for m in known.get(model.family, []) if m not in now]
            known[model.family] = [*before, *now]
    store.set_info({"families": known})


def design_of(study: Study, model: ModelSpec, width: int) -> Design:
    """Return what is asked of every variant by one model."""
    return Design(
        model=model.name,
        served_model=model.served_model,
        interface=model.interface,
        sampling=study.sampling,
        seed=study.seed,
        answers=study.answers,
        repeats=study.repeats,
        width=width,
        extra=model.extra_body,
    )
