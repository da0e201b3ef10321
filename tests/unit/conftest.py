# SPDX-License-Identifier: GPL-2.0-or-later
"""One bench per compiler and DWARF version for the tests of the DWARF reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.c_records import NAMES, PRODUCERS, Bench, Producer


@pytest.fixture(params=PRODUCERS, ids=NAMES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """gcc and clang, DWARF 4 and 5."""
    return Bench(tmp_path, request.param)


@pytest.fixture
def gcc(tmp_path: Path) -> Bench:
    """gcc with DWARF 5, for what does not depend on the producer."""
    return Bench(tmp_path, Producer("gcc", 5))
