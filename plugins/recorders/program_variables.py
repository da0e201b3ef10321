# SPDX-License-Identifier: GPL-2.0-or-later
"""Which variables of a recorded program lie on the lines of its profile: by its symbols, with types by its DWARF."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.model import CACHE_LINE_BYTES, ObjectArea, ObjectKind, Profile
from linesmith.plugins.machines.elf_image import ElfImage
from linesmith.plugins.machines.mappings import Mapping, load_address
from linesmith.plugins.machines.symbols import Symbol, data_symbols
from linesmith.plugins.recorders.scoped_names import scoped_name

# The objects that a variable is made of, at the addresses where it is linked.
Typing = Callable[[Symbol], tuple[ObjectArea, ...]]


def variables(profile: Profile, program: ElfImage, mappings: Sequence[Mapping]) -> tuple[ObjectArea, ...]:
    """The program's own variables on the profile's lines, by address; without drgn their types are not told."""
    start = load_address(mappings, program.path)
    if start is None:
        return ()
    moved = start - program.base
    typing = _typing(program.path)
    met = sorted(_met(profile, program.path, moved), key=_address)
    return tuple(replace(area, address=area.address + moved) for one in met for area in typing(one))


def _address(symbol: Symbol) -> int:
    return symbol.address


def _met(profile: Profile, path: Path, moved: int) -> Iterator[Symbol]:
    """Symbols, where they are linked, that reach into a line of the profile; one an address."""
    lines = sorted(line.address for line in profile.lines if line.address is not None)
    line_bytes = profile.recording.line_bytes if profile.recording else CACHE_LINE_BYTES
    for one in {one.address: one for one in data_symbols(path) if one.size}.values():
        begin = one.address + moved
        first = bisect_right(lines, begin - line_bytes)
        if first < len(lines) and lines[first] < begin + one.size:
            yield one


def _typing(path: Path) -> Typing:
    """Answers of which records a variable is made, by DWARF."""
    try:
        import drgn

        from linesmith.plugins.snapshots.variables import shapes_of
    except ImportError:
        return _untyped
    program = drgn.Program(drgn.host_platform)
    program.extra_module(path.name, create=True).try_file(path)

    def typed(symbol: Symbol) -> tuple[ObjectArea, ...]:
        name = scoped_name(symbol.name)
        try:
            variable = program.variable(name)
        except (LookupError, drgn.BadDataError):
            return _untyped(symbol)
        # A static variable shares its name with others; only the address tells which one DWARF describes.
        if variable.address_ != symbol.address:
            return _untyped(symbol)
        return tuple(
            ObjectArea(
                kind=ObjectKind.GLOBAL,
                name=f"{name}{shape.path}",
                address=symbol.address + shape.offset,
                size=shape.size,
                stride=shape.size,
                count=shape.count,
                types=shape.types,
            )
            for shape in shapes_of(variable.type_, symbol.size)
            if shape.size
        )

    return typed


def _untyped(symbol: Symbol) -> tuple[ObjectArea, ...]:
    return (ObjectArea(ObjectKind.GLOBAL, scoped_name(symbol.name), symbol.address, symbol.size, symbol.size),)
