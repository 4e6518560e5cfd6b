"""Bind the perturbations to a study: which a sample gets, how strong, made once and kept."""

import json
from collections.abc import Iterable, Mapping

from memoprobe import perturbations, plan
from memoprobe.perturbations.paraphrase import lexical
from memoprobe.perturbations.rename import Renaming, rename
from memoprobe.perturbations.strength import edit_aims
from memoprobe.pipeline import paraphrasing
from memoprobe.records import Sample, Variant
from memoprobe.store import Store
from memoprobe.study import Study

MATCHED = frozenset({"rename", "lexical"})
"""The perturbations whose strength can be matched across benchmarks, of code and of prose."""


def names_of(study: Study, sample: Sample) -> list[str]:
    """Return the names of the perturbations that a sample gets."""
    chosen = perturbations.label(paraphrasing.name_for(study, sample.input_kind))
    return [chosen, "placebo"] if study.placebo and chosen != "placebo" else [chosen]


def variants_of(
    study: Study, sample: Sample, name: str, store: Store | None = None
) -> perturbations.Levels:
    """Return the levels of a sample under a perturbation; the same on every machine.

    Those by a paraphraser need the store that holds its replies, and those of matched
    strength the store that holds the aims; without one they have the usual strength.
    """
    rng = plan.rng_of(study.seed, sample.benchmark, sample.sample_id, name)
    source = paraphrasing.find(study, name, store)
    if source is not None:
        return source(sample, study.levels, rng, intensity=study.intensity)
    aims = _aims(store) if study.match_edit_share and name in MATCHED else ()
    if aims and name == "lexical":
        return lexical(sample, study.levels, rng, edit_shares=aims)
    if aims:
        return rename(sample, study.levels, rng, renaming=Renaming(edit_shares=aims))
    own = study.perturbation or ""
    perturb = perturbations.find(own if perturbations.label(own) == name else name)
    return perturb(sample, study.levels, rng, intensity=study.intensity)


def stored_variants(store: Store, study: Study, sample: Sample, name: str) -> list[Variant]:
    """Return a sample's levels from the database, where they are made once and kept."""
    stored = store.variants(sample.benchmark, sample.sample_id, name)
    if stored:
        return stored
    made = variants_of(study, sample, name, store)
    store.save(*made.variants)
    store.save_rejected(sample, name, made.rejected)
    return list(made.variants)


def settle_strength(store: Store, study: Study, samples: Mapping[str, Iterable[Sample]]) -> None:
    """Choose the edit share that each level aims at, where the study matches it; once a database.

    A study that is extended keeps the aims of its first run, so that no stored text changes.
    """
    if not study.match_edit_share or _aims(store):
        return
    strongest = {
        benchmark: [variants_of(study, *each).variants[-1].edit_share for each in own]
        for benchmark, group in samples.items()
        if (
            own := [
                (sample, name)
                for sample in group
                for name in names_of(study, sample)
                if name in MATCHED
            ]
        )
    }
    if strongest:
        store.set_info({"edit_aims": list(edit_aims(strongest, study.levels))})


def _aims(store: Store | None) -> tuple[float, ...]:
    return tuple(json.loads(store.info().get("edit_aims", "[]"))) if store else ()
