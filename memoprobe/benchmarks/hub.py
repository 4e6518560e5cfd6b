"""Bring a benchmark's files from the Hugging Face hub: listed, pinned to a commit, cached.

Only files are fetched, into the cache where the hub's own client keeps them (``HF_HOME``);
a loading script that lies beside them is neither fetched nor run. What was chosen is noted in
the cache, so that it is found again without a listing.
"""

import hashlib
import json
import logging
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from memoprobe import __version__
from memoprobe.errors import BenchmarkError, ConfigError

_MAIN = "main"
_EXPORT = "refs/convert/parquet"
_LISTING_TIMEOUT_S = 30.0
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ON = {"1", "ON", "YES", "TRUE"}  # what the client takes for true
_WILD = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """Say where a data set lies on the hub; patterns are globs, as ``data/test-*.parquet``.

    Each of ``files`` and ``export`` holds alternatives in order of preference; an alternative
    is a tuple of patterns, all of which must name at least one file. ``*`` stays within a
    folder, ``**/`` is any number of folders.
    """

    id: str  # owner/name
    files: tuple[tuple[str, ...], ...] = ()  # on the main branch
    export: tuple[tuple[str, ...], ...] = ()  # on refs/convert/parquet; the config may be renamed
    mirror: "Hub | None" = None  # tried last


class Brought(NamedTuple):
    """Hold where the hub's files now lie."""

    folder: Path  # in which the files have their names in the repository; others may lie there
    files: tuple[str, ...]  # those chosen, sorted
    repository: str
    revision: str
    commit: str
    note: str | None = None  # what the user should know


class _Place(NamedTuple):
    """Name one place to look at."""

    repository: str
    revision: str
    alternatives: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return f"{self.repository} at {self.revision}"


class _Problem(NamedTuple):
    """Say why nothing came from a place."""

    text: str
    is_final: bool = False  # other places would fail alike


class _Listed(NamedTuple):
    """Hold what a branch consists of."""

    repository: str  # as it is called now
    commit: str
    sha256: Mapping[str, str | None]  # of each file by its name, None where the hub has none


def bring(name: str, hub: Hub | None, source: str) -> Brought:
    """Return a local folder with a benchmark's files, downloaded where they are not cached.

    The data files on the main branch come first, then the parquet export, then the mirror. If
    none can be had, or offline, it is what was brought before.

    Args:
        name: Of the benchmark.
        hub: Where its data set lies; None: not on the hub.
        source: Where else its data are, for the error.

    Raises:
        BenchmarkError: It is not on the hub, or cannot be brought from there; the message
            says which files to fetch by hand and how to give them.
        ConfigError: ``HF_ENDPOINT`` is no address.
    """
    if hub is None:
        msg = f"{name}: not on the hub; bring a copy of {source} and give it with --from"
        raise BenchmarkError(msg)
    places = list(_places(hub))
    problems = []
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in _ON:
        problems.append("HF_HUB_OFFLINE is set")
    else:
        for place in places:
            found = _download(name, place)
            if isinstance(found, Brought):
                return found
            problems.append(f"{place}: {found.text}")
            if found.is_final:
                break
    for place in places:
        if kept := _kept(name, place):
            return kept._replace(note=f"{'; '.join(problems)}; {kept.note}")
    listed = "".join(f"\n- {problem}" for problem in problems)
    first = places[0]
    msg = (
        f"{name}: cannot be brought from the hub:{listed}\nBy hand: put"
        f" {' and '.join(first.alternatives[0])} of {_page(first)}, or a copy of {source}, into a"
        f" folder, then `memoprobe fetch {name} --from FOLDER`"
    )
    raise BenchmarkError(msg)


def _places(hub: Hub | None) -> Iterator[_Place]:
    while hub is not None:
        if hub.files:
            yield _Place(hub.id, _MAIN, hub.files)
        if hub.export:
            yield _Place(hub.id, _EXPORT, hub.export)
        hub = hub.mirror


def _endpoint() -> str:
    """Return the address of the hub; the client reads it only when it is imported."""
    given = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
    try:
        parts = urlsplit(given)
        is_address = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        msg = "HF_ENDPOINT is not the address of a hub, such as https://huggingface.co"
        raise ConfigError(msg)
    return given


def _page(place: _Place) -> str:
    parts = urlsplit(_endpoint())
    host = parts.netloc.rpartition("@")[2]  # a password stays where it is
    return f"{parts.scheme}://{host}{parts.path}/datasets/{place.repository}"


def _cache() -> Path:
    """Return the folder where the hub's client keeps files; it too reads it when imported."""
    names = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
    given = next(filter(None, map(os.environ.get, names)), None)
    if given is None:
        caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        home = os.environ.get("HF_HOME") or f"{caches}/huggingface"
        given = f"{home}/hub"
    return Path(os.path.expandvars(given)).expanduser().absolute()


def _stored(repository: str) -> Path:
    """Return the folder of a repository in the cache, as the hub's client names it."""
    return _cache() / "--".join(("datasets", *repository.split("/")))


def _download(name: str, place: _Place) -> Brought | _Problem:
    """Return the files of one place, or why they cannot be had."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # before the import
    # Of whichever HTTP library the client uses. Takes a fifth of a second.
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]

    try:
        with warnings.catch_warnings(action="ignore"):
            listed = _list(place)
            if isinstance(listed, _Problem):
                return listed
            chosen = _chosen(listed.sha256, place)
            if not chosen:
                return _lack(listed.sha256, place)
            return _get(name, place, listed, chosen)
    except (HTTPError, OSError) as error:
        return _problem(error, place)


def _list(place: _Place) -> _Listed | _Problem:
    """Resolve a branch to a commit and list its files."""
    from huggingface_hub import HfApi

    # What goes wrong is told by our error; the client would tell it too, addresses and all.
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    api = HfApi(endpoint=_endpoint(), library_name="memoprobe", library_version=__version__)
    try:
        info = api.dataset_info(
            place.repository,
            revision=place.revision,
            files_metadata=True,
            timeout=_LISTING_TIMEOUT_S,
        )
    except UnicodeEncodeError:
        return _Problem("HF_TOKEN is no token: it holds letters that none has", is_final=True)
    except (AttributeError, KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError):
        return _Problem(f"{_page(place)} is not of a hub; see HF_ENDPOINT", is_final=True)
    if info.sha is None or not _COMMIT.fullmatch(info.sha):
        return _Problem(f"{_page(place)} names no commit; see HF_ENDPOINT", is_final=True)
    files = [each for each in info.siblings or () if _is_safe(each.rfilename)]
    sha256 = {each.rfilename: each.lfs.sha256 if each.lfs else None for each in files}
    return _Listed(info.id, info.sha, sha256)


def _is_safe(name: str) -> bool:
    """Tell whether a listed name stays within its folder."""
    parts = PurePosixPath(name).parts
    return not (name.startswith("/") or "\\" in name or "\0" in name or ".." in parts)


def _chosen(names: Iterable[str], place: _Place) -> tuple[str, ...]:
    """Return the files of the first alternative that is there; nothing where none is.

    An alternative of which the export cut a split (``partial-<split>``) is not: a part of a
    benchmark is another benchmark. A config that it renamed to ``default`` is found if it is
    the only one.
    """
    whole = {_uncut(name): name for name in names}
    is_renamed = place.revision == _EXPORT and all(name[:8] == "default/" for name in _data(whole))
    for alternative in place.alternatives:
        found = []
        for pattern in alternative:
            fits = _fitting(whole, pattern)
            if not fits and is_renamed:
                fits = _fitting(whole, f"default/{pattern.partition('/')[2]}")
            found.append(fits)
        chosen = set().union(*found)
        if all(found) and all(whole[name] == name for name in chosen):
            return tuple(sorted(chosen))
    return ()


def _uncut(name: str) -> str:
    return re.sub(r"(^|/)partial-", r"\1", name)


def _data(names: Iterable[str]) -> list[str]:
    """Return the names of files in folders; those at the top are the hub's own."""
    return [name for name in names if "/" in name]


def _fitting(names: Iterable[str], pattern: str) -> set[str]:
    parts = re.split(r"(\*\*/|\*|\?)", pattern)
    expression = re.compile("".join(_WILD.get(part, re.escape(part)) for part in parts))
    return {name for name in names if expression.fullmatch(name)}


def _lack(names: Iterable[str], place: _Place) -> _Problem:
    wanted = " or ".join(" and ".join(each) for each in place.alternatives)
    if _chosen(map(_uncut, names), place):
        return _Problem(f"holds only a part of {wanted} (folder partial-...), which is not used")
    return _Problem(f"holds no {wanted}")


def _get(name: str, place: _Place, listed: _Listed, chosen: tuple[str, ...]) -> Brought | _Problem:
    """Download what is not cached, check it and note the choice."""
    from huggingface_hub import hf_hub_download

    folder = _stored(listed.repository) / "snapshots" / listed.commit
    for file in chosen:
        if (folder / file).is_file():
            continue
        hf_hub_download(
            listed.repository,
            file,
            repo_type="dataset",
            revision=listed.commit,
            cache_dir=_cache(),
            endpoint=_endpoint(),
            library_name="memoprobe",
            library_version=__version__,
        )
        if not _is_sound(folder / file, listed.sha256[file]):
            return _Problem(f"{file} arrived damaged; run the same command again")
    note = {"repository": listed.repository, "commit": listed.commit, "files": chosen}
    with suppress(OSError):  # a cache that is only read serves without
        _note_path(name, place).parent.mkdir(parents=True, exist_ok=True)
        _note_path(name, place).write_text(json.dumps(note), encoding="utf-8")
    return Brought(folder, chosen, listed.repository, place.revision, listed.commit)


def _is_sound(path: Path, sha256: str | None) -> bool:
    """Tell whether a download is what was listed; remove it if not, so that it is had anew."""
    if sha256 is None:
        return True
    with path.open("rb") as file:
        is_sound = hashlib.file_digest(file, "sha256").hexdigest() == sha256
    if not is_sound:
        path.resolve().unlink()
        path.unlink(missing_ok=True)
    return is_sound


def _problem(error: Exception, place: _Place) -> _Problem:
    """Put an error of the client in our words; a server's might repeat a token."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    if isinstance(error, LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # what the client met first
    response = getattr(error, "response", None)
    if response is not None:
        return _refusal(error, response.status_code, place)
    if not isinstance(error, OSError):
        text = f"{_page(place)} cannot be reached, or breaks off ({type(error).__name__})"
    elif error.errno is not None:
        text = f"cannot write {_cache()}: {error.strerror}"
    else:
        text = "a download is not as large as announced"
    return _Problem(f"{text}; the same command goes on after the last whole file", is_final=True)


def _refusal(error: Exception, status: int, place: _Place) -> _Problem:
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError) or status == 403:
        text = f"gated: accept its terms on {_page(place)} and set HF_TOKEN to your token"
    elif isinstance(error, errors.RevisionNotFoundError):
        text = "no such branch"
    elif isinstance(error, errors.RepositoryNotFoundError):
        text = "no such repository, or a private one that needs HF_TOKEN"
    elif status == 401:
        text = "HF_TOKEN is not accepted; renew it or unset it"
    else:
        text = f"{_page(place)} fails; try again later"
    return _Problem(f"{text} (HTTP {status})", is_final=status == 429 or status >= 500)


def _note_path(name: str, place: _Place) -> Path:
    revision = place.revision.replace("/", "-")
    return _stored(place.repository) / f"memoprobe-{name}-{revision}.json"


def _kept(name: str, place: _Place) -> Brought | None:
    """Return what was brought from a place before, by us or by the hub's own tools."""
    try:
        noted = json.loads(_note_path(name, place).read_text(encoding="utf-8"))
        repository, commit, files = noted["repository"], noted["commit"], tuple(noted["files"])
    except (OSError, ValueError, LookupError, TypeError):
        return _found(place)
    folder = _stored(repository) / "snapshots" / commit
    if not all((folder / file).is_file() for file in files) or _chosen(files, place) != files:
        return _found(place)
    note = f"used the copy of {repository} that was brought before, commit {commit}"
    return Brought(folder, files, repository, place.revision, commit, note)


def _found(place: _Place) -> Brought | None:
    """Return what others left of a place in the cache; it may lack files."""
    stored = _stored(place.repository)
    try:
        commit = (stored / "refs" / place.revision).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    folder = stored / "snapshots" / commit
    paths = (path for path in folder.rglob("*") if path.is_file())
    files = _chosen([path.relative_to(folder).as_posix() for path in paths], place)
    if not files or not _COMMIT.fullmatch(commit):
        return None
    note = f"used {', '.join(files)} from the cache, commit {commit}; files may be missing"
    return Brought(folder, files, place.repository, place.revision, commit, note)
