# SPDX-License-Identifier: GPL-2.0-or-later
"""Where functions of the kernel began at run time, which tells how far KASLR moved it."""

from __future__ import annotations

from collections import Counter

from linesmith.plugins.profiles.script_line import Place

_KERNEL_FILES = ("[kernel.kallsyms]", "[kernel.vmlinux]")
# x86-64 has its kernel in the last 2 GiB and moves it by few distances, all of which can be tried: that is surer, for
# a static function may be there twice.
_X86_KERNEL = 0xFFFFFFFF80000000
_KERNEL = 1 << 63


class SymbolStarts:
    """The starts of the kernel's functions among the samples."""

    def __init__(self) -> None:
        self._starts: dict[str, int] = {}
        self._times: Counter[str] = Counter()

    def hear(self, place: Place) -> None:
        """Take in where a sample's function begins; one that begins at two places is of no use."""
        if place.start is None or place.symbol is None or not place.object_file:
            return
        if _KERNEL <= place.start < _X86_KERNEL and place.object_file.startswith(_KERNEL_FILES):
            same = self._starts.setdefault(place.symbol, place.start) == place.start
            self._times[place.symbol] += 1 if same else -(1 << 40)

    @property
    def anchor(self) -> tuple[str, int] | None:
        """The function that was sampled most, with its start; ``None`` where none is known, and on x86."""
        symbol, times = max(self._times.items(), key=lambda one: (one[1], one[0]), default=("", 0))
        return (symbol, self._starts[symbol]) if times > 0 else None
