# SPDX-License-Identifier: GPL-2.0-or-later
"""Other names of a record: typedefs of its tag."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from linesmith.patches.kbuild import is_kernel
from linesmith.patches.masking import closings, without_comments
from linesmith.patches.records import Record
from linesmith.patches.semantic.mentions import read_source, source_files

_BEHIND = re.compile(rb"\s*+(\w++)\s*+;")


def aliases(tree: Path, record: Record) -> tuple[str, ...]:
    """The typedefs of ``record`` anywhere in the tree, by name.

    None for a kernel, which hardly has any: there it is left to Coccinelle to find them in headers.
    """
    if record.typedef or is_kernel(tree):
        return ()
    head = re.compile(
        rb"\btypedef\s++%s\s++%s\b\s*+(?:(\{)|(\w++)\s*+;)?" % (record.kind.encode(), re.escape(record.name.encode()))
    )
    found: set[str] = set()
    for file in source_files(tree):
        source = read_source(tree / file)
        if b"typedef" in source and record.name.encode() in source:
            found.update(_names(without_comments(source), head))
    return tuple(sorted(found - {record.name}))


def _names(code: bytes, head: re.Pattern[bytes]) -> Iterator[str]:
    """The names behind the heads, or behind the bodies that they open."""
    matches = list(head.finditer(code))
    yield from (match[2].decode() for match in matches if match[2])
    for end in closings(code, (match.start(1) for match in matches if match[1])).values():
        if behind := _BEHIND.match(code, end + 1):
            yield behind[1].decode()
