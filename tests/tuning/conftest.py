# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of a run of ``bench`` and of one of ``tune`` look at."""

from __future__ import annotations

from pathlib import Path

import pytest
from tuning.project import project


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def heard() -> list[str]:
    """What the run says that it does."""
    return []
