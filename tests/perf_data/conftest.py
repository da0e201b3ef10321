# SPDX-License-Identifier: GPL-2.0-or-later
"""The program of which samples are drawn, compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest
from perf_data import program_scenario


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program_scenario.compiled(tmp_path_factory.mktemp("server"))
