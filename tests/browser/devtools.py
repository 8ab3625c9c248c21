"""Drive a headless Chromium through its DevTools protocol, with the standard library alone.

Chromium started with ``--remote-debugging-pipe`` reads commands from file descriptor 3 and writes
answers and events to 4, each a JSON object that ends in a zero byte.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# Nothing leaves the machine: a page that asks for another host must be seen to fail.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-background-networking",
    "--no-first-run",
    "--allow-file-access-from-files",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)

# A promise that the window is drawn.
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

# Chromium draws no picture higher than this.
MAX_HEIGHT = 16000

# Seconds after which a silent browser is an error.
TIMEOUT = 60.0


class BrowserError(RuntimeError):
    """Chromium did not answer, or answered with an error."""


def find_chromium() -> str | None:
    """Path of the browser: the variable CHROMIUM, or a usual name on the search path."""
    names = [os.environ["CHROMIUM"]] if os.environ.get("CHROMIUM") else NAMES
    return next((path for path in map(shutil.which, names) if path), None)


class Browser:
    """A running Chromium with one tab; use it in a ``with`` statement.

    Parameters
    ----------
    executable : str
        Path of the browser.

    Attributes
    ----------
    events : list of (str, dict)
        Names and parameters of the events since the last `open`.
    """

    def __init__(self, executable: str):
        self.executable = executable
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._count = 0
        self._buffer = b""
        self._session: str | None = None
        self._window = (1280, False)

    def __enter__(self) -> "Browser":
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command = [self.executable, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1', "sh", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._commands, self._answers = self._process.stdin, self._process.stdout
        try:
            target = self.command("Target.createTarget", url="about:blank")["targetId"]
            attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.command(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # The group holds the browser's helpers too, and nothing else.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._profile.cleanup()

    def _receive(self, deadline: float) -> dict[str, Any]:
        pieces = []
        message, end, rest = self._buffer.partition(b"\0")
        while not end:
            pieces.append(message)
            wait = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self._answers], [], [], wait)
            chunk = os.read(self._answers.fileno(), 1 << 20) if ready else b""
            if not chunk:
                raise BrowserError(f"{self.executable} {'ended' if ready else 'does not answer'}")
            message, end, rest = chunk.partition(b"\0")
        message, self._buffer = b"".join([*pieces, message]), rest
        answer: dict[str, Any] = json.loads(message)
        if "method" in answer and answer.get("sessionId") == self._session:
            self.events.append((answer["method"], answer["params"]))
        return answer

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the protocol and return its result."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        deadline = time.monotonic() + TIMEOUT
        try:
            self._commands.write(json.dumps(message).encode() + b"\0")
            self._commands.flush()
        except BrokenPipeError:
            raise BrowserError(f"{self.executable} ended") from None
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error'].get('message')}")
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, url: str) -> None:
        """Go to an address and wait until the page and its pictures and scripts are loaded."""
        self.events.clear()
        self.command("Page.navigate", url=url)
        deadline = time.monotonic() + TIMEOUT
        while not any(name == "Page.loadEventFired" for name, _ in self.events):
            self._receive(deadline)

    def run(self, script: str) -> Any:
        """Value of a JavaScript expression in the page; a promise is awaited."""
        answer = self.command(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def resize(self, width: int, height: int, mobile: bool = False) -> None:
        """Give the page a window of this size, as on a phone or on a desk."""
        self._window = (width, mobile)
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def prefer(self, scheme: str) -> None:
        """Tell the page that its reader prefers the "light" or the "dark" scheme."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.command("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self, path: Path) -> None:
        """Save a JPEG of the whole page, down to `MAX_HEIGHT` pixels; it resizes the window."""
        # Boxes that scroll are drawn only inside the window: make it as high as the page.
        height = self.command("Page.getLayoutMetrics")["cssContentSize"]["height"]
        width, mobile = self._window
        self.resize(width, min(int(height), MAX_HEIGHT), mobile)
        self.run(TWO_FRAMES)
        picture = self.command("Page.captureScreenshot", format="jpeg", quality=85)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(picture["data"]))
