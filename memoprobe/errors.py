"""Define every exception that memoprobe raises on purpose.

MemoprobeError                          what a user or a server can cause; no traceback
+ ConfigError                           wrong usage, study file, environment: exit 2
  - EndpointRefused                     the server refuses key, path or model
  - SandboxError                        no wall to run untrusted programs behind
+ WorkersLost                           processes that share the work keep dying: exit 75
+ Interrupted                           a signal ended the asking: exit 128 and its number
+ BenchmarkError                        a benchmark's data is missing or malformed: exit 2
+ PromptError                           a template and its values do not match: exit 2
+ StoreError                            the run database cannot be used: exit 2
  - StoreUnavailable                    it cannot be written now (disk full): exit 75
+ EndpointError                         one request got no answer; becomes a Failure row
  - EndpointUnavailable                 worth another attempt
    - RateLimited                       the server asks to wait
    - Cancelled                         the run was interrupted before the reply came
    - Mishandled                        a mistake of our own with this one reply
    - EndpointDown                      nobody gets an answer from it: exit 75
  - RequestRejected                     final
    - TooManyChoices                    final for this n
    - UnknownField                      final for a request with this field
  - UnusableReply                       final

A mistake of our own stays ``ValueError`` or ``AssertionError``, and nobody catches it, but
for one with a single reply: that is kept as a failure with its traceback, for the others' sake.
"""


class MemoprobeError(Exception):
    """Stand for anything that a user can repair; the message says what, where and how."""

    exit_code = 2


class ConfigError(MemoprobeError):
    """Report a wrong option, study file or environment."""


class EndpointRefused(ConfigError):
    """Report that a server refuses the key, the path or the model, so every request would fail."""

    def __init__(self, detail: str, *, status: int) -> None:
        super().__init__(detail)
        self.status = status


class SandboxError(ConfigError):
    """Report that untrusted programs cannot be run, with the reason and the mend."""


class WorkersLost(MemoprobeError):
    """Report that processes that share the work die again and again; what is stored stays."""

    exit_code = 75


class Interrupted(MemoprobeError):
    """Report the signal that ended the asking early; what was answered is kept."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal
        self.exit_code = 128 + signal

    def __str__(self) -> str:
        return "stopped; the same command takes it up again"


class BenchmarkError(MemoprobeError):
    """Report benchmark data that is missing or malformed, with the file and the line."""


class PromptError(MemoprobeError):
    """Report a prompt template whose placeholders do not fit the values."""


class StoreError(MemoprobeError):
    """Report a run database that cannot be opened, read or extended."""


class StoreUnavailable(StoreError):
    """Report that writing failed for now, for example on a full disk."""

    exit_code = 75


class EndpointError(MemoprobeError):
    """Report that one request got no answer.

    Args:
        detail: What happened, in the server's words where it has any; holds no key.
        kind: The class of fault as one word, stored in ``failures.kind``.
        phase: Where it happened: ``connect``, ``wait``, ``status`` or ``parse``.
        status: HTTP status, 0 where there was none.
    """

    exit_code = 3

    def __init__(self, detail: str, *, kind: str, phase: str, status: int = 0) -> None:
        super().__init__(detail)
        self.kind = kind
        self.phase = phase
        self.status = status


class EndpointUnavailable(EndpointError):
    """Report a fault that another attempt may not meet."""


class RateLimited(EndpointUnavailable):
    """Report that the server asks to wait, for ``retry_after_s`` where it says how long."""

    def __init__(self, detail: str, *, retry_after_s: float | None, status: int) -> None:
        super().__init__(detail, kind="rate_limited", phase="status", status=status)
        self.retry_after_s = retry_after_s


class Cancelled(EndpointUnavailable):
    """Report a request that was given up in flight, since the run was interrupted."""

    def __init__(self) -> None:
        detail = "the run was interrupted before the reply came; it is asked again when it goes on"
        super().__init__(detail, kind="cancelled", phase="wait")


class Mishandled(EndpointUnavailable):
    """Report a mistake of our own while one reply was handled; the next run asks again."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, kind="internal", phase="parse")


class EndpointDown(EndpointUnavailable):
    """Report an endpoint that answers nobody; the run stops and can be resumed."""

    exit_code = 75

    def __init__(self, detail: str) -> None:
        super().__init__(detail, kind="unavailable", phase="connect")


class RequestRejected(EndpointError):
    """Report a request that the server will never accept as it is."""


class TooManyChoices(RequestRejected):
    """Report that the server gives at most ``max_n`` choices a request."""

    def __init__(self, detail: str, *, max_n: int, status: int) -> None:
        super().__init__(detail, kind="too_many_choices", phase="status", status=status)
        self.max_n = max_n


class UnknownField(RequestRejected):
    """Report that the server does not take ``field``, one that it can do without."""

    def __init__(self, detail: str, *, field: str, status: int) -> None:
        super().__init__(detail, kind="unknown_field", phase="status", status=status)
        self.field = field


class UnusableReply(EndpointError):
    """Report a well-formed reply without anything to store."""


def complete(signal: int | None, fault: MemoprobeError | None, failed: int) -> None:
    """Raise unless the asking of the reference model ended with nothing left."""
    if signal is not None:
        raise Interrupted(signal)
    if fault is not None:
        raise fault
    if failed:
        msg = f"{failed} of the reference model's answers failed; the same command asks again"
        raise MemoprobeError(msg)
