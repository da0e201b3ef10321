# SPDX-License-Identifier: GPL-2.0-or-later
"""The marker programs: their bytes, and that they run and do nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from linesmith.analyzer.errors import ToolMissing
from linesmith.plugins.machines.marker import Border, marker_program


@pytest.mark.parametrize(
    ("machine", "border", "code"),
    [
        ("x86_64", Border.START, "0f1f80014d534c b83c000000 31ff 0f05"),
        ("x86_64", Border.STOP, "0f1f80004d534c b83c000000 31ff 0f05"),
        ("aarch64", Border.START, "3f80a9d2 a80b80d2 000080d2 010000d4"),
        ("aarch64", Border.STOP, "1f80a9d2 a80b80d2 000080d2 010000d4"),
    ],
)
def test_a_marker_is_one_instruction_and_an_exit(machine: str, border: Border, code: str) -> None:
    assert marker_program(machine, border).endswith(bytes.fromhex(code))


@pytest.mark.parametrize("border", Border)
def test_a_marker_runs_on_this_machine(tmp_path: Path, border: Border) -> None:
    program = tmp_path / "marker"
    program.write_bytes(marker_program(os.uname().machine, border))
    program.chmod(0o755)
    done = subprocess.run([program], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_other_machines_are_refused() -> None:
    with pytest.raises(ToolMissing, match="no marker for riscv64; record an x86_64 or aarch64 guest"):
        marker_program("riscv64", Border.START)
