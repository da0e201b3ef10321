# SPDX-License-Identifier: GPL-2.0-or-later
"""Arrays that only take room, so that what is in front of them and what is behind lie on different lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member, RecordKind

# A pad of another kind holds data: scratch_pad, one_time_pad, key_pad.
_OTHER = r"(?!(\w*_)?(scratch|time|key|note|touch)_pad)"
_NAME = re.compile(rf"_*{_OTHER}(\w+_)?pad(ding)?_?\d*_*", re.IGNORECASE | re.ASCII)
# Fewer bytes stand for what a format reserves more often than for the rest of a line.
_LEAST_BYTES = 16


def pads(layout: Layout) -> Iterator[Member]:
    """The members called a padding that fill a line, or reach to the end of one, with others in front and behind."""
    if layout.kind is not RecordKind.STRUCT:
        return
    for place, one in enumerate(layout.members):
        if one.dimensions and one.record is None and _NAME.fullmatch(one.name) and _parts(one):
            behind = any(other.size and not _NAME.fullmatch(other.name) for other in layout.members[place + 1 :])
            if place and behind:
                yield one


def _parts(one: Member) -> bool:
    return one.size >= CACHE_LINE_BYTES or (one.size >= _LEAST_BYTES and one.end % CACHE_LINE_BYTES == 0)
