# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map of a file: from the cache, or made on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer import dwarf
from linesmith.analyzer.access import kept
from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.building import build
from linesmith.analyzer.access.raw import RawAccesses
from linesmith.analyzer.errors import CodeMissing, DebugInfoMissing
from linesmith.analyzer.model import ElfIdentity

Progress = Callable[[int, int], None]

MACHINES = ("x86-64", "aarch64")


@dataclass(frozen=True, slots=True, eq=False)
class AccessReading:
    """The map of one file; ``cached`` tells that it was at hand, ``remarks`` are whole sentences for the user."""

    identity: ElfIdentity
    accesses: AccessMap
    cached: bool
    remarks: tuple[str, ...] = ()


def read_accesses(path: Path, progress: Progress = dwarf.unwatched) -> AccessReading:
    """What every instruction of ``path`` touches; ``progress`` gets (done, total) while the map is made.

    The ids of layouts are those of ``dwarf.read_layouts``. Raises ``ElfError``, ``DebugInfoMissing``,
    ``DebugInfoDamaged``, or ``CodeMissing`` where there is no code to look at. A map that cannot be kept is a remark,
    no error.
    """
    identity = dwarf.identify(path)
    _check(identity)
    place = dwarf.cache_place(identity, "DWARF")
    accesses = kept.load(place.directory, place.key, place.stamp) if place.directory else None
    if accesses is not None:
        return AccessReading(identity, accesses, cached=True)
    accesses = build(_raw(path, progress), dwarf.read_layouts(path).layouts)
    remarks = dwarf.kept(place, lambda directory: kept.save(directory, place.key, place.stamp, accesses))
    return AccessReading(identity, accesses, cached=False, remarks=remarks)


def accesses_if_any(path: Path) -> AccessMap | None:
    """The access map of ``path``; ``None`` where none can be made, so that weaker evidence must do."""
    try:
        return read_accesses(path).accesses
    except (CodeMissing, DebugInfoMissing):
        return None


def _check(identity: ElfIdentity) -> None:
    """Raise what can be said without reading the file."""
    if identity.kind == "BTF" or (identity.has_btf and not identity.has_dwarf):
        raise DebugInfoMissing(
            f"{identity.path}: there is BTF but no DWARF, and only DWARF tells where variables are; give the file "
            "that was built with -g, or install its debug package"
        )
    if identity.machine not in MACHINES:
        raise CodeMissing(
            f"{identity.path}: code for {identity.machine} cannot be followed, only that for "
            f"{' and '.join(MACHINES)}; linesmith layout reads its types all the same"
        )


def _raw(path: Path, progress: Progress) -> RawAccesses:
    table = dwarf.map_accesses(path, progress)
    functions = table.functions
    if not functions:
        raise CodeMissing(f"{path}: there is no code in it; give the file that runs rather than its debug file")
    return RawAccesses(
        address=table.address,
        function=table.function,
        inlined=table.inlined,
        file=table.file,
        line=table.line,
        type=table.type,
        offset=table.offset,
        width=table.width,
        kind=table.kind,
        outcome=table.outcome,
        variable=table.variable,
        functions=functions,
        function_low=table.function_low,
        function_high=table.function_high,
        inline_chains=table.inline_chains,
        files=table.files,
        types=table.types,
        type_layout=table.type_layout,
        variables=table.variables,
    )
