# SPDX-License-Identifier: GPL-2.0-or-later
"""Variables of loaded modules, by the symbols that the kernel keeps of them."""

from __future__ import annotations

from collections.abc import Iterator

import drgn
from drgn.helpers.linux.kallsyms import module_kallsyms
from drgn.helpers.linux.module import for_each_module, module_address_regions

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.symbols import DataSymbol, SymbolMap


class Modules:
    """The memory of all modules; their records are not known, for vmlinux does not describe them."""

    def __init__(self, program: drgn.Program) -> None:
        """Reads the modules' regions and symbols; a kernel without modules has none."""
        self._modules = tuple(_modules(program))

    def area(self, address: int) -> ObjectArea | None:
        """The variable at ``address``, or the part of the module that no symbol covers."""
        for name, regions, symbols in self._modules:
            for region in regions:
                if address in region:
                    symbol = symbols.at(address)
                    return _variable(name, symbol) if symbol else _unnamed(name, symbols.gap(address, region))
        return None


def _variable(module: str, symbol: DataSymbol) -> ObjectArea:
    detail = f"of the module {module}"
    return ObjectArea(ObjectKind.GLOBAL, symbol.name, symbol.address, symbol.size, symbol.size, detail=detail)


def _unnamed(module: str, part: range) -> ObjectArea:
    return ObjectArea(ObjectKind.VMALLOC, f"module {module}", part.start, len(part), len(part))


def _modules(program: drgn.Program) -> Iterator[tuple[str, tuple[range, ...], SymbolMap]]:
    if not program.symbols("modules"):
        return
    for module in for_each_module(program):
        regions = tuple(range(start, start + size) for start, size in module_address_regions(module) if size)
        yield module.name.string_().decode("utf-8", "backslashreplace"), regions, SymbolMap(_data_symbols(module))


def _data_symbols(module: drgn.Object) -> Iterator[DataSymbol]:
    for symbol in module_kallsyms(module):
        if symbol.kind == drgn.SymbolKind.OBJECT and symbol.size:
            yield DataSymbol(symbol.address, symbol.size, symbol.name)
