# SPDX-License-Identifier: GPL-2.0-or-later
"""The command that installs an optional part is that of the environment which runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from linesmith.analyzer.extras import install_command


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs of a virtual environment, whose Python runs."""
    programs = tmp_path / "work place" / ".venv" / "bin"
    programs.mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setattr(sys, "prefix", str(programs.parent))
    return programs


def test_the_command_has_the_short_name_of_the_environment(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(environment.parents[1])
    assert install_command("png") == ".venv/bin/python -m pip install 'linesmith[png]'"
    (environment / "pip").touch()
    for folder, name in (
        (environment.parents[1], ".venv/bin/pip"),
        (environment, "./pip"),
        (Path("/"), f"'{environment}/pip'"),
    ):
        monkeypatch.chdir(folder)
        assert install_command("png") == f"{name} install 'linesmith[png]'"


def test_outside_of_environments_it_is_that_of_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert install_command("png") == "pip install 'linesmith[png]'"
