# SPDX-License-Identifier: GPL-2.0-or-later
"""One bench per compiler and DWARF version for the tests of the DWARF reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.c_records import NAMES, PRODUCERS, Bench, Producer


@pytest.fixture(scope="module", params=PRODUCERS, ids=NAMES)
def producer(request: pytest.FixtureRequest) -> Producer:
    """gcc and clang, DWARF 4 and 5."""
    made: Producer = request.param
    return made


@pytest.fixture
def bench(producer: Producer, tmp_path: Path) -> Bench:
    """A directory to compile in with each of them."""
    return Bench(tmp_path, producer)


@pytest.fixture
def gcc(tmp_path: Path) -> Bench:
    """gcc with DWARF 5, for what does not depend on the producer."""
    return Bench(tmp_path, Producer("gcc", 5))
