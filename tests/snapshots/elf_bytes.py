# SPDX-License-Identifier: GPL-2.0-or-later
"""Small ELF core files byte by byte: one note segment and one piece of memory."""

from __future__ import annotations

import struct

CORE = 4
EXECUTABLE = 2


def note(owner: bytes, kind: int, content: bytes) -> bytes:
    name = owner + b"\0"
    return struct.pack("<III", len(name), len(content), kind) + _padded(name) + _padded(content)


def elf(kind: int, notes: bytes, memory: bytes, physical: int = 0) -> bytes:
    """A file of ``kind`` whose only memory lies at the address ``physical``; its notes lie at the same address."""
    start = 64 + 2 * 56
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", kind, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    rows = (
        struct.pack("<IIQQQQQQ", 4, 4, start, physical, 0, len(notes), len(notes), 4),
        struct.pack("<IIQQQQQQ", 1, 4, start + len(notes), 0, physical, len(memory), len(memory), 8),
    )
    return header + b"".join(rows) + notes + memory


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)
