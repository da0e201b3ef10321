# SPDX-License-Identifier: GPL-2.0-or-later
"""Sizes of a kernel's records by name."""

from __future__ import annotations

from functools import cache

import drgn


class KernelRecords:
    """Records as DWARF declares them; where several share a name, any one of them."""

    def __init__(self, program: drgn.Program) -> None:
        """Looks records up as they are asked for."""
        self._program = program
        self.size = cache(self._size)
        self.grows = cache(self._grows)

    def _size(self, record: str) -> int | None:
        kind = self._declared(record)
        return kind.size if kind is not None else None

    def _grows(self, record: str) -> bool:
        kind = self._declared(record)
        if kind is None or not kind.members:
            return False
        last = kind.members[-1].type
        return last.kind == drgn.TypeKind.ARRAY and not last.length

    def _declared(self, record: str) -> drgn.Type | None:
        for tag in ("struct", "union"):
            try:
                kind = self._program.type(f"{tag} {record}")
            except (LookupError, drgn.BadDataError):
                continue
            if kind.is_complete():
                return kind
        return None
