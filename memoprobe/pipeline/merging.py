"""Merge run databases of several machines."""

from collections.abc import Sequence
from pathlib import Path

from memoprobe.errors import ConfigError
from memoprobe.pipeline import settings
from memoprobe.store import merging, open_store


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
    for leftover in part.parent.glob(f"{part.name}*"):
        leftover.unlink()
    with open_store(part, write=True) as store:
        for source in sources:
            with open_store(source, write=False) as other:
                info = other.info()
                wanted = settings.stored_settings(other)
            settings.settle(store, wanted)
            merging.add(store, source)
            store.set_info({key: value for key, value in info.items() if key not in store.info()})
        store.compact()
    part.rename(out)
    for leftover in part.parent.glob(f"{part.name}*"):
        leftover.unlink()
