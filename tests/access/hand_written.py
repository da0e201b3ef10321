# SPDX-License-Identifier: GPL-2.0-or-later
"""Access maps written by hand: what the native core would hand over for a few instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import numpy as np

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.dwarf import AccessTable
from linesmith.analyzer.model import AccessKind, AccessOutcome, Layout, Member, MemberCategory, RecordKind

KINDS, OUTCOMES = tuple(AccessKind), tuple(AccessOutcome)

LOCK = Layout(0, "lock", RecordKind.STRUCT, 4, (Member("word", "int", "word", 0, 4, 4),), 4)
NODE = Layout(
    1,
    "node",
    RecordKind.STRUCT,
    24,
    (
        Member("next", "struct node *", "next", 0, 8, 8, category=MemberCategory.POINTER),
        Member("guard", "struct lock", "guard", 8, 4, 4, category=MemberCategory.RECORD, record=0),
        Member("count", "int", "count", 16, 4, 4),
        Member("total", "int", "total", 20, 4, 4),
    ),
    8,
)
OUTER = Layout(
    2,
    "outer",
    RecordKind.STRUCT,
    32,
    (
        Member("key", "long", "key", 0, 8, 8),
        Member("node", "struct node", "node", 8, 24, 8, category=MemberCategory.RECORD, record=1),
    ),
    8,
)
LAYOUTS = LayoutTable((LOCK, NODE, OUTER))
TYPES = ("", "struct node", "struct outer", "int")
TYPE_LAYOUT = (-1, 1, 2, -1)


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
    columns = SimpleNamespace(
        address=np.array([row.address for row in rows], np.uint64),
        function=np.array([row.function for row in rows], np.uint32),
        inlined=np.array([row.chain for row in rows], np.uint32),
        file=np.array([row.line > 0 for row in rows], np.uint32),
        line=np.array([row.line for row in rows], np.uint32),
        type=np.array([row.type for row in rows], np.uint32),
        offset=np.array([row.offset for row in rows], np.int32),
        width=np.array([row.width for row in rows], np.uint16),
        kind=np.array([KINDS.index(row.kind) for row in rows], np.uint8),
        outcome=np.array([OUTCOMES.index(row.outcome) for row in rows], np.uint8),
        variable=np.array([row.variable for row in rows], np.uint32),
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
