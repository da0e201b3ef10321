# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that several tests compile."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest
from find.lines import Built
from perf_data import program_scenario


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """``built("program.c", "-O1", compiler="gcc")`` is that file of this folder, compiled once with these options."""

    @cache
    def build(source: str, *options: str, compiler: str = "gcc") -> Path:
        target = tmp_path_factory.mktemp("built") / Path(source).stem
        words = [compiler, "-g", *(options or ("-O1", "-c")), str(Path(__file__).with_name(source)), "-o", str(target)]
        subprocess.run(words, check=True)
        return target

    return build


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of ``perf_data``, of which samples are drawn."""
    return program_scenario.compiled(tmp_path_factory.mktemp("server"))
