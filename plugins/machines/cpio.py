# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the archive that the kernel unpacks as its first file system (cpio, new ASCII form).

Source: Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass

_TRAILER = "TRAILER!!!"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, folder, symbolic link (``content`` is its target) or device of the archive.

    ``name`` is the path in the guest without its leading slash; ``mode`` holds the kind and the permissions.
    """

    name: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def folder(name: str) -> Entry:
    """A folder that all may enter."""
    return Entry(name, stat.S_IFDIR | 0o755)


def file(name: str, content: bytes, permissions: int) -> Entry:
    """A plain file."""
    return Entry(name, stat.S_IFREG | permissions, content)


def link(name: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(name, stat.S_IFLNK | 0o777, target.encode("utf-8", "surrogateescape"))


def archive(entries: Iterable[Entry]) -> bytes:
    """The entries as one archive, not compressed: the kernel would unpack it under emulation."""
    parts = [_packed(number, entry) for number, entry in enumerate(entries, 1)]
    return b"".join((*parts, _packed(0, Entry(_TRAILER, 0))))


def _packed(number: int, entry: Entry) -> bytes:
    name = entry.name.encode("utf-8", "surrogateescape") + b"\0"
    major, minor = entry.device
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (number, entry.mode, 0, 0, links, 0, len(entry.content), 0, 0, major, minor, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % value for value in fields)
    return _padded(header + name) + _padded(entry.content)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)
