# SPDX-License-Identifier: GPL-2.0-or-later
"""The progress that the native reader reports, and how it is interrupted."""

from __future__ import annotations

import pytest
from unit.c_records import Bench

from linesmith.analyzer import _native

TEXT = "struct s { int a; } x;"


def test_progress_ends_with_everything_done(gcc: Bench) -> None:
    reports: list[tuple[int, int]] = []
    _native.read_dwarf(str(gcc.object(TEXT)), 1, progress=lambda done, total: reports.append((done, total)))
    done, total = reports[-1]
    assert done == total > 0
    assert [each for each, _ in reports] == sorted(each for each, _ in reports)


def test_an_exception_of_the_progress_stops_the_reading(gcc: Bench) -> None:
    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _native.read_dwarf(str(gcc.object(TEXT)), 2, progress=interrupt)
