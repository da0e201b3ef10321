# SPDX-License-Identifier: GPL-2.0-or-later
"""Which variables of a recorded program lie on the lines of its profile: by its symbols, with types by its DWARF."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from linesmith.analyzer.model import CACHE_LINE_BYTES, ObjectArea, ObjectKind, Profile
from linesmith.plugins.machines.elf_image import ElfImage
from linesmith.plugins.machines.mappings import Mapping, load_address
from linesmith.plugins.machines.symbols import Symbol, data_symbols

Typing = Callable[[Symbol], tuple[tuple[str, ...], int]]


def variables(profile: Profile, program: ElfImage, mappings: Sequence[Mapping]) -> tuple[ObjectArea, ...]:
    """The program's own variables on the profile's lines, by address; without drgn their types are not told."""
    start = load_address(mappings, program.path)
    if start is None:
        return ()
    moved = start - program.base
    typing = _typing(program.path)
    return tuple(_area(one, moved, typing) for one in sorted(_met(profile, program.path, moved), key=_address))


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


def _area(symbol: Symbol, moved: int, typing: Typing) -> ObjectArea:
    types, stride = typing(symbol)
    place = symbol.address + moved
    return ObjectArea(ObjectKind.GLOBAL, symbol.name, place, stride, stride, symbol.size // stride, types)


def _typing(path: Path) -> Typing:
    """Answers the record types of a variable and the size of one, an element where it is an array."""
    try:
        import drgn

        from linesmith.plugins.snapshots.variables import shape_of
    except ImportError:
        return _untyped
    program = drgn.Program(drgn.host_platform)
    program.extra_module(path.name, create=True).try_file(path)

    def typed(symbol: Symbol) -> tuple[tuple[str, ...], int]:
        try:
            variable = program.variable(symbol.name)
        except (LookupError, drgn.BadDataError):
            return _untyped(symbol)
        # A static variable shares its name with others; only the address tells which one DWARF describes.
        if variable.address_ != symbol.address:
            return _untyped(symbol)
        shape = shape_of(variable.type_, symbol.size)
        return shape.types, shape.size

    return typed


def _untyped(symbol: Symbol) -> tuple[tuple[str, ...], int]:
    return (), symbol.size
