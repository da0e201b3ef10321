# SPDX-License-Identifier: GPL-2.0-or-later
"""A real browser: Chromium without a window, spoken to over two pipes (Chrome DevTools Protocol); colours."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SECONDS = 300
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--remote-debugging-pipe", "--hide-scrollbars", "--force-color-profile=srgb", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-default-browser-check"),
)


@dataclass
class Browser:
    """One page of a browser; ``events`` are all that it told, in order."""

    commands: int
    answers: int
    session: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    _left: bytes = b""
    _number: int = 0

    def do(self, method: str, **parameters: object) -> dict[str, Any]:
        """The answer to a command; an error fails the test."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while (message := self._message()).get("id") != self._number:
            self.events.append(message)
        assert "error" not in message, message
        result: dict[str, Any] = message["result"]
        return result

    def open(self, address: str) -> None:
        """Show the page, loaded to its end."""
        assert "errorText" not in self.do("Page.navigate", url=address), f"no page at {address}"
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message())
        self.settle()

    def settle(self) -> None:
        """Wait for what a script may still start."""
        self.value("new Promise(done => setTimeout(done, 150))")

    def value(self, expression: str) -> Any:
        """What a script of the test says of the page, outside of the page's policy."""
        answer = self.do("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def texts(self, selector: str) -> list[str]:
        """What all elements say that the selector finds."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.textContent.trim())"
        texts: list[str] = self.value(found)
        return texts

    def look(self, *, width: int = 1280, height: int = 900, **features: str) -> None:
        """Set the window and media features: ``prefers_color_scheme="dark"``."""
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        given = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.do("Emulation.setEmulatedMedia", features=given)

    def printed(self, path: Path) -> None:
        """Keep the page as PDF."""
        path.write_bytes(base64.b64decode(self.do("Page.printToPDF", preferCSSPageSize=True)["data"]))

    def told(self, method: str) -> list[dict[str, Any]]:
        """Parameters of all events of this name."""
        return [event["params"] for event in self.events if event.get("method") == method]

    @property
    def fetched(self) -> list[str]:
        """All addresses that the page asked for, or tried to."""
        return [str(one["request"]["url"]) for one in self.told("Network.requestWillBeSent")]

    @property
    def complaints(self) -> list[str]:
        """Errors of scripts and of the policy, and what is written to the console."""
        logged = [str(one["entry"]["text"]) for one in self.told("Log.entryAdded")]
        said = [json.dumps(one["args"]) for one in self.told("Runtime.consoleAPICalled")]
        return logged + said + [json.dumps(one) for one in self.told("Runtime.exceptionThrown")]

    def _message(self) -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self._left:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self.answers, 1 << 20) if ready else b""
            assert chunk, "the browser has ended or does not answer"
            self._left += chunk
        text, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


def chromium() -> str:
    """The browser's program; the test is skipped without one, and fails where everything must run."""
    found = next((path for name in _CHROMIUM if (path := shutil.which(name))), None)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail("no chromium; .ci/packages/dev names it")
    return found or pytest.skip("no chromium")


@contextmanager
def browsing(options: Sequence[str] = ()) -> Iterator[Browser]:
    """A page of a browser that has a home of its own and ends with the block."""
    program = chromium()
    with tempfile.TemporaryDirectory(prefix="linesmith-browser-", ignore_cleanup_errors=True) as home:
        process, browser = _started([program, *_OPTIONS, *options, f"--user-data-dir={home}", "about:blank"], home)
        try:
            _attach(browser)
            yield browser
        finally:
            os.close(browser.commands)
            process.kill()
            process.wait()
            os.close(browser.answers)


def _started(command: Sequence[str], home: str) -> tuple[subprocess.Popen[bytes], Browser]:
    """The browser reads commands from descriptor 3 and answers on 4; a shell puts the pipes there."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    environment: Mapping[str, str] = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
    shell = ["/bin/bash", "-c", f'exec 8<&{theirs_in} 9>&{theirs_out} 3<&8 4>&9 8<&- 9>&-; exec "$@"', "bash"]
    process = subprocess.Popen(
        [*shell, *command], pass_fds=(theirs_in, theirs_out), env=environment, stderr=subprocess.DEVNULL
    )
    os.close(theirs_in)
    os.close(theirs_out)
    return process, Browser(ours_out, ours_in)


def _attach(browser: Browser) -> None:
    targets = browser.do("Target.getTargets")["targetInfos"]
    page = next(one["targetId"] for one in targets if one["type"] == "page")
    browser.session = browser.do("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
    for domain in ("Page", "Network", "Runtime", "Log"):
        browser.do(f"{domain}.enable")


def _luminance(colour: str) -> float:
    """Relative luminance. Source: WCAG 2.2, the definition of that name."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Of two colours as WCAG has it: 21 between black and white."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)
