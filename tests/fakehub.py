"""Serve the Hugging Face hub's protocol for data sets on loopback, for its real client."""

import hashlib
import io
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pyarrow
from pyarrow import parquet

MAIN, EXPORT = "main", "refs/convert/parquet"
TOKEN = "hf_made_up_for_tests"
_LISTING = re.compile(r"/api/datasets/([^/]+/[^/]+)/revision/([^/]+)$")
_FILE = re.compile(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)$")
_STORE = re.compile(r"/store/([^/]+/[^/]+)/([^/]+)/(.+)$")
_RANGE = re.compile(r"bytes=(\d+)-")


def table(rows: list[dict], row_group_size: int | None = None) -> bytes:
    """Return rows as a parquet file."""
    sink = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), sink, row_group_size=row_group_size)
    return sink.getvalue()


def commit_of(files: Mapping[str, bytes]) -> str:
    """Return the commit of a branch, which is a hash of its content."""
    content = [(name, hashlib.sha1(data).hexdigest()) for name, data in sorted(files.items())]
    return hashlib.sha1(json.dumps(content).encode()).hexdigest()


@dataclass
class Repository:
    """Hold the files of each branch, and who may have them."""

    branches: dict[str, dict[str, bytes]] = field(default_factory=dict)
    gated: bool = False  # a file needs TOKEN
    is_large: bool = False  # files are in the large file store: they redirect, with their SHA-256
    moved_to: str | None = None


@dataclass
class FakeHub:
    """Hold what the hub has, how it misbehaves and what it was asked."""

    repositories: dict[str, Repository]
    url: str = ""
    store_url: str = ""  # of another host, so that no token may go there
    statuses: dict[str, int] = field(default_factory=dict)  # answers by beginnings of paths
    cuts: dict[str, list[int]] = field(default_factory=dict)  # file: bytes sent in each reply
    served: dict[str, bytes] = field(default_factory=dict)  # other content than was listed
    pages: dict[str, bytes] = field(default_factory=dict)  # beside the API
    asked: list[str] = field(default_factory=list)  # method and path
    headers: list[dict[str, str]] = field(default_factory=list)

    def files(self, repository: Repository, revision: str) -> dict[str, bytes] | None:
        """Return the files at a branch or a commit."""
        branches = repository.branches
        commits = {commit_of(files): files for files in branches.values()}
        return branches.get(revision) or commits.get(revision)


def listing(name: str, files: dict[str, bytes], is_large: bool) -> dict:
    """Return a revision's description in the words of the hub."""
    siblings = []
    for path, data in files.items():
        entry = {"rfilename": path, "size": len(data), "blobId": hashlib.sha1(data).hexdigest()}
        large = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
        siblings.append(entry | ({"lfs": large} if is_large else {}))
    return {"_id": "0", "id": name, "sha": commit_of(files), "siblings": siblings, "tags": []}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: FakeHub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.hub.asked.append(f"{self.command} {self.path}")
        self.hub.headers.append({key.lower(): value for key, value in self.headers.items()})
        path = self.path.partition("?")[0]
        for start, status in self.hub.statuses.items():
            if path.startswith(start):
                return self.refuse(status)
        if path in self.hub.pages:
            return self.send(200, {}, self.hub.pages[path])
        for pattern, answer in ((_LISTING, self.list), (_FILE, self.file), (_STORE, self.stored)):
            if found := pattern.match(path):
                return answer(*map(unquote, found.groups()))
        return self.refuse(404, "EntryNotFound")

    def found(self, name: str, revision: str) -> tuple[Repository, dict[str, bytes]] | None:
        """Return repository and files; None where the refusal is sent already."""
        repository = self.hub.repositories.get(name)
        if repository is None:  # without a token the hub does not say that there is none
            self.refuse(401, "RepoNotFound")
            return None
        if repository.moved_to is not None:
            target = self.path.replace(name, repository.moved_to)
            self.send(307, {"Location": target}, b"")
            return None
        files = self.hub.files(repository, revision)
        if files is None:
            self.refuse(404, "RevisionNotFound")
            return None
        return repository, files

    def list(self, name: str, revision: str) -> None:
        if found := self.found(name, revision):
            repository, files = found
            self.send(200, {}, json.dumps(listing(name, files, repository.is_large)).encode())

    def file(self, name: str, revision: str, path: str) -> None:
        found = self.found(name, revision)
        if not found:
            return None
        repository, files = found
        if repository.gated and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.refuse(403 if "Authorization" in self.headers else 401, "GatedRepo")
        if path not in files:
            return self.refuse(404, "EntryNotFound")
        data = files[path]
        sha256 = hashlib.sha256(data).hexdigest()
        headers = {"X-Repo-Commit": commit_of(files), "ETag": f'"{hashlib.sha1(data).hexdigest()}"'}
        if not repository.is_large:
            return self.content(path, data, headers)
        linked = {"X-Linked-Etag": f'"{sha256}"', "X-Linked-Size": str(len(data))}
        location = {"Location": f"{self.hub.store_url}/store/{name}/{revision}/{path}"}
        return self.send(302, headers | linked | location, b"")

    def stored(self, name: str, revision: str, path: str) -> None:
        self.content(path, self.hub.files(self.hub.repositories[name], revision)[path], {})

    def content(self, path: str, data: bytes, headers: dict[str, str]) -> None:
        data = self.hub.served.get(path, data)
        status, start = 200, 0
        if asked := _RANGE.match(self.headers.get("Range", "")):
            status, start = 206, int(asked.group(1))
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        cuts = self.hub.cuts.get(path) if self.command == "GET" else None
        self.send(status, headers, data[start:], cuts.pop(0) if cuts else None)

    def refuse(self, status: int, code: str = "") -> None:
        headers = {"X-Error-Code": code} if code else {}
        # The hub would not, but a proxy may repeat what it was sent.
        message = f"refused {self.headers.get('Authorization')}"
        self.send(status, headers | {"X-Error-Message": message}, message.encode())

    def send(
        self, status: int, headers: dict[str, str], data: bytes, cut: int | None = None
    ) -> None:
        self.send_response(status)
        for key, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[:cut])
        if cut is not None:
            self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def serve(repositories: Mapping[str, Repository]) -> Iterator[FakeHub]:
    """Run a fake hub on a free port; its ``url`` is what ``HF_ENDPOINT`` names."""
    hub = FakeHub(dict(repositories))
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    hub.store_url = f"http://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
