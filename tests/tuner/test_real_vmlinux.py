# SPDX-License-Identifier: GPL-2.0-or-later
"""The tuner on the structs of a real kernel; that candidates are legal is shown in tests/legality."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hand_made import finding, hot

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import refusal
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import ConflictPair, RecordKind
from linesmith.tuner.candidates import propose

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("vmlinux-layouts")]


@pytest.fixture(scope="module")
def layouts(vmlinux: Path) -> Layouts:
    return read_layouts(vmlinux).layouts


def test_nearly_all_structs_are_placed_exactly_and_the_rest_is_packed(layouts: Layouts) -> None:
    structs = [layout for layout in layouts if layout.kind is RecordKind.STRUCT and layout.members]
    reasons = Counter(refusal(with_inferred_alignment(layout)) for layout in structs)
    packed = sum(count for reason, count in reasons.items() if "packed" in (reason or ""))
    assert reasons[None] >= 0.97 * len(structs)
    assert len(structs) - reasons[None] - packed <= 10, reasons


def test_the_lock_of_the_mapping_tree_moves_alone_and_the_size_stays(layouts: Layouts) -> None:
    (layout,) = layouts.variants("address_space")
    seen = [hot("i_mmap", 72, 16, reads=700, writes=1), hot("i_mmap_rwsem.owner", 96, 8, 3000, 900, lock=True)]
    pair = ConflictPair("i_mmap", "i_mmap_rwsem", "i_mmap_rwsem", 700)
    first = propose(finding(layout, seen, [pair], phase=16), layouts)[0]
    assert [(move.member, move.after) for move in first.moves] == [("i_mmap_rwsem", "private_data")]
    assert (first.after.size, [one.after for one in first.residuals if one.line_bytes == 64]) == (192, [0])
