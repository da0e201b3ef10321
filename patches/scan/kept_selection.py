# SPDX-License-Identifier: GPL-2.0-or-later
"""Which units count for a record, kept in the cache: it stays true as long as no file and no command changes.

Nor must what chooses them change, all of which is in this package: its own text is part of the name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

import msgspec

from linesmith.analyzer.cache import cache_directory
from linesmith.analyzer.errors import CacheError
from linesmith.analyzer.store import keep
from linesmith.patches.scan.files import Files, digest_of
from linesmith.patches.scan.include_walk import IncludeWalk
from linesmith.patches.scan.kept import key_of
from linesmith.patches.scan.selection import selected
from linesmith.patches.scan.unit import Database, Unit

SUFFIX = ".units"


class _Chosen(msgspec.Struct, frozen=True, array_like=True):
    """The keys of the units that count; ``digest`` is that of all units and of the ``files`` that decided so."""

    digest: str
    keys: frozenset[str]
    files: tuple[str, ...]


_DECODER = msgspec.json.Decoder(_Chosen)


@cache
def stamp() -> str:
    """What changes when the way of choosing does, or the format of what is kept."""
    told = hashlib.blake2b(digest_size=12)
    for module in sorted(Path(__file__).parent.glob("*.py")):
        told.update(module.read_bytes())
    return told.hexdigest()


class Selections:
    """The selections of one build."""

    def __init__(self, database: Database, files: Files) -> None:
        self.database = database
        self.files = files
        self.keys = {key_of(unit): unit for unit in database.units}

    def units(self, record: str) -> tuple[Unit, ...]:
        """The units that count for ``record``."""
        name = self.database.cache_name(record, stamp()) + SUFFIX
        with suppress(CacheError, OSError, msgspec.MsgspecError):
            kept = _DECODER.decode((cache_directory() / name).read_bytes())
            if kept.digest == self._digest(kept.files):
                return tuple(unit for key, unit in self.keys.items() if key in kept.keys)
        chosen = selected(self._followed, record, self.files)
        self._keep(name, chosen)
        return chosen

    @cached_property
    def _followed(self) -> tuple[Unit, ...]:
        return tuple(IncludeWalk(self.files).followed(self.database.units))

    @cached_property
    def _everything(self) -> tuple[str, ...]:
        return tuple(sorted({file for unit in self._followed for file in (*(unit.includes or ()), unit.file)}))

    def _digest(self, names: Sequence[str]) -> str:
        told = (digest_of(self.files, names), *self.keys)
        return hashlib.blake2b("".join(told).encode(), digest_size=16).hexdigest()

    def _keep(self, name: str, chosen: Sequence[Unit]) -> None:
        keys = frozenset(key_of(unit) for unit in chosen)
        kept = _Chosen(self._digest(self._everything), keys, self._everything)
        with suppress(CacheError, OSError):
            keep(cache_directory(), name, (msgspec.json.encode(kept),))
