# SPDX-License-Identifier: GPL-2.0-or-later
"""An index in a file of its own: the layouts of a build without the build, to compare others with.

The file is a magic number, one line of JSON that says what the build is, and the index as the cache keeps it. Unlike
the cache it may come from anywhere, so every record is decoded before any is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from linesmith.analyzer.errors import ElfError
from linesmith.analyzer.model import ElfIdentity, Member
from linesmith.analyzer.store import IndexedLayouts, encoded, parsed

MAGIC = b"linesmith-saved1\n"
_MOST_HEAD_BYTES = 1 << 16
# Bytes, bits and elements beyond this are in no record.
_MOST = 1 << 48


class SavedIndex(msgspec.Struct, frozen=True):
    """``banner`` is how a kernel's image begins to name its release (``Linux version 6.12``), empty for others.

    ``reader`` is ``DWARF`` or ``BTF``.
    """

    identity: ElfIdentity
    reader: str
    banner: str = ""


def is_saved(path: Path) -> bool:
    """Whether the file begins as one; ``False`` for what cannot be read, or is no regular file."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def content(saved: SavedIndex, layouts: IndexedLayouts) -> bytes:
    """The bytes of the file."""
    return b"".join((MAGIC, msgspec.json.encode(saved), b"\n", *encoded(layouts)))


def read_saved(path: Path) -> tuple[SavedIndex, IndexedLayouts]:
    """What ``content`` was made of, the identity with the path of this file; raises ``ElfError``."""
    try:
        head, _, rest = path.read_bytes()[len(MAGIC) :].partition(b"\n")
        saved = msgspec.json.decode(head[:_MOST_HEAD_BYTES], type=SavedIndex)
        layouts = parsed(rest)
        if layouts is None or not _is_sound(layouts):
            raise ElfError(_damaged(path))
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise ElfError(_damaged(path)) from error
    return msgspec.structs.replace(saved, identity=replace(saved.identity, path=str(path))), layouts


def _damaged(path: Path) -> str:
    return f"{path} is a saved index that is cut off, damaged, or of another version; make it with `linesmith index -o`"


def _is_sound(layouts: IndexedLayouts) -> bool:
    """Whether every record is one, under its own number, and refers to none that is not there."""
    count = len(layouts.head.ends)
    numbers = (number for ids in layouts.head.names.values() for number in ids)
    named = all(0 <= number < count for number in numbers)
    return named and len(layouts.head.digests) % max(count, 1) == 0 and all(_sound_records(layouts, count))


def _sound_records(layouts: IndexedLayouts, count: int) -> Iterator[bool]:
    for number, layout in enumerate(layouts):
        alignments = layout.natural_alignment, layout.alignment
        members = all(_is_sound_member(member, count) for member in layout.members)
        yield layout.id == number and 0 <= layout.size < _MOST and all(map(_is_alignment, alignments)) and members


def _is_sound_member(member: Member, count: int) -> bool:
    places = (member.offset, member.size, member.bit_offset or 0, member.bit_size or 0, *member.dimensions)
    held = member.record is None or 0 <= member.record < count
    aligned = _is_alignment(member.natural_alignment) and _is_alignment(member.alignment)
    return held and aligned and all(0 <= place < _MOST for place in places)


def _is_alignment(given: int | None) -> bool:
    """Whether it is a power of two, or not stated."""
    return given is None or (0 < given < _MOST and given & (given - 1) == 0)
