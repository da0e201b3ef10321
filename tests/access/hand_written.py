# SPDX-License-Identifier: GPL-2.0-or-later
"""Access maps written by hand: what the native core would hand over for a few instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import numpy as np
from hand_made import held, scalar, struct, table

from linesmith.analyzer.layouts.dwarf import AccessTable
from linesmith.analyzer.model import AccessKind, AccessOutcome

KINDS, OUTCOMES = tuple(AccessKind), tuple(AccessOutcome)

LOCK = struct("lock", scalar("word", 4))
# next at 0, guard at 8 with a hole behind it, count at 16, total at 20
NODE = struct("node", scalar("next"), held("guard", LOCK), scalar("count", 4, align=8), scalar("total", 4))
OUTER = struct("outer", scalar("key"), held("node", NODE))
LAYOUTS = table(LOCK, NODE, OUTER)
TYPES = ("", "struct node", "struct outer", "int")
TYPE_LAYOUT = (-1, NODE.id, OUTER.id, -1)


@dataclass(frozen=True)
class Row:
    """One access; ``type`` counts in ``TYPES``."""

    address: int
    function: int
    type: int = 0
    offset: int = 0
    width: int = 8
    kind: AccessKind = AccessKind.READ
    outcome: AccessOutcome = AccessOutcome.PROPAGATION
    chain: int = 0
    line: int = 0
    variable: int = 0


@dataclass(frozen=True)
class Code:
    """A function at [low, high)."""

    name: str
    low: int
    high: int


def raw(rows: Sequence[Row], functions: Sequence[Code], chains: Sequence[Sequence[str]] = ((),)) -> AccessTable:
    """The columns of these rows, which stand by address."""
    numbers = {
        "address": np.uint64, "function": np.uint32, "line": np.uint32, "type": np.uint32, "offset": np.int32,
        "width": np.uint16, "variable": np.uint32,
    }  # fmt: skip
    columns = SimpleNamespace(
        **{name: np.array([getattr(row, name) for row in rows], kind) for name, kind in numbers.items()},
        inlined=np.array([row.chain for row in rows], np.uint32),
        file=np.array([row.line > 0 for row in rows], np.uint32),
        kind=np.array([KINDS.index(row.kind) for row in rows], np.uint8),
        outcome=np.array([OUTCOMES.index(row.outcome) for row in rows], np.uint8),
        functions=[one.name for one in functions],
        function_low=np.array([one.low for one in functions], np.uint64),
        function_high=np.array([one.high for one in functions], np.uint64),
        inline_chains=[list(chain) for chain in chains],
        files=["", "lib/node.c"],
        types=list(TYPES),
        type_layout=np.array(TYPE_LAYOUT, np.int64),
        variables=["", "first_node"],
        statics=["first_node"],
        static_address=np.array([0x3000], np.uint64),
        static_bytes=np.array([8], np.uint64),
        static_element=np.array([8], np.uint64),
        static_layout=np.array([-1], np.int64),
        static_of_thread=np.array([0], np.uint8),
    )
    return cast("AccessTable", columns)
