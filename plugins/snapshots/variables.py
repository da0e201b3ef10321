# SPDX-License-Identifier: GPL-2.0-or-later
"""Global and per-CPU variables, and those of modules: the symbol at an address, and the record type DWARF gives it.

drgn finds symbols by address, too, but those of vmlinux in 2 ms each, and its ``SymbolIndex`` has none without a size.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import drgn
from drgn.helpers.linux.boot import kaslr_offset
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.kallsyms import module_kallsyms
from drgn.helpers.linux.module import for_each_module, module_address_regions

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.pointers import pointees, record_name

# Symbols may lie within others (a member that assembly names), but never deeply.
_LOOK_BACK = 8


@dataclass(frozen=True, slots=True, order=True)
class DataSymbol:
    """A symbol of ``size`` bytes; 0 where the assembler gave none."""

    address: int
    size: int
    name: str


class SymbolMap:
    """Symbols by address."""

    def __init__(self, symbols: Iterable[DataSymbol]) -> None:
        """Of several at one address the largest counts, and of equal ones the first by name."""
        largest: dict[int, DataSymbol] = {}
        for symbol in sorted(symbols, key=lambda symbol: (symbol.address, -symbol.size, symbol.name)):
            largest.setdefault(symbol.address, symbol)
        self._symbols = tuple(largest.values())
        self._starts = tuple(largest)

    def at(self, address: int) -> DataSymbol | None:
        """The innermost symbol that covers ``address``; one without a size reaches to the next symbol."""
        index = bisect_right(self._starts, address)
        before = self._symbols[max(index - _LOOK_BACK, 0) : index]
        covering = next((symbol for symbol in reversed(before) if address < symbol.address + symbol.size), None)
        if covering is not None or not before or before[-1].size or index == len(self._symbols):
            return covering
        return DataSymbol(before[-1].address, self._starts[index] - before[-1].address, before[-1].name)

    def gap(self, address: int, within: range) -> range:
        """The addresses of ``within`` around ``address`` up to the next symbols on both sides."""
        index = bisect_right(self._starts, address)
        start = max((one.address + one.size for one in self._symbols[max(index - _LOOK_BACK, 0) : index]), default=0)
        end = self._starts[index] if index < len(self._starts) else within.stop
        return range(max(start, within.start), min(end, within.stop))


@dataclass(frozen=True, slots=True)
class VariableShape:
    """What a variable, or its part called ``path``, is made of: ``count`` elements of ``size`` bytes.

    They are records where ``types`` names one. ``offset`` is that of the part, in bytes.
    """

    types: tuple[str, ...]
    size: int
    count: int
    path: str = ""
    offset: int = 0

    def holds(self, offset: int) -> bool:
        """Whether byte ``offset`` of the variable belongs to this part."""
        return self.offset <= offset < self.offset + self.size * self.count


def image_range(program: drgn.Program) -> range:
    """The addresses of the kernel image; what lies behind ``_end`` is given back during boot."""
    start, end = program.main_module().address_ranges[0]
    # This symbol is in no section, so it may be as linked, without the random offset of the kernel.
    last = program.symbol("_end").address
    return range(start, next((at for at in (last, last + kaslr_offset(program)) if start < at < end), end))


class Variables:
    """Variables of the kernel image and of its CPUs."""

    def __init__(self, program: drgn.Program) -> None:
        """Reads the symbols of ``vmlinux`` and where the CPUs' copies of the per-CPU section begin."""
        self._program = program
        data = (drgn.SymbolKind.OBJECT, drgn.SymbolKind.UNKNOWN)
        self._symbols = SymbolMap(
            DataSymbol(symbol.address, symbol.size, symbol.name) for symbol in program.symbols() if symbol.kind in data
        )
        self._image = image_range(program)
        self._copies = tuple(_copies(program))
        self._shapes_of = cache(self._shapes)
        self._pointees_in = cache(self._pointees)

    def image(self, address: int) -> ObjectArea | None:
        """The variable of the kernel image at ``address``."""
        symbol = self._symbols.at(address) if address in self._image else None
        return self._area(symbol, ObjectKind.GLOBAL, address, address) if symbol else None

    def alias(self, address: int, linked: int) -> ObjectArea | None:
        """The variable that the image holds at ``linked``, seen through its alias at ``address``."""
        area = self.image(linked)
        if area is None:
            return None
        return replace(area, address=area.address + address - linked, detail="seen through the direct map")

    def per_cpu(self, address: int) -> ObjectArea | None:
        """The CPU's copy of a static per-CPU variable at ``address``."""
        for cpu, copy, start in self._copies:
            if address in copy:
                linked = address - copy.start + start
                symbol = self._symbols.at(linked)
                if symbol is not None:
                    return self._area(symbol, ObjectKind.PER_CPU, address, linked, cpu)
        return None

    def sections(self) -> tuple[range, ...]:
        """Addresses of the image behind its code, and of the CPUs' copies of the per-CPU section."""
        starts = (symbol.address for symbol in self._program.symbols("__start_rodata"))
        first = next((start for start in starts if start in self._image), self._image.start)
        return (range(first, self._image.stop), *(copy for _, copy, _ in self._copies))

    def name_at(self, address: int) -> str | None:
        """The name of the variable at ``address``."""
        symbol = self._symbols.at(self._linked(address))
        return symbol.name if symbol else None

    def is_whole(self, address: int, size: int) -> bool:
        """Whether a variable of just ``size`` bytes lies at ``address``."""
        linked = self._linked(address)
        symbol = self._symbols.at(linked)
        return symbol is not None and (symbol.address, symbol.size) == (linked, size)

    def per_cpu_pointer(self, address: int, cpu: int) -> int:
        """The pointer (``__percpu``) whose copy for ``cpu`` lies at ``address``."""
        offsets = (copy.start - start for owner, copy, start in self._copies if owner == cpu)
        return (address - next(offsets, 0)) % (1 << 64)

    def pointees(self, address: int) -> tuple[str, ...]:
        """Records that the pointer in a variable at ``address`` is declared to point to."""
        address = self._linked(address)
        symbol = self._symbols.at(address)
        return self._pointees_in(symbol, address - symbol.address) if symbol else ()

    def _pointees(self, symbol: DataSymbol, offset: int) -> tuple[str, ...]:
        kind = self._type_of(symbol)
        return tuple(pointees(kind, offset)) if kind else ()

    def _linked(self, address: int) -> int:
        """Where the symbol table has the variable at ``address``, which may be one CPU's copy."""
        return next((address - copy.start + start for _, copy, start in self._copies if address in copy), address)

    def _area(
        self, symbol: DataSymbol, kind: ObjectKind, address: int, linked: int, cpu: int | None = None
    ) -> ObjectArea:
        """The variable that the symbol table has at ``linked``, as it lies at ``address``."""
        offset = linked - symbol.address
        whole = VariableShape((), symbol.size, 1)
        shape = next((part for part in self._shapes_of(symbol) if part.holds(offset)), whole)
        name, start = symbol.name + shape.path, address - offset + shape.offset
        return ObjectArea(kind, name, start, shape.size, shape.size, shape.count, shape.types, cpu=cpu)

    def _shapes(self, symbol: DataSymbol) -> tuple[VariableShape, ...]:
        kind = self._type_of(symbol)
        return tuple(shapes_of(kind, symbol.size)) if kind else ()

    def _type_of(self, symbol: DataSymbol) -> drgn.Type | None:
        try:
            variable = self._program.variable(symbol.name)
        except (LookupError, drgn.BadDataError):
            return None
        # A static variable shares its name with others; only the address tells which one DWARF describes.
        return variable.type_ if variable.address_ == symbol.address else None


def shapes_of(kind: drgn.Type, size: int) -> Iterator[VariableShape]:
    """The shape of a variable of type ``kind`` with ``size`` bytes; of its members, where its record has no name."""
    plain = kind
    while plain.kind == drgn.TypeKind.TYPEDEF:
        plain = plain.type
    if plain.kind == drgn.TypeKind.STRUCT and plain.is_complete() and record_name(kind) is None:
        for member in plain.members:
            if member.name and member.bit_field_size is None:
                inner = _shape(member.type, drgn.sizeof(member.type))
                yield replace(inner, path=f".{member.name}", offset=member.offset)
    else:
        yield _shape(kind, size)


def _shape(kind: drgn.Type, size: int) -> VariableShape:
    is_array = False
    while kind.kind == drgn.TypeKind.ARRAY or (kind.kind == drgn.TypeKind.TYPEDEF and record_name(kind) is None):
        is_array |= kind.kind == drgn.TypeKind.ARRAY
        kind = kind.type
    name = record_name(kind)
    element = drgn.sizeof(kind) if name is not None and kind.is_complete() else 0
    if name is not None and 0 < element < size and not is_array:
        return VariableShape((name,), size, 1)  # it ends with an array that DWARF gives no length
    if name is None or not element or size % element:
        return VariableShape((), size, 1)
    return VariableShape((name,), element, size // element)


def _copies(program: drgn.Program) -> list[tuple[int, range, int]]:
    """CPU, the addresses of its copy of the per-CPU section, and the section's own address."""
    try:
        offsets = program["__per_cpu_offset"]
    except LookupError:
        return []
    start, end = program.symbol("__per_cpu_start").address, program.symbol("__per_cpu_end").address
    bases = ((cpu, (offsets[cpu].value_() + start) % (1 << 64)) for cpu in for_each_possible_cpu(program))
    return [(cpu, range(base, base + end - start), start) for cpu, base in bases]


class Modules:
    """The memory of all modules; their records are not known, for vmlinux does not describe them."""

    def __init__(self, program: drgn.Program) -> None:
        """Reads the modules' regions and symbols; a kernel without modules has none."""
        self._modules = []
        for module in for_each_module(program) if program.symbols("modules") else ():
            regions = tuple(range(start, start + size) for start, size in module_address_regions(module) if size)
            symbols = SymbolMap(
                DataSymbol(symbol.address, symbol.size, symbol.name)
                for symbol in module_kallsyms(module)
                if symbol.kind == drgn.SymbolKind.OBJECT and symbol.size
            )
            self._modules.append((module.name.string_().decode("utf-8", "backslashreplace"), regions, symbols))

    def area(self, address: int) -> ObjectArea | None:
        """The variable at ``address``, or the part of the module that no symbol covers."""
        for name, regions, symbols in self._modules:
            for region in regions:
                if address not in region:
                    continue
                symbol = symbols.at(address)
                if symbol:
                    where, size, detail = symbol.address, symbol.size, f"of the module {name}"
                    return ObjectArea(ObjectKind.GLOBAL, symbol.name, where, size, size, detail=detail)
                part = symbols.gap(address, region)
                return ObjectArea(ObjectKind.VMALLOC, f"module {name}", part.start, len(part), len(part))
        return None
