# SPDX-License-Identifier: GPL-2.0-or-later
"""The index: every layout of one ELF file, kept in the user's cache directory by build-id.

One file per index: a prefix (magic, checksum and length of the head), the head (msgpack), then the body, one JSON
document per record. Whatever does not check out (magic, shape, checksums, stamp) makes the index as good as absent.

A saved index, to compare builds with, has another magic number and one line of JSON that says what the build is. It
may come from anywhere, so every record is decoded before any is used.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import msgspec

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import ElfError
from linesmith.analyzer.layouts.collection import Layouts, flaw
from linesmith.analyzer.model import ElfIdentity, Layout

FORMAT = b"linesmith-index3"
SUFFIX = ".index"
# How a saved index begins.
MAGIC = b"linesmith-saved1\n"
# Everything that is kept of a build; it shares the room there is.
KEPT = (".index", ".access", ".found", ".scan", ".units", ".places", ".held")
MOST_CACHED_BYTES = 1 << 30
LEFTOVER_SECONDS = 3600
_PREFIX = struct.Struct("<16sII")
_MOST_HEAD_BYTES = 1 << 16


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """What an index was made of and by: it is stale once any of it changes.

    ``path``, ``size`` (bytes) and ``mtime_ns`` are those of the file with the debug information; ``core`` tells
    which build of the native core read it.
    """

    path: str
    size: int
    mtime_ns: int
    core: str


NO_STAMP = Stamp("", 0, 0, "")


class IndexHead(msgspec.Struct, frozen=True, array_like=True):
    """``names`` gives the ids by name, most used first; ``ends`` where each record's document ends in the body.

    ``digests`` has as many bytes for each record, by id: records of two files with equal ones have the same layout.
    """

    stamp: Stamp
    names: dict[str, tuple[int, ...]]
    ends: tuple[int, ...]
    body_crc: int
    digests: bytes


class MemberOutline(msgspec.Struct, frozen=True):
    """Of a member what tells where a record lies in another, as in ``Member``."""

    offset: int
    dimensions: tuple[int, ...] = ()
    record: int | None = None


class Outline(msgspec.Struct, frozen=True):
    """Of a record what tells which others it holds; reading all of them takes a fifth of the time of all layouts."""

    id: int
    size: int
    members: tuple[MemberOutline, ...]


class IndexedLayouts:
    """Layouts decoded one by one from an index, each at most once."""

    def __init__(self, head: IndexHead, body: bytes | memoryview) -> None:
        self.head = head
        self.body = body
        self._decoded: dict[int, Layout] = {}
        self._digest_bytes = len(head.digests) // max(len(head.ends), 1)
        self._decoder = msgspec.json.Decoder(Layout)

    def by_id(self, layout_id: int) -> Layout:
        """The layout with this id; raises ``KeyError`` when there is none."""
        found = self._decoded.get(layout_id)
        if found is None:
            if not 0 <= layout_id < len(self.head.ends):
                raise KeyError(layout_id)
            found = self._decoder.decode(self._document(layout_id))
            self._decoded[layout_id] = found
        return found

    def digest(self, layout_id: int) -> bytes:
        """What is equal for layouts of two files that do not differ."""
        each = self._digest_bytes
        return self.head.digests[layout_id * each : (layout_id + 1) * each]

    def variants(self, name: str) -> tuple[Layout, ...]:
        """Every layout of records called ``name``, the one used by most compile units first."""
        return tuple(self.by_id(layout_id) for layout_id in self.head.names.get(name, ()))

    def names(self) -> tuple[str, ...]:
        """Every record name once, sorted."""
        return tuple(sorted(self.head.names))

    def outlines(self) -> Iterator[Outline]:
        """Those of all records, by id."""
        decoder = msgspec.json.Decoder(Outline)
        return (decoder.decode(self._document(number)) for number in range(len(self.head.ends)))

    def _document(self, number: int) -> bytes | memoryview:
        return self.body[self.head.ends[number - 1] if number else 0 : self.head.ends[number]]

    def __iter__(self) -> Iterator[Layout]:
        """Every layout by id."""
        return (self.by_id(layout_id) for layout_id in range(len(self.head.ends)))


def outlines_of(layouts: Layouts) -> Iterable[Layout | Outline]:
    """The outlines of all records of a file, by id; where there is no index, the records themselves."""
    return layouts.outlines() if isinstance(layouts, IndexedLayouts) else layouts


def built(
    stamp: Stamp, names: dict[str, tuple[int, ...]], ends: tuple[int, ...], digests: bytes, body: bytes | memoryview
) -> IndexedLayouts:
    """An index in memory, of the parts that ``IndexHead`` describes; ``body`` has the layouts as JSON by id."""
    return IndexedLayouts(IndexHead(stamp, names, ends, zlib.crc32(body), digests), body)


def load(directory: Path, key: str, stamp: Stamp) -> IndexedLayouts | None:
    """The index kept under ``key`` if it is sound and made of what ``stamp`` says; ``None`` otherwise."""
    path = directory / (key + SUFFIX)
    try:
        found = parsed(path.read_bytes())
    except OSError:
        return None
    if found is None or found.head.stamp != stamp:
        return None
    with suppress(OSError):
        os.utime(path)  # the least recently used index is the first to go
    return found


def prefixed(magic: bytes, head: bytes) -> bytes:
    """The encoded ``head`` of a file of the cache behind what ``head_and_body`` checks it by."""
    return _PREFIX.pack(magic, zlib.crc32(head), len(head)) + head


def head_and_body(content: bytes | memoryview, magic: bytes) -> tuple[memoryview, memoryview]:
    """The encoded head and what is behind it; raises ``ValueError`` where they are not what was written."""
    if len(content) < _PREFIX.size:
        raise ValueError(len(content))
    found, checksum, length = _PREFIX.unpack_from(content)
    whole = memoryview(content)  # a copy of it would take as long as reading it
    end = _PREFIX.size + length
    if found != magic or zlib.crc32(whole[_PREFIX.size : end]) != checksum:
        raise ValueError(found)
    return whole[_PREFIX.size : end], whole[end:]


def parsed(content: bytes) -> IndexedLayouts | None:
    """The index that ``encoded`` made these bytes of; ``None`` where checksums or the version say otherwise."""
    try:
        encoded_head, body = head_and_body(content, FORMAT)
        head = msgspec.msgpack.decode(encoded_head, type=IndexHead)
    except (ValueError, msgspec.MsgspecError):
        return None
    return IndexedLayouts(head, body) if zlib.crc32(body) == head.body_crc else None


def encoded(layouts: IndexedLayouts) -> tuple[bytes, bytes | memoryview]:
    """The parts of the file: the head with its prefix, and the body."""
    return prefixed(FORMAT, msgspec.msgpack.encode(layouts.head)), layouts.body


def save(directory: Path, key: str, layouts: IndexedLayouts) -> None:
    """Keep an index under ``key``; readers see the old file or the new one, never a part.

    Raises ``OSError`` when the directory cannot be written; nothing is left behind then.
    """
    keep(directory, key + SUFFIX, encoded(layouts))


def keep(directory: Path, name: str, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file of the cache in one step, for its user alone, then make room in the directory.

    Raises ``OSError`` and leaves nothing behind then.
    """
    files.replace_by_parts(directory / name, parts, 0o600, lasting=False)  # what is damaged is recognised
    with suppress(OSError):
        _clear(directory, name)


def _clear(directory: Path, newest: str) -> None:
    """Remove what killed processes left, and the least recently used files beyond ``MOST_CACHED_BYTES``."""
    kept, long_ago = [], time.time() - LEFTOVER_SECONDS
    with os.scandir(directory) as entries:  # there may be thousands
        for entry in entries:
            if entry.name.endswith(KEPT):
                kept.append((entry.stat().st_mtime, entry.stat().st_size, entry.name))
            elif entry.name.endswith(files.UNFINISHED) and entry.stat().st_mtime < long_ago:
                (directory / entry.name).unlink(missing_ok=True)
    kept.sort(reverse=True)
    for (_, _, name), total in zip(kept, accumulate(size for _, size, _ in kept), strict=True):
        if total > MOST_CACHED_BYTES and name != newest:
            (directory / name).unlink(missing_ok=True)


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
    damaged = (
        f"{path} is a saved index that is truncated, damaged, or of another version; write it again with `linesmith"
        " index -o`"
    )
    try:
        line, _, rest = path.read_bytes()[len(MAGIC) :].partition(b"\n")
        saved = msgspec.json.decode(line[:_MOST_HEAD_BYTES], type=SavedIndex)
        layouts = parsed(rest)
        if layouts is None:
            raise ElfError(damaged)
        head, count = layouts.head, len(layouts.head.ends)
        known = all(0 <= number < count for ids in head.names.values() for number in ids)
        if not known or len(head.digests) % max(count, 1):  # every record has as long a digest
            raise ElfError(damaged)
        wrong = flaw(layouts)
    except (OSError, UnicodeDecodeError, RecursionError, msgspec.MsgspecError) as error:
        raise ElfError(damaged) from error
    if wrong is not None:
        raise ElfError(f"{path} is a damaged index: {wrong}; write it again with `linesmith index -o`")
    return msgspec.structs.replace(saved, identity=replace(saved.identity, path=str(path))), layouts
