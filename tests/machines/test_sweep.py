# SPDX-License-Identifier: GPL-2.0-or-later
"""What is left of a step is found by the variable that it inherits and by its session, and ended."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from linesmith.plugins.machines.steps_script import MARK, functions_script

# Finds nothing when it is first asked, as for a process that becomes another program at that moment.
BLIND_AT_FIRST = """\
#!/bin/sh
[ "$1" != grep ] || [ -e "$0.asked" ] || { : >"$0.asked"; exit 1; }
exec "$@"
"""


@dataclass(frozen=True)
class Left:
    """A process that a step left behind, in a session of its own."""

    place: Path
    mark: str
    process: subprocess.Popen[bytes]

    def sweep(self, before: str = "") -> subprocess.CompletedProcess[bytes]:
        """Sweep with ``before`` in front of the name of each tool, and with nobody who reads what is complained."""
        setting = f"b={before} place={self.place} nonce=nonce mark={self.mark}\n"
        script = f"{setting}{functions_script()}\nsweep\necho swept\n"
        reader, writer = os.pipe()
        os.close(reader)
        try:
            return subprocess.run(("sh", "-c", script), stdout=subprocess.PIPE, stderr=writer, check=False)
        finally:
            os.close(writer)


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Left]:
    mark = f"{MARK}={uuid.uuid4()}"
    # Its session is not the one that the step began, which has ended.
    (tmp_path / "began").write_text("999999999 0\n")
    with subprocess.Popen(("env", mark, "sleep", "77006")) as process:
        while mark.encode() not in Path(f"/proc/{process.pid}/environ").read_bytes():
            assert process.poll() is None
        yield Left(tmp_path, mark, process)
        process.kill()


def test_what_left_its_session_is_known_by_the_variable(left: Left) -> None:
    assert left.sweep().stdout == b"swept\n"
    assert left.process.wait(300) == -9


def test_one_look_that_finds_nothing_is_not_believed(left: Left) -> None:
    tool = left.place / "tool"
    tool.write_text(BLIND_AT_FIRST)
    tool.chmod(0o755)
    assert left.sweep(str(tool)).stdout == b"swept\n"
    assert left.process.wait(300) == -9


def test_a_step_that_never_began_is_told_to_nobody(left: Left) -> None:
    (left.place / "began").unlink()
    assert left.sweep().stdout == b"swept\n"
    assert left.process.poll() is None
