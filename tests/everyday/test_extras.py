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


def test_the_environment_below_the_working_directory_has_its_short_name(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (environment / "pip").touch()
    monkeypatch.chdir(environment.parents[1])
    assert install_command("png") == ".venv/bin/pip install 'linesmith[png]'"


def test_an_environment_elsewhere_has_its_whole_name(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (environment / "pip").touch()
    monkeypatch.chdir("/")
    assert install_command("png") == f"'{environment}/pip' install 'linesmith[png]'"
    monkeypatch.chdir(environment)
    assert install_command("png") == "./pip install 'linesmith[png]'"


def test_without_a_program_of_that_name_python_has_it(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(environment.parents[1])
    assert install_command("png") == ".venv/bin/python -m pip install 'linesmith[png]'"


def test_outside_of_environments_it_is_that_of_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert install_command("png") == "pip install 'linesmith[png]'"
