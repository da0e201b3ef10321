# SPDX-License-Identifier: GPL-2.0-or-later
"""An index in a file of its own: the layouts of a build without the build, to compare others with.

The file is a magic number, one line of JSON that says what the build is, and the index as the cache keeps it. Unlike
the cache it may come from anywhere, so every record is decoded before any is used.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from linesmith.analyzer.errors import ElfError
from linesmith.analyzer.model import ElfIdentity
from linesmith.analyzer.soundness import flaw
from linesmith.analyzer.store import IndexedLayouts, encoded, parsed

MAGIC = b"linesmith-saved1\n"
_MOST_HEAD_BYTES = 1 << 16


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
        if layouts is None or not _has_sound_head(layouts):
            raise ElfError(_damaged(path))
        wrong = flaw(layouts)
    except (OSError, UnicodeDecodeError, RecursionError, msgspec.MsgspecError) as error:
        raise ElfError(_damaged(path)) from error
    if wrong is not None:
        raise ElfError(f"{path} is a saved index that is damaged: {wrong}; make it again with `linesmith index -o`")
    return msgspec.structs.replace(saved, identity=replace(saved.identity, path=str(path))), layouts


def _damaged(path: Path) -> str:
    return f"{path} is a saved index that is cut off, damaged, or of another version; make it with `linesmith index -o`"


def _has_sound_head(layouts: IndexedLayouts) -> bool:
    """Whether names are of records that are there, and every record has as long a digest."""
    count = len(layouts.head.ends)
    numbers = (number for ids in layouts.head.names.values() for number in ids)
    return len(layouts.head.digests) % max(count, 1) == 0 and all(0 <= number < count for number in numbers)
