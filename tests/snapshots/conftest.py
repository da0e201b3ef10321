# SPDX-License-Identifier: GPL-2.0-or-later
"""Dumps of guests, taken once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import drgn
import pytest
from snapshots.guest import dumped

from linesmith.plugins.snapshots.kernel import opened

# The dump of a guest that was booted with these words on its command line.
DumpOf = Callable[[str], Path]


@pytest.fixture(scope="session")
def dump_of(kernel_image: Path, kernel_module: Path, tmp_path_factory: pytest.TempPathFactory) -> DumpOf:
    """Boots each guest once."""
    return cache(lambda words: dumped(kernel_image, kernel_module, words, tmp_path_factory.mktemp("guest")))


@pytest.fixture(scope="session")
def memory(dump_of: DumpOf) -> Path:
    """A guest whose kernel lies where it was linked."""
    return dump_of("nokaslr")


@pytest.fixture(scope="session")
def program(memory: Path, vmlinux: Path) -> drgn.Program:
    return opened(memory, vmlinux)
