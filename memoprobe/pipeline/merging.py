"""Merge run databases of several machines."""

from collections.abc import Sequence
from pathlib import Path

from memoprobe.errors import ConfigError, StoreError
from memoprobe.pipeline import settings
from memoprobe.store import Store, merging, open_store, opening

_OTHER_STUDY = (
    "its run had other settings than the parts before it; merge only parts of one study, so run it"
    " again with their settings"
)


def merge(sources: Sequence[Path], out: Path) -> None:
    """Write a database with the facts of all sources.

    Raises:
        ConfigError: The output is there already, or one of the sources.
        StoreError: A source is no run database, or two contradict each other.
    """
    if out.exists():
        msg = f"{out} is there already: name a new file, it is made from the sources"
        raise ConfigError(msg)
    part = Path(f"{out}.part")
    opening.remove(part)
    try:
        with open_store(part, write=True) as store:
            for source in sources:
                _add(store, source)
            store.compact()
        part.rename(out)
    finally:
        opening.remove(part)


def _add(store: Store, source: Path) -> None:
    with open_store(source, write=False) as other:
        info = other.info()
        wanted = settings.stored_settings(other)
    stored = settings.stored_settings(store)
    if wanted:
        # A run may raise the answers under the width it began with; two runs that began with
        # different ones drew the same slots with different seeds.
        first, here = stored.get("width"), wanted.get("width")
        if first is not None and here is not None and first != here:
            msg = f"{source}: its run began with {here} answers, the others' with {first}"
            raise StoreError(msg)
        settings.settle(store, wanted, differs=f"{source}: {_OTHER_STUDY}")
    merging.add(store, source)
    store.set_info({key: value for key, value in info.items() if key not in store.info()})
