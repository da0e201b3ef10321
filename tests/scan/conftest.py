# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that parses units, and a cache of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from source_scan.scanner import program


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program, which scans go to; tests are skipped where it could not be built."""
    found = program()
    if found is None:
        pytest.skip("linesmith-source-scan is not built: no Clang 19 or later to link")
    monkeypatch.setenv("LINESMITH_SOURCE_SCAN", str(found))
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    return found
