# SPDX-License-Identifier: GPL-2.0-or-later
"""Plants the faults of ``faults.toml`` in the sources, one at a time, and says which of them the tests catch.

Usage: python tests/faults/planted.py [--name WORDS] [--area FOLDER] [--everything] [--seconds SECONDS]

Each fault is a slip as a person makes it: one place of a file, changed so that the program still runs and does the
wrong thing. Its own tests are run first, with ``--everything`` the whole suite where those see nothing; tests that do
not end in time have caught the fault as well. In the end the tests that caught something are run once without any
fault, for a test that fails anyway catches nothing. Every file is as it was when this ends, however it ends.

Only files of Python: the editable install has them at once, while the native parts would have to be built anew.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).with_name("faults.toml")
SECONDS = 300
# Without the test that every fault still has its place, which a planted one has not.
WHOLE_SUITE = ("tests", "--ignore=tests/faults")
# What pytest ends with: all passed, some failed, interrupted (by what cannot be imported).
PASSED, FAILED, INTERRUPTED = 0, 1, 2
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """A slip called ``name``: ``new`` in the place of ``old`` in ``file``, which ``tests`` are the likeliest to see."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def planted(self, text: str) -> str:
        """The file's text with the fault; raises ``ValueError`` where there is not exactly one place for it."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has {text.count(self.old)} places for the fault '{self.name}'; mend it")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Run:
    """A run of tests: the status of pytest (``None``: it took too long), what failed first, and its wall time."""

    status: int | None
    failed: str
    seconds: float

    @property
    def caught(self) -> bool:
        """Whether a test saw something."""
        return self.status != PASSED


def all_faults() -> tuple[Fault, ...]:
    """The faults in the order of the file."""
    listed = tomllib.loads(FAULTS.read_text("utf-8"))["fault"]
    return tuple(Fault(one["name"], one["file"], one["old"], one["new"], tuple(one["tests"])) for one in listed)


def check(faults: Sequence[Fault]) -> None:
    """Raise ``ValueError`` where a fault has no place of its own, or a file differs from what is committed."""
    for fault in faults:
        fault.planted((ROOT / fault.file).read_text("utf-8"))
    files = sorted({fault.file for fault in faults})
    changed = subprocess.run(
        ("git", "status", "--porcelain", "--", *files), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    if changed:
        raise ValueError(f"files to be changed have changes that are not committed; commit them first:\n{changed}")


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The sources have the fault within the block; behind it the file is as it was, its times too."""
    file = ROOT / fault.file
    content, status = file.read_bytes(), file.stat()
    try:
        file.write_bytes(fault.planted(content.decode()).encode())
        yield
    finally:
        file.write_bytes(content)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def run(tests: Sequence[str], seconds: float) -> Run:
    """Run these tests until one fails. Raises ``ValueError`` where pytest does not know them."""
    # No bytecode of a fault is kept: it would be taken for that of the file as it was.
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", *tests)
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        output = process.communicate(timeout=seconds)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return Run(None, "", time.monotonic() - began)
    finally:
        end(process)
    if process.returncode not in (PASSED, FAILED, INTERRUPTED):
        raise ValueError(f"pytest ended with status {process.returncode} for {' '.join(tests)}:\n{output}")
    failed = _FAILED.search(output)
    return Run(process.returncode, failed[1] if failed else "", time.monotonic() - began)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a run: tests that took too long, or that we do not wait for any more."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def tried(fault: Fault, seconds: float, *, everything: bool) -> Run:
    """The run that caught the fault, or the last one."""
    with planted(fault):
        found = run(fault.tests, seconds)
        return run(WHOLE_SUITE, seconds * 10) if everything and not found.caught else found


def told(found: Run) -> str:
    """What became of a fault, in words."""
    if not found.caught:
        return f"not caught in {found.seconds:.0f} s"
    if found.status is None:
        return f"caught by tests that did not end in {found.seconds:.0f} s"
    return f"caught by {found.failed or 'tests that could not begin'} in {found.seconds:.0f} s"


def interrupted(number: int, _frame: object) -> None:
    """Have the file restored when we are told to end."""
    raise SystemExit(128 + number)


def main() -> None:
    """Plant the faults that are asked for; the status is 1 where one was not caught, or a test fails without any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="", help="only faults with these words in their name")
    parser.add_argument("--area", default="", help="only faults in files below this folder")
    parser.add_argument("--everything", action="store_true", help="run the whole suite where a fault's own tests pass")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the time of a fault's own tests")
    asked = parser.parse_args()
    chosen = [one for one in all_faults() if asked.name in one.name and one.file.startswith(asked.area)]
    try:
        check(chosen)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupted)
    found: list[tuple[Fault, Run]] = []
    for fault in chosen:
        found.append((fault, tried(fault, asked.seconds, everything=asked.everything)))
        print(f"{fault.name} ({fault.file}): {told(found[-1][1])}", flush=True)
    raise SystemExit(summed_up(found, asked.seconds))


def summed_up(found: Sequence[tuple[Fault, Run]], seconds: float) -> int:
    """Print the share that was caught; 1 where it is not all, or where a test fails without a fault as well."""
    caught = sum(one.caught for _, one in found)
    print(f"{caught} of {len(found)} faults caught ({caught / max(len(found), 1):.0%})")
    failing = list(failing_anyway([one for one in found if one[1].caught], seconds))
    for tests in failing:
        print(f"{tests} without any fault, so what was caught by that does not count")
    return int(caught < len(found) or bool(failing))


def failing_anyway(caught: Sequence[tuple[Fault, Run]], seconds: float) -> Iterator[str]:
    """What of the tests that caught a fault fails, or takes too long, when there is none."""
    failed = sorted({one.failed for _, one in caught if one.failed})
    sound = run(failed, seconds * 10) if failed else None
    if sound is not None and sound.caught:
        yield f"{sound.failed or 'a test'} fails"
    for tests in sorted({fault.tests for fault, one in caught if not one.failed}):
        if run(tests, seconds).caught:
            yield f"{' '.join(tests)} fails or takes too long"


if __name__ == "__main__":
    main()
