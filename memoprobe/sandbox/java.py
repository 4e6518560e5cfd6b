"""Compile and run Java programs behind the wall."""

import json
import re
import secrets
import shutil
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from memoprobe.sandbox import judging, modes
from memoprobe.sandbox.helpers import Helper, Kept
from memoprobe.sandbox.judging import Outcome
from memoprobe.sandbox.process import Running, Setting, setting
from memoprobe.sandbox.program import Mode, Program
from memoprobe.sandbox.wall import Wall

Classes = dict[str, bytes]  # by name

_MACHINE = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData")
_PACKAGE = re.compile(r"^\s*package\s", re.MULTILINE)
_COMPILE_S = 20.0  # a cold machine beside a busy one takes seconds
_THREADS = 32  # of the machine itself
_SUPPORT = ("Driver.java", "Json.java", "org/junit/Test.java", "org/junit/Ignore.java")
_COMPILER = Setting(
    memory_mib=1024,
    cpu_s=1 << 30,
    file=1 << 20,
    scratch_mib=1,
    processes=64,
    java=True,
)


def lacks_java() -> str | None:
    """Return what is missing to run Java programs, or None."""
    missing = [name for name in ("java", "javac") if shutil.which(name) is None]
    return f"there is no {missing[0]} here; install a JDK" if missing else None


@cache
def _java() -> str:
    """Return the real path of ``java``; links on the way to it are not seen from inside."""
    return str(Path(shutil.which("java") or "java").resolve())


@cache
def _source(name: str) -> str:
    folder = resources.files("memoprobe.sandbox.inside").joinpath("java")
    return folder.joinpath(name).read_text(encoding="utf-8")


def _start_compiler(wall: Wall) -> Helper:
    files = {"Compiler.java": _source("Compiler.java").encode("utf-8")}
    command = [_java(), "-Xmx512m", *_MACHINE, "Compiler.java"]
    seen = (str(Path(_java()).parent.parent),)
    job = {"files": files, "command": command}
    return Helper(wall, "launch", job, _COMPILER._replace(seen=seen))


_compilers = Kept(_start_compiler)


def compile_all(wall: Wall, sources: Sequence[str]) -> Classes | str:
    """Return the classes of sources, or what the compiler says against them.

    One compiler stays warm: a cold one costs as much as dozens of programs.
    """
    texts = [source.encode("utf-8", "replace") for source in sources]
    packed = b"".join(struct.pack(">i", len(text)) + text for text in texts)
    try:
        compiler = _compilers.get(wall)
        compiler.send(struct.pack(">i", len(texts)) + packed)
        reply = compiler.receive(_COMPILE_S)
    except OSError:
        reply = None
    if reply is None:
        _compilers.dismiss()
        return "it is not compiled in time"
    return _classes(reply)


def _classes(reply: bytes) -> Classes | str:
    (count,) = struct.unpack_from(">i", reply)
    if count < 0:
        return reply[4:].decode("utf-8", "replace")
    classes, place = {}, 4
    for _ in range(count):
        (length,) = struct.unpack_from(">H", reply, place)
        name = reply[place + 2 : place + 2 + length].decode("utf-8")
        place += 2 + length
        (size,) = struct.unpack_from(">i", reply, place)
        classes[name] = reply[place + 4 : place + 4 + size]
        place += 4 + size
    return classes


@cache
def _support(wall: Wall) -> Classes:
    """Return the classes of the driver."""
    found = compile_all(wall, [_source(name) for name in (*_SUPPORT, "org/junit/Assert.java")])
    assert isinstance(found, dict), found
    return found


def run(wall: Wall, program: Program, tests: Mapping[str, Any]) -> modes.Trial | Outcome:
    """Run a Java program on its tests, or return why it does not come to that."""
    lack = lacks_java()
    if lack is not None:
        return "unsupported", lack
    files = tests.get("files") or {}
    beside = [_source("org/junit/" + name) for name in ("Test.java", "Ignore.java", "Assert.java")]
    code = _in_package(program.code, tests.get("module") or "")
    classes = compile_all(wall, [code, *files.values(), *(beside if files else ())])
    if isinstance(classes, str):
        return "error", f"it does not compile: {classes}"
    runner = {"calls": _run_calls, "junit": _run_junit, "stdio": _run_stdio}.get(tests["kind"])
    if runner is None:
        return "unsupported", f"tests of the kind {tests['kind']!r} are not for Java"
    return runner(wall, program, tests, classes)


def _in_package(code: str, module: str) -> str:
    """Return code in the package of the file it goes into, unless it names its own."""
    package = ".".join(Path(module).parts[:-1])
    return code if not package or _PACKAGE.search(code) else f"package {package}; {code}"


def _setting(program: Program) -> Setting:
    return setting(program.limits)._replace(
        processes=program.limits.processes + _THREADS,
        java=True,
        seen=(str(Path(_java()).parent.parent),),
    )


def _command(program: Program, *arguments: str) -> list[str]:
    heap = f"-Xmx{program.limits.memory_mib // 2}m"
    return [_java(), heap, *_MACHINE, "-cp", "classes", "Driver", *arguments]


def _files(wall: Wall, classes: Classes) -> dict[str, bytes]:
    """Return the class files; the driver's come last, so that no program replaces them."""
    found = {**classes, **_support(wall)}
    return {f"classes/{name.replace('.', '/')}.class": code for name, code in found.items()}


def _answer(
    wall: Wall,
    program: Program,
    classes: Classes,
    told: Mapping[str, Any],
    asked: Mapping[str, Any],
) -> modes.Trial:
    """Run the driver with what it is told, and have its answers judged."""
    text = json.dumps({"secret": "SECRET", "classes": sorted(classes), **told})
    job = {"files": _files(wall, classes), "command": _command(program, "answer"), "input": text}
    running = Running(wall, "launch", job, _setting(program))
    ending = running.end(running.wait(program.limits.wall_s))
    mode: Mode = "calls" if asked["form"] == "calls" else "shared"
    return modes.Trial(mode=mode, outcomes=judging.compare(wall, ending, asked), ending=ending)


def _run_calls(
    wall: Wall, program: Program, tests: Mapping[str, Any], classes: Classes
) -> modes.Trial:
    cases = modes.cases(tests)
    told = {
        "calls": [case["args"] for case in cases],
        "name": tests.get("entry_point") or program.entry_point,
        "classes": sorted(classes, key=lambda name: (name != tests.get("class"), name)),
    }
    return _answer(wall, program, classes, told, {"form": "calls", "cases": cases, "as_json": True})


def _run_junit(wall: Wall, program: Program, _: Mapping[str, Any], classes: Classes) -> modes.Trial:
    end = secrets.token_hex(16)
    return _answer(wall, program, classes, {"end": end}, {"form": "shared", "end": end})


def _run_stdio(
    wall: Wall, program: Program, tests: Mapping[str, Any], classes: Classes
) -> modes.Trial:
    command = _command(program, "main", *sorted(classes, key=lambda name: (name != "Main", name)))
    files = _files(wall, classes)
    return modes.run_stdio(wall, program, tests["cases"], _setting(program), (command, files))
