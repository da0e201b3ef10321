# SPDX-License-Identifier: GPL-2.0-or-later
"""The program under test, and sources of one file for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from source_scan.scanner import Unit, program, scan

Scanned = Callable[..., Unit]


@pytest.fixture(scope="session")
def executable() -> Path:
    """The program; tests are skipped where it could not be built."""
    found = program()
    if found is None:
        pytest.skip("linesmith-source-scan is not built: no Clang 19 or later to link")
    return found


@pytest.fixture
def scanned(executable: Path, tmp_path: Path) -> Scanned:

    def scan_text(text: str, *records: str, flags: tuple[str, ...] = ()) -> Unit:
        source = tmp_path / "case.c"
        source.write_text(text)
        return scan(executable, source, records or ("rec",), flags)

    return scan_text
