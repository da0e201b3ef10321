# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a member that was reached through an array may lie."""

from __future__ import annotations

from hand_made import scalar, struct, table

from linesmith.analyzer.containment import Containment


def test_a_spot_in_an_array_stands_for_the_same_in_every_element() -> None:
    node = struct("node", scalar("key"), scalar("counts", 32, dimensions=(4,)), scalar("flags"))
    layouts = table(node)
    containment = Containment(layouts)
    (found,) = layouts.variants("node")
    first = next(member for member in found.members if member.name == "counts").offset
    assert containment.elements(found.id, first) == tuple(range(first, first + 32, 8))
    assert containment.elements(found.id, 0) == (0,)
