# SPDX-License-Identifier: GPL-2.0-or-later
"""Where slab caches do not keep to an alignment, objects start as often elsewhere after a change as before it."""

from __future__ import annotations

import pytest
from hand_made import scalar, struct, table

from linesmith.analyzer.model import CompiledRecord, Residual
from linesmith.patches.matrix.evidence import starts
from linesmith.patches.matrix.sizes import Role, Tables, Target, compared, residual, stepped

PLAIN = struct("pool", scalar("name"), scalar("limit"), scalar("used"))
ALIGNED = struct("pool", scalar("name"), scalar("limit"), scalar("spare", 40), scalar("used", align=64))
BUILDS = Tables(table(PLAIN), table(ALIGNED))
PAIR = Residual("limit", "used", 64, 0.0, 0.0)


def told(granules: tuple[int, int]) -> str:
    record = compared(BUILDS, "pool", Target(64, None), Role.ALONE)
    met = residual(PAIR, BUILDS, "pool", "", granules)
    assert isinstance(record, CompiledRecord)
    assert met is not None
    return starts(met, stepped(record, granules))


@pytest.mark.parametrize(
    ("granules", "expected"),
    [((0, 0), "7/8->0/1"), ((8, 64), "7/8->0/1"), ((8, 8), "7/8->1/8"), ((8, 16), "7/8->0/4")],
    ids=["only the alignment", "kept", "not kept", "kept in part"],
)
def test_starts_are_those_that_objects_have(granules: tuple[int, int], expected: str) -> None:
    assert told(granules) == expected
