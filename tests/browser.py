"""Drive a headless Chromium by its debugging protocol over a pipe: no port, no other package."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")

_LIMIT_S = 120  # for one answer of the browser, on a busy machine
_START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4);"
    "os.execv(sys.argv[3], sys.argv[3:])"
)


class Tab:
    """Hold one page of a browser, and what it complained of and asked for."""

    def __init__(self, to_browser, from_browser):
        self._to, self._from, self._buffer = to_browser, from_browser, b""
        self._session, self._n = None, 0
        self.complaints, self.requests, self._events = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """Call a method of the protocol and return its result."""
        self._n += 1
        message = {"id": self._n, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._n:
                assert "error" not in answer, answer
                return answer["result"]

    def _read(self):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], _LIMIT_S)
            part = os.read(self._from, 1 << 20) if ready else b""
            if not part:
                pytest.fail("the browser does not answer")
            self._buffer += part
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(raw)
        self._note(message.get("method"), message.get("params"))
        return message

    def _note(self, method, parameters):
        self._events.append(method)
        if method in {"Runtime.exceptionThrown", "Log.entryAdded"} or (
            method == "Runtime.consoleAPICalled" and parameters["type"] in {"error", "warning"}
        ):
            self.complaints.append(parameters)
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def open(self, path, *, width=1280, height=900, dark=False):
        """Load a file and wait until it is there."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._read()

    def run(self, script):
        """Return the value of an expression or promise in the page."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, path, **clip):
        """Write a picture of the whole page, or of a part of it."""
        if not clip:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"]}
        found = self.call(
            "Page.captureScreenshot", captureBeyondViewport=True, clip={**clip, "scale": 1}
        )
        path.write_bytes(base64.b64decode(found["data"]))

    def printed(self):
        """Return the page as it prints, a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])


@contextmanager
def browser(folder):
    """Start a browser whose profile lies in a folder, and give one page of it."""
    ours, theirs = os.pipe(), os.pipe()
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (ours[0], theirs[1])]
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command = [sys.executable, "-c", _START, *map(str, ends), CHROMIUM, *options]
    process = subprocess.Popen(
        [*command, "--remote-debugging-pipe", f"--user-data-dir={folder}", "--no-first-run"],
        pass_fds=ends,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for end in (*ends, ours[0], theirs[1]):
        os.close(end)
    try:
        tab = Tab(ours[1], theirs[0])
        yield tab
        tab._session = None
        tab.call("Browser.close")
    finally:
        os.close(ours[1])
        os.close(theirs[0])
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
