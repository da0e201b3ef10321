# SPDX-License-Identifier: GPL-2.0-or-later
"""A place for compiled programs that all tests of a run share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where programs are compiled, once for all."""
    return tmp_path_factory.mktemp("scratch")
