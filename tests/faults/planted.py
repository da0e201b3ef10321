# SPDX-License-Identifier: GPL-2.0-or-later
"""Plants the faults of ``faults.toml`` in a copy of the program, one at a time, and says which of them the tests catch.

Usage: python tests/faults/planted.py [--name WORDS] [--area FOLDER] [--mutants COUNT --seed NUMBER]
                                      [--everything] [--seconds SECONDS] [--jobs COUNT]

Each fault is a slip as a person makes it: one place of a file, changed so that the program still runs and does the
wrong thing. Its own tests are run first, with ``--everything`` the whole suite where those see nothing; tests that do
not end in time have caught the fault as well. In the end the tests that caught something are run once without any
fault, for a test that fails anyway catches nothing.

Each job has a copy of its own: the package as it is installed, and the checkout's tests and documents. Only files of
Python are changed, as the native parts would have to be built anew.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from faults.fault import Fault, all_faults  # noqa: E402
from faults.mutants import mutants  # noqa: E402

SECONDS = 300
# Without the test that every fault still has its place, which a planted one has not.
WHOLE_SUITE = ("tests", "--ignore=tests/faults")
# What pytest ends with: all passed, some failed, interrupted (by what cannot be imported).
PASSED, FAILED, INTERRUPTED = 0, 1, 2
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_PACKAGE = ("analyzer", "tuner", "plugins", "patches")
# An editable install finds its modules before any folder does; a copy shall find its own.
_WITHOUT_EDITABLE = """
import sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "ScikitBuildRedirectingFinder"]
"""


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


def sources() -> Iterator[tuple[str, Path]]:
    """The Python files of the product: named as in the project, and where they are."""
    for name in _PACKAGE:
        for place in map(Path, importlib.import_module(f"linesmith.{name}").__path__):
            yield from ((f"{name}/{file.relative_to(place)}", file) for file in sorted(place.rglob("*.py")))


def source(file: str) -> Path:
    """Where a file of the project is: within the installed package, or in the checkout."""
    first, _, rest = file.partition("/")
    if first not in _PACKAGE:
        return ROOT / file
    places = [Path(one) for one in importlib.import_module(f"linesmith.{first}").__path__]
    return next((place / rest for place in places if (place / rest).is_file()), places[-1] / rest)


@dataclass(frozen=True)
class Copy:
    """A copy of the package and of what the tests read, in a folder of its own."""

    folder: Path

    @property
    def checkout(self) -> Path:
        """Where the tests are run."""
        return self.folder / "checkout"

    def place(self, file: str) -> Path:
        """Where the copy has a file of the project."""
        return (self.folder / "linesmith" if file.partition("/")[0] in _PACKAGE else self.checkout) / file

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """The copy has the fault within the block."""
        file = self.place(fault.file)
        text = file.read_text("utf-8")
        try:
            file.write_text(fault.planted(text), "utf-8")
            yield
        finally:
            file.write_text(text, "utf-8")

    def run(self, tests: Sequence[str], seconds: float) -> Run:
        """Run these tests until one fails. Raises ``ValueError`` where pytest does not know them."""
        # No bytecode of a fault is kept: it would be taken for that of the file as it was.
        variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(self.folder)}
        # What a program with a fault made is not kept for others.
        variables["TESTS_KEPT"] = str(self.folder / "kept")
        command = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", *tests)
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=self.checkout,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
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

    def tried(self, fault: Fault, seconds: float, *, everything: bool) -> Run:
        """The run that caught the fault, or the last one."""
        with self.planted(fault):
            found = self.run(fault.tests, seconds)
            return self.run(WHOLE_SUITE, seconds * 10) if everything and not found.caught else found


def copied(folder: Path) -> Copy:
    """Make a copy in the folder."""
    copy = Copy(folder)
    left_out = shutil.ignore_patterns("__pycache__", "native")
    for name in _PACKAGE:
        for place in importlib.import_module(f"linesmith.{name}").__path__:
            shutil.copytree(place, folder / "linesmith" / name, ignore=left_out, dirs_exist_ok=True)
    (folder / "sitecustomize.py").write_text(_WITHOUT_EDITABLE)
    copy.checkout.mkdir()
    for entry in ROOT.iterdir():
        if entry.name in (*_PACKAGE, "build", "dist") or entry.name in (".git", ".venv", ".typing"):
            continue
        if entry.is_dir():
            shutil.copytree(entry, copy.checkout / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(entry, copy.checkout)
    shared = ROOT.parent / "shared"
    if shared.is_dir():
        (folder / "shared").symlink_to(shared)
    return copy


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a run: tests that took too long, or that we do not wait for any more."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def told(found: Run) -> str:
    """What became of a fault, in words."""
    if not found.caught:
        return f"not caught in {found.seconds:.0f} s"
    if found.status is None:
        return f"caught by tests that did not end in {found.seconds:.0f} s"
    return f"caught by {found.failed or 'tests that could not begin'} in {found.seconds:.0f} s"


def interrupted(number: int, _frame: object) -> None:
    """End the runs, and remove the copies, when we are told to end."""
    raise SystemExit(128 + number)


def main() -> None:
    """Plant the faults that are asked for; the status is 1 where one was not caught, or a test fails without any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="", help="only faults with these words in their name")
    parser.add_argument("--area", default="", help="only faults in files below this folder")
    parser.add_argument("--everything", action="store_true", help="run the whole suite where a fault's own tests pass")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the time of a fault's own tests")
    parser.add_argument("--jobs", type=int, default=1, help="faults tried at once")
    parser.add_argument("--mutants", type=int, help="COUNT faults drawn from the product instead of the listed ones")
    parser.add_argument("--seed", type=int, default=0, help="draws others")
    asked = parser.parse_args()
    known = all_faults()
    if asked.mutants is not None:
        known = tuple(mutants(list(sources()), ROOT / "tests", asked.mutants, asked.seed))
    chosen = [one for one in known if asked.name in one.name and one.file.startswith(asked.area)]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupted)
    with TemporaryDirectory(prefix="linesmith-faults-") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for job in range(asked.jobs):
            copies.put(copied(Path(folder) / str(job)))

        def tried(fault: Fault) -> tuple[Fault, Run]:
            copy = copies.get()
            try:
                found = copy.tried(fault, asked.seconds, everything=asked.everything)
            finally:
                copies.put(copy)
            print(f"{fault.name} ({fault.file}): {told(found)}", flush=True)
            return fault, found

        with ThreadPoolExecutor(asked.jobs) as pool:
            found = list(pool.map(tried, chosen))
        raise SystemExit(summed_up(copies.get(), found, asked.seconds))


def summed_up(copy: Copy, found: Sequence[tuple[Fault, Run]], seconds: float) -> int:
    """Print the share that was caught; 1 where it is not all, or where a test fails without a fault as well."""
    caught = sum(one.caught for _, one in found)
    print(f"{caught} of {len(found)} faults caught ({caught / max(len(found), 1):.0%})")
    failing = list(failing_anyway(copy, [one for one in found if one[1].caught], seconds))
    for tests in failing:
        print(f"{tests} without any fault, so what was caught by that does not count")
    return int(caught < len(found) or bool(failing))


def failing_anyway(copy: Copy, caught: Sequence[tuple[Fault, Run]], seconds: float) -> Iterator[str]:
    """What of the tests that caught a fault fails, or takes too long, when there is none."""
    failed = sorted({one.failed for _, one in caught if one.failed})
    sound = copy.run(failed, seconds * 10) if failed else None
    if sound is not None and sound.caught:
        yield f"{sound.failed or 'a test'} fails"
    for tests in sorted({fault.tests for fault, one in caught if not one.failed}):
        if copy.run(tests, seconds).caught:
            yield f"{' '.join(tests)} fails or takes too long"


if __name__ == "__main__":
    main()
