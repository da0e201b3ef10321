# SPDX-License-Identifier: GPL-2.0-or-later
"""The net sees a difference and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NET = Path(__file__).with_name("net.py")
_LINE = "layout bench session_index --format json"


def net(action: str, folder: Path) -> subprocess.CompletedProcess[str]:
    argv: list[str | Path] = [sys.executable, NET, action, folder, "--only", _LINE]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.study
def test_a_changed_output_is_shown(tmp_path: Path) -> None:
    assert net("take", tmp_path).returncode == 0
    same = net("compare", tmp_path)
    assert (same.returncode, same.stdout) == (0, "1 lines, 0 changed, 0 left out for want of their inputs\n")
    (taken,) = (tmp_path / "net").iterdir()
    taken.write_text(taken.read_text().replace('"session_index"', '"session_table"', 1))
    other = net("compare", tmp_path)
    assert other.returncode == 1
    assert f"+++ after: {_LINE}\n" in other.stdout
    assert other.stdout.endswith("1 lines, 1 changed, 0 left out for want of their inputs\n")
