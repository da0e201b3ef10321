# SPDX-License-Identifier: GPL-2.0-or-later
"""Which units count for a record, kept in the cache: it stays true as long as no file and no command changes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from linesmith.analyzer.store import cache_directory, keep
from linesmith.patches.scan.files import Files, digest_of
from linesmith.patches.scan.kept import key_of
from linesmith.patches.scan.selection import selected
from linesmith.patches.scan.unit import Database, Unit

SUFFIX = ".units"


class _Chosen(msgspec.Struct, frozen=True, array_like=True):
    """The keys of the units that count, and the digest of all that decided so."""

    digest: str
    keys: frozenset[str]


_DECODER = msgspec.json.Decoder(_Chosen)


class Selections:
    """The selections of one build; what decides them is looked at once."""

    def __init__(self, database: Database, files: Files) -> None:
        self.database = database
        self.files = files
        self.keys = {unit: key_of(unit) for unit in database.units}
        everything = {file for unit in database.units for file in (*(unit.includes or ()), unit.file)}
        told = digest_of(files, sorted(everything)) + "".join(self.keys.values())
        self.digest = hashlib.blake2b(told.encode(), digest_size=16).hexdigest()

    def units(self, record: str) -> tuple[Unit, ...]:
        """The units that count for ``record``."""
        name = self.database.cache_name(record) + SUFFIX
        with suppress(OSError, msgspec.MsgspecError):
            kept = _DECODER.decode((cache_directory() / name).read_bytes())
            if kept.digest == self.digest:
                return tuple(unit for unit, key in self.keys.items() if key in kept.keys)
        chosen = selected(self.database.units, record, self.files)
        self._keep(name, chosen)
        return chosen

    def _keep(self, name: str, chosen: Sequence[Unit]) -> None:
        kept = _Chosen(self.digest, frozenset(self.keys[unit] for unit in chosen))
        with suppress(OSError):
            keep(cache_directory(), name, (msgspec.json.encode(kept),))
