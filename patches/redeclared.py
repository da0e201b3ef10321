# SPDX-License-Identifier: GPL-2.0-or-later
"""The records whose declarations differ between two versions of a file."""

from __future__ import annotations

import re

from linesmith.analyzer.model import FileChange
from linesmith.patches.records import Record, records_named

_NAME = re.compile(rb"\b(?:struct|union)\s+(?:__\w+\s+)*(\w+)\s*(?:__\w+\s*)*\{|\}\s*(\w+)\s*;")


def redeclared(change: FileChange) -> tuple[Record, ...]:
    """Records of the changed file, as it is then, that the file declared otherwise before."""
    if change.before is None or change.after is None:
        return ()
    names = dict.fromkeys((tag or typedef).decode() for tag, typedef in _NAME.findall(change.after))
    return tuple(one for name in names for one in records_named(change.after, name) if _differs(one, change))


def _differs(record: Record, change: FileChange) -> bool:
    """Whether the file had the record, and only with another body."""
    before, after = change.before or b"", change.after or b""
    bodies = [before[one.start : one.closing] for one in records_named(before, record.name)]
    return bool(bodies) and after[record.start : record.closing] not in bodies
