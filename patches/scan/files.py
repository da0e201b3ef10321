# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that a scan reads, each once: what they hold, and a digest of it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from linesmith.patches.confinement import SYSTEM
from linesmith.patches.scan.header_text import HeaderText, header_text
from linesmith.patches.source_bytes import source_bytes

_WORD = re.compile(rb"[A-Za-z_]\w*")


class Files:
    """Contents and digests, kept for the time of one scan so that every part of it sees the same bytes."""

    def __init__(self, roots: Iterable[Path]) -> None:
        """``roots`` are the folders whose files may be read besides the system's: records can name any file."""
        self._roots = tuple(dict.fromkeys(root.resolve() for root in (*roots, *map(Path, SYSTEM))))
        self._contents: dict[str, bytes | None] = {}
        self._digests: dict[str, bytes] = {}
        self._words: dict[str, frozenset[bytes]] = {}
        self._texts: dict[str, HeaderText] = {}

    def content(self, path: str) -> bytes | None:
        """The bytes of the file; ``None`` where there is none, or where it is no source for its size."""
        if path not in self._contents:
            self._contents[path] = self._read(path)
        return self._contents[path]

    def _read(self, path: str) -> bytes | None:
        place = Path(os.path.realpath(path))
        root = next((root for root in self._roots if place.is_relative_to(root)), None)
        return None if root is None else source_bytes(root, place.relative_to(root))

    def digest(self, path: str) -> bytes:
        """A digest of the path and its content."""
        found = self._digests.get(path)
        if found is None:
            content = self.content(path)
            told = b"absent" if content is None else b"%d\0" % len(content) + content
            name = path.encode("utf-8", "surrogateescape")
            found = self._digests[path] = hashlib.blake2b(name + b"\0" + told, digest_size=16).digest()
        return found

    def words(self, path: str) -> frozenset[bytes]:
        """Every identifier in the file, comments included."""
        found = self._words.get(path)
        if found is None:
            found = self._words[path] = frozenset(_WORD.findall(self.content(path) or b""))
        return found

    def text(self, path: str) -> HeaderText:
        """The file without comments, its macros apart."""
        found = self._texts.get(path)
        if found is None:
            found = self._texts[path] = header_text(self.content(path) or b"")
        return found

    def line(self, path: str, number: int) -> str:
        """Line ``number`` (from 1) without the blanks at its ends, empty where the file has none."""
        lines = (self.content(path) or b"").split(b"\n", number)
        return lines[number - 1].decode("utf-8", "replace").strip() if 0 < number <= len(lines) else ""


def digest_of(files: Files, paths: Iterable[str]) -> str:
    """One digest of several files."""
    return hashlib.blake2b(b"".join(map(files.digest, paths)), digest_size=16).hexdigest()
