# SPDX-License-Identifier: GPL-2.0-or-later
"""What the code of a file can do to a record, as spots: no samples, but instructions, and who has them."""

from __future__ import annotations

from linesmith.analyzer.access import AccessMap, touching
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.line_map.fields import fields
from linesmith.analyzer.line_map.heat import Heat, Spot
from linesmith.analyzer.model import Access, FunctionCounts, Layout


def code_heat(layout: Layout, layouts: Layouts, accesses: AccessMap) -> Heat:
    """The instructions that touch each field; there are no contended samples, so nothing is hot."""
    touched = touching(layout, accesses)
    spots = []
    for field in fields(layout, layouts):
        functions = touched(field.offset, field.bytes).functions
        if functions:
            found = tuple(_access(one, field.offset) for one in functions)
            spots.append(Spot(field.names[0], field.offset, found, any(one.stores for one in found)))
    return Heat(tuple(spots), known=False)


def _access(one: FunctionCounts, offset: int) -> Access:
    """The counts as an access has them: an update both reads and writes, and counts for both."""
    counts = one.counts
    return Access(offset, one.function, records=counts.reading + counts.writing, stores_l1_hit=counts.writing)
