"""Facts about bringing files from the hub, by its real client from a fake hub on loopback."""

import json
import os
import stat
import subprocess
import sys
import time
import warnings

import pytest

from memoprobe import cli
from memoprobe.benchmarks import hub as hubs
from memoprobe.benchmarks.hub import Hub
from memoprobe.errors import BenchmarkError, ConfigError
from tests import fakehub
from tests.fakehub import EXPORT, MAIN, TOKEN, Repository

ROWS = [{"name": f"r{number}", "text": "Add."} for number in range(3)]
TABLE = fakehub.table(ROWS)
SCRIPT = b"raise SystemExit('run')"
MADE = Hub(
    id="owner/made",
    files=(("data/train-*.parquet",), ("*.jsonl", "*.csv")),
    export=(("config/train/*.parquet",),),
)


@pytest.fixture(autouse=True)
def _only_the_fake_hub(tmp_path, monkeypatch):
    from huggingface_hub import constants

    for name in list(os.environ):
        if name.startswith(("HF_", "HUGGINGFACE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no token"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # before the client tries again


@pytest.fixture
def serve(monkeypatch):
    """Serve branches of owner/made, or of several repositories by name."""
    running = []

    def start(branches=None, **repositories):
        given = {} if branches is None else {"owner/made": Repository(branches)}
        context = fakehub.serve(given | repositories)
        fake = context.__enter__()
        running.append(context)
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        return fake

    yield start
    for context in running:
        context.__exit__(None, None, None)


def bring(hub=MADE):
    return hubs.bring("made", hub, "https://example.org/made")


def problem(hub=MADE):
    with pytest.raises(BenchmarkError) as error:
        bring(hub)
    assert TOKEN not in str(error.value)
    return str(error.value)


def test_data_files_come_first_and_a_script_stays(serve):
    """Files on main are matched, pinned to its commit and cached; the script is not fetched."""
    main = {"made.py": SCRIPT, "data/train-0.parquet": TABLE, "data/train-1.parquet": TABLE[:-1]}
    fake = serve({MAIN: main, EXPORT: {"config/train/0000.parquet": TABLE}})

    brought = bring()

    assert brought.files == ("data/train-0.parquet", "data/train-1.parquet")
    assert [(brought.folder / name).read_bytes() for name in brought.files] == [TABLE, TABLE[:-1]]
    assert brought.commit == fakehub.commit_of(main)
    assert (brought.repository, brought.revision, brought.note) == ("owner/made", MAIN, None)
    assert not any("made.py" in line or "/resolve/main/" in line for line in fake.asked)
    asked = len(fake.asked)
    assert bring() == brought
    assert len(fake.asked) == asked + 1  # the listing; nothing is fetched twice


def test_an_alternative_needs_all_of_its_patterns(serve):
    """Half of an alternative is none, and a later one is taken."""
    serve({MAIN: {"a.jsonl": b"{}", "data/deep/train-0.parquet": TABLE}, EXPORT: {}})
    assert "holds no data/train-*.parquet or *.jsonl and *.csv" in problem()

    serve({MAIN: {"a.jsonl": b"{}", "a.csv": b"a", "sub/a.csv": b"a"}})
    assert bring().files == ("a.csv", "a.jsonl")


def test_a_script_alone_leads_to_the_export_with_its_renamed_config(serve):
    """The only config of the export may be called default."""
    export = {"default/train/0000.parquet": TABLE, "default/test/0000.parquet": TABLE}
    fake = serve({MAIN: {"made.py": SCRIPT}, EXPORT: export})

    brought = bring()

    assert brought.files == ("default/train/0000.parquet",)
    assert (brought.revision, brought.commit) == (EXPORT, fakehub.commit_of(export))
    assert any("/revision/refs%2Fconvert%2Fparquet?" in line for line in fake.asked)


def test_a_default_config_beside_others_is_another_config(serve):
    """The name default is not taken for a config that is missing."""
    names = ("default/train/0000.parquet", "other/train/0000.parquet")
    serve({MAIN: {}, EXPORT: dict.fromkeys(names, TABLE)})

    assert "holds no config/train/*.parquet" in problem()


def test_a_cut_split_is_refused(serve):
    """A part of a split is not taken for the whole, and said to be a part."""
    serve({MAIN: {}, EXPORT: {"config/partial-train/0000.parquet": TABLE}})

    assert "holds only a part of config/train/*.parquet" in problem()
    names = ("config/test/0000.parquet", "config/partial-train/0000.parquet")
    serve({EXPORT: dict.fromkeys(names, TABLE)})
    assert "holds only a part of **/*.parquet" in problem(
        Hub(id="owner/made", export=(("**/*.parquet",),))
    )


def test_the_mirror_is_tried_last(serve):
    """Without files, branch and repository, the mirror's files are taken."""
    mirror = Repository({MAIN: {"all/train.jsonl": b"{}"}})
    serve({MAIN: {}}, **{"other/mirror": mirror})
    hub = Hub(
        id="owner/made",
        files=(("*.jsonl",),),
        export=(("config/**/*.parquet",),),
        mirror=Hub(
            id="gone/away", files=(("*",),), mirror=Hub(id="other/mirror", files=(("**/*",),))
        ),
    )

    brought = bring(hub)

    assert (brought.repository, brought.files) == ("other/mirror", ("all/train.jsonl",))


def test_what_is_nowhere_says_what_to_fetch_by_hand(serve):
    """The error lists each place with its reason, and the files, the page and the command."""
    fake = serve({MAIN: {"made.py": SCRIPT}})

    assert problem().splitlines() == [
        "made: cannot be brought from the hub:",
        "- owner/made at main: holds no data/train-*.parquet or *.jsonl and *.csv",
        "- owner/made at refs/convert/parquet: no such branch (HTTP 404)",
        f"By hand: put data/train-*.parquet of {fake.url}/datasets/owner/made, or a copy of"
        " https://example.org/made, into a folder, then `memoprobe fetch made --from FOLDER`",
    ]
    assert "not on the hub; bring a copy of https://example.org/made" in problem(None)
    assert "no such repository, or a private one that needs HF_TOKEN (HTTP 401)" in problem(
        Hub(id="no/body", files=(("*",),))
    )


def test_a_gated_repository_names_token_and_page(serve, monkeypatch):
    """Without a token and with one that was not let in, the error is the same; with it, files."""
    fake = serve(None, **{"owner/made": Repository({MAIN: {"data/train-0.parquet": TABLE}}, True)})
    words = f"gated: accept its terms on {fake.url}/datasets/owner/made and set HF_TOKEN"

    assert words in problem()
    monkeypatch.setenv("HF_TOKEN", "hf_another")
    assert words in problem()
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    brought = bring()

    assert brought.files == ("data/train-0.parquet",)
    assert not [
        path for path in brought.folder.parents[1].rglob("*.json") if TOKEN in path.read_text()
    ]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "HF_TOKEN is not accepted; renew it or unset it (HTTP 401)"),
        (403, "gated: accept its terms"),
        (404, "fails; try again later (HTTP 404)"),
        (429, "fails; try again later (HTTP 429)"),
        (500, "fails; try again later (HTTP 500)"),
        (503, "fails; try again later (HTTP 503)"),
    ],
)
@pytest.mark.parametrize("start", ["/api", "/datasets"])
def test_refusals_are_one_message(serve, monkeypatch, start, status, words):
    """What the listing or a file is refused with is told without the server's words."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    fake = serve({MAIN: {"data/train-0.parquet": TABLE}})
    fake.statuses[start] = status

    assert words in problem()


def test_files_of_the_large_store_come_without_the_token(serve, monkeypatch):
    """A redirect to another host is followed, the token stays, and the content is checked."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    large = Repository({MAIN: {"data/train-0.parquet": TABLE}}, is_large=True)
    fake = serve(None, **{"owner/made": large})

    fake.served["data/train-0.parquet"] = TABLE[::-1]
    assert "data/train-0.parquet arrived damaged; run the same command again" in problem()
    fake.served.clear()
    brought = bring()

    assert (brought.folder / "data/train-0.parquet").read_bytes() == TABLE
    sent = zip(fake.asked, fake.headers, strict=True)
    tokens = {line.split("/")[1]: "authorization" in headers for line, headers in sent}
    assert tokens == {"api": True, "datasets": True, "store": False}


def test_a_broken_download_goes_on_where_it_stopped(serve, monkeypatch):
    """The client asks for the rest of a file whose connection broke, by whole chunks."""
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 100)
    fake = serve({MAIN: {"data/train-0.parquet": TABLE}})
    fake.cuts["data/train-0.parquet"] = [100, 200]

    brought = bring()

    assert (brought.folder / "data/train-0.parquet").read_bytes() == TABLE
    ranges = [headers["range"] for headers in fake.headers if "range" in headers]
    assert ranges == ["bytes=100-", "bytes=300-"]


def test_a_download_that_stays_broken_is_one_message(serve):
    """Nothing half is kept as whole; the next command fetches only what is missing."""
    files = {"data/train-0.parquet": TABLE, "data/train-1.parquet": TABLE[:-1]}
    fake = serve({MAIN: files})
    fake.cuts["data/train-1.parquet"] = [0] * 6

    assert "cannot be reached, or breaks off (RemoteProtocolError)" in problem()
    del fake.asked[:]
    brought = bring()

    assert (brought.folder / "data/train-1.parquet").read_bytes() == TABLE[:-1]
    assert [line for line in fake.asked if "train-0" in line] == []


def test_a_file_of_another_size_is_refused(serve, monkeypatch):
    """What the hub announced and what comes must be as large."""
    fake = serve({MAIN: {"data/train-0.parquet": TABLE}})
    monkeypatch.setattr(fakehub._Handler, "do_HEAD", lambda self: head(self))

    def head(handler):
        fake.served.clear()
        handler.do_GET()
        fake.served["data/train-0.parquet"] = TABLE[:100]

    assert "a download is not as large as announced" in problem()


def test_a_moved_repository_is_followed(serve):
    """The name that it has now is recorded, and found offline by the old one."""
    files = {"data/train-0.parquet": TABLE}
    serve(
        None,
        **{"owner/made": Repository(moved_to="new/home"), "new/home": Repository({MAIN: files})},
    )

    brought = bring()

    assert brought.repository == "new/home"
    assert (brought.folder / "data/train-0.parquet").is_file()


@pytest.mark.parametrize(
    "name", ["../out.jsonl", "/out.jsonl", "a/../../out.jsonl", "a\\out.jsonl"]
)
def test_a_listed_name_that_leaves_the_folder_is_not_fetched(serve, name):
    """Such names are as if they were not there."""
    fake = serve({MAIN: {name: b"{}"}})

    assert "holds no **/*" in problem(Hub(id="owner/made", files=(("**/*",),)))
    assert not any("resolve" in line for line in fake.asked)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (b"<html>", "is not of a hub; see HF_ENDPOINT"),
        (b"[]", "is not of a hub"),
        (b"{}", "is not of a hub"),
        (b"\xff", "is not of a hub"),
        (b'{"id": "owner/made", "sha": null}', "names no commit"),
        (b'{"id": "owner/made", "sha": "../../x"}', "names no commit"),
    ],
)
def test_an_answer_of_something_else_is_told(serve, page, words):
    """A page that is no hub's listing is one message."""
    fake = serve({})
    fake.pages["/api/datasets/owner/made/revision/main"] = page

    assert words in problem()


def test_addresses_that_are_none(monkeypatch):
    """A bad HF_ENDPOINT is named, and nobody at a good one; a password in it is not shown."""
    for endpoint in ("hub", "ftp://hub", "http://[", "http://hub:port", "http://"):
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        with pytest.raises(ConfigError, match="HF_ENDPOINT is not the address"):
            bring()

    monkeypatch.setenv("HF_ENDPOINT", "http://me:secret@127.0.0.1:9/hub/")
    message = problem()

    assert "http://127.0.0.1:9/hub/datasets/owner/made cannot be reached" in message
    assert "secret" not in message


def test_a_token_that_cannot_be_sent_is_told(serve, monkeypatch):
    """Letters that no header takes are the token's fault."""
    serve({MAIN: {}})
    monkeypatch.setenv("HF_TOKEN", "hf_ключ")

    assert "HF_TOKEN is no token" in problem()


def test_offline_the_same_files_are_found_again(serve, monkeypatch):
    """By HF_HUB_OFFLINE and without a hub, what was brought is used, with a note."""
    fake = serve({MAIN: {"made.py": SCRIPT}, EXPORT: {"config/train/0000.parquet": TABLE}})
    brought = bring()
    del fake.asked[:]

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    offline = bring()
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    alone = bring()

    assert fake.asked == []
    assert offline._replace(note=None) == alone._replace(note=None) == brought
    copy = f"used the copy of owner/made that was brought before, commit {brought.commit}"
    assert offline.note == f"HF_HUB_OFFLINE is set; {copy}"
    assert "cannot be reached" in alone.note
    assert alone.note.endswith(copy)


@pytest.mark.parametrize(
    "note", [None, "", "[]", '{"repository": "owner/made", "commit": "0", "files": ["a"]}']
)
def test_offline_the_cache_of_other_tools_is_searched(serve, monkeypatch, note):
    """Without our note, or with a wrong one, files that fit are used, with a louder note."""
    from huggingface_hub import hf_hub_download

    fake = serve({MAIN: {"data/train-0.parquet": TABLE, "more": b""}})
    hf_hub_download(
        "owner/made",
        "data/train-0.parquet",
        repo_type="dataset",
        endpoint=fake.url,
        cache_dir=hubs._cache(),
    )
    if note is not None:
        (hubs._cache() / "datasets--owner--made/memoprobe-made-main.json").write_text(note)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    brought = bring()

    assert brought.files == ("data/train-0.parquet",)
    assert (brought.folder / brought.files[0]).read_bytes() == TABLE
    assert brought.note.endswith("; files may be missing")


def test_offline_without_a_copy_is_one_message(monkeypatch):
    """It says that it is offline, and what to do by hand."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "yes")
    refs = hubs._cache() / "datasets--owner--made/refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text("../../..")

    message = problem()

    assert "- HF_HUB_OFFLINE is set\nBy hand: put data/train-*.parquet of https://hu" in message


def test_a_cache_that_cannot_be_written_is_told(serve, monkeypatch, tmp_path):
    """A file in the place of the cache is one message that names it."""
    serve({MAIN: {"data/train-0.parquet": TABLE}})
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "file/hub"))

    assert f"cannot write {tmp_path}/file/hub: Not a directory" in problem()


def test_the_cache_is_where_the_user_says(monkeypatch, tmp_path):
    """The variables of the hub's client are heard at each call, in its order."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value, cache in (
        ("XDG_CACHE_HOME", "~/x", "x/huggingface/hub"),
        ("HF_HOME", "$HOME/home", "home/hub"),
        ("HUGGINGFACE_HUB_CACHE", "~/old", "old"),
        ("HF_HUB_CACHE", str(tmp_path / "new"), "new"),
    ):
        if name == "XDG_CACHE_HOME":
            monkeypatch.delenv("HF_HOME")
        monkeypatch.setenv(name, value)
        assert hubs._cache() == tmp_path / cache


def test_the_client_says_nothing(serve, capfd):
    """Neither bars nor warnings of the client come out beside a terminal, nor do its requests."""
    fake = serve({MAIN: {"data/train-0.parquet": TABLE}})
    fake.cuts["data/train-0.parquet"] = [10]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bring()

    assert capfd.readouterr() == ("", "")
    assert [str(warning.message) for warning in caught] == []
    assert not any("telemetry" in line or "harness" in line for line in fake.asked)
    assert stat.S_ISDIR((hubs._cache() / "datasets--owner--made").stat().st_mode)


def test_the_client_is_imported_when_it_is_needed():
    """Who brings nothing does not wait for it."""
    code = "import sys, memoprobe.cli; sys.exit('huggingface_hub' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_note_is_read_back_as_written(serve):
    """What is remembered is repository, commit and files; nothing else."""
    serve({MAIN: {"data/train-0.parquet": TABLE}})

    brought = bring()

    (path,) = (hubs._cache() / "datasets--owner--made").glob("*.json")
    assert json.loads(path.read_text()) == {
        "repository": "owner/made",
        "commit": brought.commit,
        "files": ["data/train-0.parquet"],
    }


def fetch(monkeypatch, capfd, *names):
    """Run the command; return its exit code and what it prints."""
    monkeypatch.setattr(sys, "argv", ["memoprobe", "fetch", *names])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return (stop.value.code or 0, *capfd.readouterr())


def test_fetch_counts_and_goes_on_after_a_failure(serve, monkeypatch, capfd, tmp_path):
    """Each benchmark is told with its rows by reason; the first failure gives the exit code."""
    row = {
        "task_id": "Made/1",
        "prompt": 'def one():\n    """Return 1."""\n',
        "canonical_solution": "    return 1\n",
        "test": "def check(candidate):\n    assert candidate() == 1\n",
        "entry_point": "one",
    }
    files = {
        "openai_humaneval/test-0.parquet": fakehub.table([row, row | {"task_id": "Made/2"}, row])
    }
    fake = serve(None, **{"openai/openai_humaneval": Repository({MAIN: files})})
    commit = fakehub.commit_of(files)

    code, out, err = fetch(monkeypatch, capfd, "nonsense", "mbpp", "humaneval")

    assert code == 2
    assert out == (
        f"humaneval: 3 rows read, 2 used; from openai/openai_humaneval (main, commit {commit})\n"
        "  1 skipped: its id occurs before\n"
    )
    assert err.startswith("memoprobe: unknown benchmark 'nonsense'; nearest: ")
    assert "\nmemoprobe: mbpp: cannot be brought from the hub:\n- google-research" in err
    assert "Traceback" not in err
    manifest = json.loads((tmp_path / "home/humaneval/manifest.json").read_text())
    assert manifest["repository"] == "openai/openai_humaneval"
    assert (manifest["revision"], manifest["commit"], manifest["note"]) == (MAIN, commit, None)
    assert list(manifest["files"]) == list(files)

    fake.statuses["/"] = 500
    code, out, err = fetch(monkeypatch, capfd, "humaneval")

    assert code == 0
    assert out.startswith("humaneval: 3 rows read, 2 used")
    assert err.startswith("memoprobe: humaneval: openai/openai_humaneval at main: ")
    assert "used the copy of openai/openai_humaneval that was brought before" in err
