"""Hold tests and expected values and judge what programs answer, in a process of its own.

One judge serves many programs. Comparing calls happens right here; tests that are code run
in a fork each.
"""

from __future__ import annotations

import json
import marshal
import os
import signal
import socket
from typing import TYPE_CHECKING, Any

from memoprobe.sandbox.inside import trial, wire
from memoprobe.sandbox.inside.channel import Hung, Receiver, send
from memoprobe.sandbox.inside.confine import confine
from memoprobe.sandbox.inside.remote import Channel
from memoprobe.sandbox.inside.report import admitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Outcome = trial.Outcome
MISSING: Outcome = ("gone", "")


def main(job: Mapping[str, Any]) -> None:
    """Serve requests on the socket ``job["socket"]`` until it is closed."""
    confine(job["limits"])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks are not waited for
    with socket.socket(fileno=job["socket"]) as caller:
        while True:
            _, handles, _, _ = socket.recv_fds(caller, 1, 1)
            try:
                request = marshal.loads(Receiver(caller.fileno())())
            except Hung:
                return
            if not handles:
                reply = read_outcomes(request)
            elif os.fork():
                os.close(handles[0])
                continue
            else:
                reply = run_tests(request, handles[0])
            send(caller.fileno(), json.dumps(reply).encode("ascii"))
            if handles:
                os._exit(0)


def records(data: bytes, secret: str) -> Iterator[list[Any]]:
    """Yield the records among ``data``; everything else was printed by the program."""
    start = secret.encode("ascii") + b" "
    for line in data.split(b"\n"):
        if line.startswith(start):
            try:
                record = json.loads(line[len(start) :])
            except (ValueError, RecursionError):
                continue
            if isinstance(record, list) and record:
                yield record


def read_outcomes(request: Mapping[str, Any]) -> list[Outcome]:
    """Return the outcomes of a program's tests from the records of its process.

    The first record of a case counts. A case without one is ``gone``. What a test reached of
    the program comes first where it was measured, as an outcome of the kind ``coverage``.
    """
    cases = request.get("cases", [])
    found: dict[int, Outcome] = {}
    tests: list[Outcome] = []
    reached: list[Outcome] = []
    is_complete = False
    for record in records(request["data"], request["secret"]):
        match record:
            case ["answer" | "value" | "raised" | "case", int(number), *rest]:
                if number not in found and 0 <= number < len(cases):
                    found[number] = _outcome(record[0], rest, cases[number], request)
            case ["test", str(kind), str(words)]:
                is_known = kind in {"passed", "failed", "unsupported"}
                tests.append((kind, words) if is_known else admitted(kind, words))
            case ["coverage", [*run], [*missed], taken, untaken] if _are_counts(record):
                reached = [("coverage", json.dumps([run, missed, taken, untaken]))]
            case ["end", str(end)]:
                is_complete = end == request.get("end")
    if request["form"] == "shared":
        return reached + (tests if is_complete else [*tests, MISSING])
    return reached + [found.get(number, MISSING) for number in range(len(cases))]


def _are_counts(record: list[Any]) -> bool:
    """Tell whether what a record says was reached can be: lines, and numbers of branches."""
    _, run, missed, taken, untaken = record
    return all(type(n) is int and n >= 0 for n in (*run, *missed, taken, untaken))


def _outcome(
    kind: str, rest: list[Any], case: Mapping[str, Any], request: Mapping[str, Any]
) -> Outcome:
    try:
        if kind == "raised":
            return admitted(*rest)
        if kind == "case":
            return compare_printed(rest, case)
        if kind == "value":
            return compare(rest[0], case, as_json=True)
        (actual,) = wire.decode(rest[0], rest[1], [], _opaque)
        return compare(actual, case, as_json=request["as_json"])
    except wire.MALFORMED as error:
        return "failed", f"its answer cannot be read: {type(error).__name__}"


def compare_printed(record: Sequence[Any], case: Mapping[str, Any]) -> Outcome:
    """Return whether a program printed the expected words, however they are spaced.

    Args:
        record: How the program ended, words about it, and what it printed, in digits.
        case: Holds ``stdout``, and perhaps a ``tolerance`` by which numbers may differ.
    """
    kind, words, digits = record
    if kind != "ended":
        return admitted(kind, words)
    printed = bytes.fromhex(digits).decode("utf-8", "replace").split()
    expected = case["stdout"].split()
    tolerance = case.get("tolerance", 0)
    pairs = zip(printed, expected, strict=False)
    if len(printed) == len(expected) and all(_same(*pair, tolerance) for pair in pairs):
        return trial.PASSED
    wrong = [f"{a} where {b} is expected" for a, b in pairs if not _same(a, b, tolerance)]
    counts = f"{len(printed)} words where {len(expected)} are expected"
    return "failed", f"printed {[*wrong, counts][0]}"


def _same(printed: str, expected: str, tolerance: float) -> bool:
    if printed == expected or not tolerance:
        return printed == expected
    try:
        return abs(float(printed) - float(expected)) <= tolerance
    except ValueError:
        return False


def _opaque(row: wire.Row) -> object:
    """Return an object that equals nothing, for one that is no plain data."""
    if row[0] != "opaque":
        msg = "a row of unknown kind"
        raise ValueError(msg)
    return object()


def compare(actual: Any, case: Mapping[str, Any], *, as_json: bool) -> Outcome:  # noqa: ANN401
    """Return whether an answer is the expected one.

    Args:
        actual: The answer.
        case: Holds ``expected``, and perhaps ``tolerance`` (absolute), ``negated``,
            ``identical`` (``is`` and not ``==``, for None and truth values), ``truth`` (as
            far as it is true), ``unwrap`` (the one element of an expected list will do) and
            ``formatted`` (see ``as_text``).
        as_json: Whether tuples are lists and keys are texts, as after JSON; a text that
            is the JSON of the expected value equals it.
    """
    expected = case["expected"]
    if as_json:
        actual = jsonable(actual)
        if isinstance(actual, str) and not isinstance(expected, str):
            actual = _parsed(actual)
    if case.get("formatted"):
        equal = as_text(actual) == as_text(expected)
    elif "tolerance" in case:
        equal = _near(actual, expected, case["tolerance"])
    elif case.get("truth"):
        equal = bool(actual) == expected
    elif case.get("identical"):
        equal = actual is expected
    else:
        equal = actual == expected or (_is_wrapped(case) and actual == expected[0])
    if bool(equal) != bool(case.get("negated")):
        return trial.PASSED
    return "failed", f"answered {_short(actual)} where {_short(expected)} is expected"


def _is_wrapped(case: Mapping[str, Any]) -> bool:
    return (
        bool(case.get("unwrap")) and type(case["expected"]) is list and len(case["expected"]) == 1
    )


def as_text(value: Any) -> str:  # noqa: ANN401
    """Return a value as QuixBugs' Java tests compare it.

    That is without blanks and quotes, with brackets for parentheses and without ``.0``.
    """
    if isinstance(value, list):
        return "[" + ",".join(map(as_text, value)) + "]"
    plain = value if isinstance(value, str) else json.dumps(value)
    text = plain.replace("(", "[").replace(")", "]").replace(" ", "").replace('"', "")
    return text.removesuffix(".0")


def jsonable(value: Any) -> Any:  # noqa: ANN401
    """Return ``value`` as it would come back from JSON, as far as it is of JSON's types."""
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, dict):
        return {_key(key): jsonable(each) for key, each in value.items()}
    return value


def _key(key: object) -> object:
    is_plain = key is None or isinstance(key, bool | int | float)
    return json.dumps(key) if is_plain else key


def _parsed(text: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _near(actual: Any, expected: Any, tolerance: float) -> bool:  # noqa: ANN401
    if isinstance(expected, list):
        is_list = isinstance(actual, list) and len(actual) == len(expected)
        return is_list and all(
            _near(*pair, tolerance) for pair in zip(actual, expected, strict=True)
        )
    numbers = isinstance(actual, int | float) and isinstance(expected, int | float)
    return abs(actual - expected) <= tolerance if numbers else bool(actual == expected)


def _short(value: object) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return "a value too deep or too large to write"
    return text if len(text) <= 100 else text[:97] + "..."


def run_tests(tests: Mapping[str, Any], handle: int) -> list[Outcome]:
    """Run tests that are code against the program at the other end of ``handle``."""
    namespace: dict[str, Any] = {"__name__": "tests"}
    scopes = [namespace, *map(vars, trial.helper_modules(tests["helpers"]))]
    channel = Channel(handle, Receiver(handle, tests["token"], tests["most"]), scopes)
    # The function under test is the program's, even where it has the name of a builtin.
    for name in trial.free_names([tests["setup"], *tests["sources"]]) | {tests["entry"]} - {None}:
        namespace[name] = channel.named(name)
    if tests["module"]:
        trial.proxy_module(tests["module"], channel.named)
    candidate = channel.named(tests["entry"] or "candidate")
    return list(trial.run(trial.steps_of(tests, candidate, namespace)))
