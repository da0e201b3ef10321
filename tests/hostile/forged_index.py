# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes saved indices whose checksums are right and whose records need not be."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

from linesmith.analyzer.model import ElfIdentity
from linesmith.analyzer.saved_index import SavedIndex, content
from linesmith.analyzer.store import NO_STAMP, built

IDENTITY = ElfIdentity("vmlinux", None, "x86-64", "ET_EXEC", True, 8, True, False)


def record(number: int, *members: str, size: int = 8, kind: str = "struct") -> bytes:
    """The document of ``rNUMBER``."""
    text = f'{{"id":{number},"name":"r{number}","kind":"{kind}","size":{size},"members":[{",".join(members)}]}}'
    return text.encode()


def member(offset: int = 0, size: int = 8, held: int | None = None, more: str = "") -> str:
    """A member of the record with the id ``held``, or a scalar; ``more`` are further fields."""
    record_held = "" if held is None else f',"record":{held},"category":"record"'
    return f'{{"name":"m","type":"t","declarator":"m","offset":{offset},"size":{size}{record_held}{more}}}'


def forged(file: Path, documents: Iterable[bytes]) -> Path:
    """A saved index of the records ``r0``, ``r1`` ..."""
    parts = list(documents)
    names: dict[str, tuple[int, ...]] = {f"r{number}": (number,) for number in range(len(parts))}
    layouts = built(NO_STAMP, names, tuple(accumulate(map(len, parts))), bytes(8 * len(parts)), b"".join(parts))
    file.write_bytes(content(SavedIndex(IDENTITY, "DWARF"), layouts))
    return file
