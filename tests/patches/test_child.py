# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs are run without a shell, with a time limit, and leave nothing behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from linesmith.analyzer.errors import ToolMissing, VerificationFailed
from linesmith.patches.child import Command, run


def test_status_and_output_come_back() -> None:
    program = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    ended = run(Command((sys.executable, "-u", "-c", program), Path("/"), 30))
    assert (ended.status, ended.output) == (3, "out\nerr\n")


def test_arguments_are_no_shell_text(tmp_path: Path) -> None:
    ended = run(Command(("echo", "$(touch ran)", ";", "touch", "ran"), tmp_path, 30))
    assert ended.output == "$(touch ran) ; touch ran\n"
    assert not (tmp_path / "ran").exists()


def test_a_missing_program_names_its_package() -> None:
    with pytest.raises(ToolMissing, match=r"ld\.lld is not installed .*install the package lld"):
        run(Command(("/nowhere/ld.lld",), Path("/"), 30))


def test_a_program_that_does_not_end_is_stopped_with_its_children(tmp_path: Path) -> None:
    grandchild = f"import time, pathlib; time.sleep(3); pathlib.Path({str(tmp_path / 'late')!r}).touch()"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}])"
    with pytest.raises(VerificationFailed, match="did not end within 1 s and was stopped"):
        run(Command((sys.executable, "-c", program), tmp_path, 1))
    time.sleep(3.5)
    assert not (tmp_path / "late").exists()


def test_variables_that_steer_make_and_compilers_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKEFLAGS", "--eval=x")
    monkeypatch.setenv("CPATH", "/evil")
    ended = run(Command(("env",), Path("/"), 30))
    assert "MAKEFLAGS" not in ended.output
    assert "CPATH" not in ended.output
    assert "LC_ALL=C\n" in ended.output


def test_a_program_ends_with_the_process_that_runs_it(tmp_path: Path) -> None:
    late = f"import time, pathlib; time.sleep(3); pathlib.Path({str(tmp_path / 'late')!r}).touch()"
    ours = (
        "import sys; from pathlib import Path; from linesmith.patches.child import Command, run; "
        f"run(Command((sys.executable, '-c', {late!r}), Path('/'), 30))"
    )
    parent = subprocess.Popen((sys.executable, "-c", ours))
    time.sleep(1.5)
    parent.kill()
    parent.wait()
    time.sleep(3.5)
    assert not (tmp_path / "late").exists()
