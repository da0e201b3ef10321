# SPDX-License-Identifier: GPL-2.0-or-later
"""Points replayed on traces written by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import meeting, scalar, struct, table
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.errors import NothingToSuggest, NotSimulated, TraceError
from linesmith.analyzer.model import Layout, ObjectArea, ObjectKind, Searching
from linesmith.tuner.space.proposals import Proposals, proposals
from linesmith.tuner.space.replayed import replayed

BASE = 0x10000
NODES = (0, 0)


def index() -> Layout:
    layout = struct("index", scalar("lock"), scalar("read"), *(scalar(f"cold{number}") for number in range(14)))
    return replace(layout, alignment=64)


def searched(layout: Layout) -> Proposals:
    return proposals([meeting(layout, "lock", "read")], table(layout), Searching())


def area(layout: Layout, name: str = "index") -> ObjectArea:
    return ObjectArea(ObjectKind.GLOBAL, "indices", BASE, layout.size, layout.size, 1, (name,))


def conflict(path: Path, read: int = BASE + 8) -> Path:
    """CPU 0 takes the lock while CPU 1 reads."""
    return write_trace(path, turns([Step(0, "A", BASE), Step(1, "L", read)], 200), NODES)


def test_a_layout_that_parts_the_two_costs_nothing_more(tmp_path: Path) -> None:
    layout = index()
    proposed = searched(layout)
    cost = replayed(proposed, [area(layout)], table(layout), conflict(tmp_path / "trace"))
    found = cost(min(proposed.legality.options, key=proposed.estimate))
    assert found.cost < 0.01
    assert found.spread == pytest.approx(0, abs=0.01)


def test_a_layout_that_leaves_them_together_costs_the_same(tmp_path: Path) -> None:
    layout = index()
    proposed = searched(layout)
    together = max(proposed.legality.options, key=proposed.estimate)
    cost = replayed(proposed, [area(layout)], table(layout), conflict(tmp_path / "trace"))
    assert proposed.estimate(together) > 0.9
    assert cost(together).cost == pytest.approx(1.0)


def test_the_trace_is_read_once(tmp_path: Path) -> None:
    layout = index()
    proposed = searched(layout)
    trace = conflict(tmp_path / "trace")
    cost = replayed(proposed, [area(layout)], table(layout), trace)
    trace.unlink()
    assert all(cost(point).cost <= 1 for point in proposed.legality.options)


def test_a_point_that_is_not_legal_is_refused(tmp_path: Path) -> None:
    layout = index()
    proposed = searched(layout)
    cost = replayed(proposed, [area(layout)], table(layout), conflict(tmp_path / "trace"))
    with pytest.raises(NothingToSuggest, match="the layout stays as it is"):
        cost(proposed.space.start)


def test_a_profile_without_objects_of_the_record_cannot_tell(tmp_path: Path) -> None:
    layout = index()
    with pytest.raises(NotSimulated, match="knows no object that is or holds a struct index"):
        replayed(searched(layout), [], table(layout), conflict(tmp_path / "trace"))


def test_a_trace_of_other_memory_cannot_tell(tmp_path: Path) -> None:
    layout = index()
    trace = write_trace(tmp_path / "trace", turns([Step(0, "S", 0x900000), Step(1, "L", 0x900000)], 50), NODES)
    with pytest.raises(NotSimulated, match="the trace has no access to any of the 1 objects"):
        replayed(searched(layout), [area(layout)], table(layout), trace)


def test_a_file_that_is_no_trace_is_an_error(tmp_path: Path) -> None:
    layout = index()
    (tmp_path / "trace").write_bytes(b"nothing")
    with pytest.raises(TraceError):
        replayed(searched(layout), [area(layout)], table(layout), tmp_path / "trace")
