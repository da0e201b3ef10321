# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignment that a declaration itself asks for, told from what it inherits.

gcc states DW_AT_alignment of every record and member whose alignment comes from an attribute anywhere inside, so a
record that embeds an aligned one looks as if it asked for it.
"""

from __future__ import annotations

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member


def asked_of_member(member: Member, layouts: Layouts) -> int:
    """Bytes that the member's declaration asks for, 1 where its type asks for as much or nothing is stated."""
    stated = member.alignment or 1
    inner = (layouts.by_id(member.record).alignment or 1) if member.record is not None else 1
    return stated if stated > inner else 1


def asked_of_record(layout: Layout) -> int:
    """Bytes that the record asks for beyond what its members do, 1 where there is nothing of the kind."""
    stated = layout.alignment or 1
    inner = max((max(member.natural_alignment, member.alignment or 1) for member in layout.members), default=1)
    return stated if stated > inner else 1
