# SPDX-License-Identifier: GPL-2.0-or-later
"""Little-endian 64-bit ELF files as far as memory dumps need them: segments and notes."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import SnapshotError

PT_LOAD = 1
PT_NOTE = 4
ET_CORE = 4
NT_GNU_BUILD_ID = 3
_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
_NOTE_HEADER = struct.Struct("<III")
_CLASS64_LITTLE_ENDIAN = b"\x7fELF\x02\x01"
_PN_XNUM = 0xFFFF


@dataclass(frozen=True, slots=True)
class Segment:
    """One program header; offsets, addresses and sizes in bytes."""

    kind: int
    offset: int
    virtual: int
    physical: int
    file_size: int


@dataclass(frozen=True, slots=True)
class Note:
    """One note; ``virtual`` is the address at which the program has its header."""

    owner: bytes
    kind: int
    content: bytes
    virtual: int


class ElfFile:
    """A mapped ELF file; close it, or use it as a context. Format: System V ABI, chapters 4 and 5."""

    def __init__(self, path: Path) -> None:
        """Maps ``path``; raises ``SnapshotError`` when it is no ELF file of this kind or its segments are cut off."""
        self.path = path
        self.data = _mapped(path)
        try:
            self.kind, self.segments = _segments(self.data, path)
        except BaseException:
            self.data.close()
            raise

    def __enter__(self) -> ElfFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.data.close()

    @property
    def build_id(self) -> Note | None:
        """The note of the GNU build-id."""
        return next((note for note in self.notes() if (note.owner, note.kind) == (b"GNU", NT_GNU_BUILD_ID)), None)

    def notes(self) -> Iterator[Note]:
        """Every note of the ``PT_NOTE`` segments; a damaged one ends its segment."""
        for segment in self.segments:
            if segment.kind == PT_NOTE:
                yield from _notes_in(self.data[segment.offset : segment.offset + segment.file_size], segment.virtual)

    def find(self, pattern: bytes) -> Iterator[int]:
        """Physical addresses at which the loaded segments hold ``pattern``."""
        for segment in self._loads():
            end = segment.offset + segment.file_size
            position = self.data.find(pattern, segment.offset, end)
            while position >= 0:
                yield position - segment.offset + segment.physical
                position = self.data.find(pattern, position + 1, end)

    def physical(self, address: int, size: int) -> bytes:
        """``size`` bytes of physical memory; raises ``SnapshotError`` when the dump does not hold them all."""
        for segment in self._loads():
            start = address - segment.physical
            if start >= 0 and start + size <= segment.file_size:
                return self.data[segment.offset + start : segment.offset + start + size]
        raise SnapshotError(f"{self.path} holds no memory at the physical address {address:#x}; dump the guest again")

    def _loads(self) -> Iterator[Segment]:
        return (segment for segment in self.segments if segment.kind == PT_LOAD)


def _mapped(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is empty"
        raise SnapshotError(
            f"cannot read {path}: {reason}; name a memory dump and the vmlinux of its kernel"
        ) from error


def _segments(data: mmap.mmap, path: Path) -> tuple[int, tuple[Segment, ...]]:
    if data[:6] != _CLASS64_LITTLE_ENDIAN or len(data) < _ELF_HEADER.size:
        raise SnapshotError(
            f"{path} is no 64-bit little-endian ELF file; QEMU's dump-guest-memory writes memory as one (format elf), "
            "and a kernel build its vmlinux"
        )
    header = _ELF_HEADER.unpack_from(data)
    kind, table, section_table, entry_size, count = header[1], header[5], header[6], header[9], header[10]
    try:
        if count == _PN_XNUM:
            count = struct.unpack_from("<I", data, section_table + 44)[0]
        rows = (_PROGRAM_HEADER.unpack_from(data, table + index * entry_size) for index in range(count))
        segments = tuple(Segment(row[0], row[2], row[3], row[4], row[5]) for row in rows)
    except (struct.error, OverflowError) as error:
        raise SnapshotError(f"{path} is cut off within its program headers; write it again") from error
    end = max((segment.offset + segment.file_size for segment in segments), default=0)
    if end > len(data):
        raise SnapshotError(f"{path} is cut off: it has {len(data)} of {end} bytes; write it again (is the disk full?)")
    return kind, segments


def _notes_in(content: bytes, virtual: int) -> Iterator[Note]:
    position = 0
    while position + _NOTE_HEADER.size <= len(content):
        owner_size, size, kind = _NOTE_HEADER.unpack_from(content, position)
        owner = position + _NOTE_HEADER.size
        start = owner + _padded(owner_size)
        if start + size > len(content):
            return
        name = content[owner : owner + owner_size].rstrip(b"\0")
        yield Note(name, kind, content[start : start + size], virtual + position)
        position = start + _padded(size)


def _padded(size: int) -> int:
    return (size + 3) & ~3
