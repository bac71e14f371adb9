"""A Chromium without a window, driven through its debugging pipe: no package is needed for it."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_KEYS = {
    "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
    "+": 187, "-": 189, "/": 191,
}  # fmt: skip
_OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-quic --hide-scrollbars "
    "--remote-debugging-pipe about:blank"
)


def find_browser() -> str | None:
    """The path of a Chromium; None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One page of the browser."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._buffer = b""
        self._last = 0
        self._session = ""
        self.errors: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.send("Page.enable")
        self.send("Runtime.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol and wait for what it gives."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            event = self._next()
            if event.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(event["params"]["exceptionDetails"])[:2000])
            if event.get("id") == self._last:
                assert "error" not in event, event
                found: dict[str, Any] = event["result"]
                return found

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], 60)
            assert ready, "the browser does not answer"
            data = os.read(self._read, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found

    def open(self, file: Path, width: int = 1280, height: int = 800) -> None:
        """Open a file and wait until it is drawn."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **metrics)
        self.send("Page.navigate", url=file.as_uri())
        until = time.monotonic() + 60
        while self.run(f"document.readyState + location.href != 'complete{file.as_uri()}'"):
            assert time.monotonic() < until, "the page does not load"
            time.sleep(0.02)

    def run(self, script: str) -> Any:
        """What an expression of JavaScript gives."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def click(self, selector: str, count: int = 1) -> None:
        """Click on the middle of the first element that a selector finds, as a mouse does."""
        x, y = self.run(
            f"(() => {{ const r = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.mouse("mousePressed", x, y, count=count)
        self.mouse("mouseReleased", x, y, count=count)

    def mouse(self, kind: str, x: float, y: float, count: int = 1, **more: Any) -> None:
        """One event of the mouse."""
        button = "none" if kind in ("mouseMoved", "mouseWheel") else "left"
        self.send(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=count, **more
        )  # fmt: skip

    def type(self, selector: str, text: str) -> None:
        """Put a text into a field, with the events of typing."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.send("Input.insertText", text=text)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key."""
        code = _KEYS.get(key) or ord(key.upper())
        facts = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        for kind in ("rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, **facts)

    def screenshot(self, file: Path) -> None:
        """Save what is seen as a PNG."""
        data = self.send("Page.captureScreenshot", format="png")["data"]
        file.write_bytes(base64.b64decode(data))


@contextmanager
def browser() -> Iterator[Page]:
    """A browser with one page; it is ended at the end."""
    found = find_browser()
    assert found is not None
    to_child, write = os.pipe()
    read, from_child = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The browser reads from descriptor 3 and writes to 4.
        line = f'exec "$@" 3<&{to_child} 4>&{from_child}'
        process = subprocess.Popen(
            ["bash", "-c", line, "-", found, f"--user-data-dir={profile}", *_OPTIONS.split()],
            pass_fds=(to_child, from_child), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_child)
        os.close(from_child)
        try:
            yield Page(read, write)
        finally:
            os.close(write)  # the browser ends when its pipe does
            os.close(read)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
