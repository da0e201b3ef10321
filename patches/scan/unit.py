# SPDX-License-Identifier: GPL-2.0-or-later
"""One compilation of a build, as it was recorded."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Unit:
    """The C file ``file`` as compiled in ``directory`` by ``command``: shell text, or words.

    All paths are absolute. ``origin`` is the file that records it; ``includes`` are the files that the compiler read
    beside it, ``None`` where that is not known.
    """

    file: str
    directory: Path
    command: str | tuple[str, ...]
    origin: Path
    includes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Database:
    """The units of one build; ``title`` is what a user knows the database by.

    ``tree`` is the root of its sources, ``build`` where its objects are, ``image`` a copy of the tree, made of
    links, that units may be compiled from. ``builds`` are the directories that hold generated headers.
    """

    tree: Path
    build: Path
    units: tuple[Unit, ...]
    title: str
    image: Path | None = None
    builds: tuple[Path, ...] = ()

    def cache_name(self, *further: str) -> str:
        """A file's name for what is kept of this build and what ``further`` names."""
        text = "\0".join((str(self.tree), str(self.build), *further))
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]
