# SPDX-License-Identifier: GPL-2.0-or-later
"""Names for the code and data addresses of a guest's kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.model import Profile
from linesmith.plugins.machines.symbols import SymbolTable, code_symbols, data_symbols, kallsyms_symbols
from linesmith.plugins.recordings.apart import set_apart
from linesmith.plugins.recordings.profile import Place

_KERNEL_HALF = 1 << 63


@dataclass(frozen=True, slots=True)
class KernelNames:
    """Symbols of a kernel; ``remarks`` say what is missing."""

    code: SymbolTable
    data: SymbolTable
    object_file: str | None
    remarks: tuple[str, ...] = ()

    def __call__(self, address: int) -> Place:
        """The function at a kernel address; nothing for the addresses of programs."""
        found = self.code.at(address) if address >= _KERNEL_HALF else None
        return Place(found.name if found else None, self.object_file if found else None)

    def with_apart(self, profile: Profile) -> Profile:
        """The profile with the lines of the tick and of the scheduler marked, by variables and functions."""
        return replace(profile, lines=tuple(set_apart(line, self._variable(line.address)) for line in profile.lines))

    def _variable(self, address: int | None) -> str | None:
        found = self.data.at(address) if address is not None else None
        return found.name if found else None


def of_vmlinux(vmlinux: Path) -> KernelNames:
    """Names from the ELF file of the kernel; raises ``ElfError``."""
    return KernelNames(SymbolTable(code_symbols(vmlinux)), SymbolTable(data_symbols(vmlinux)), vmlinux.name)


def of_kallsyms(text: str) -> KernelNames:
    """Names from the guest's own ``/proc/kallsyms``."""
    table = SymbolTable(kallsyms_symbols(text))
    missing = "no --vmlinux was given: functions are named by the guest's /proc/kallsyms, variables and objects are not"
    nothing = "no --vmlinux was given and the guest has no /proc/kallsyms: code is shown by address only"
    if not table.symbols:
        return KernelNames(table, SymbolTable(()), None, (nothing,))
    return KernelNames(table, SymbolTable(()), "vmlinux", (missing,))
