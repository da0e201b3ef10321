# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of C++ variables as the source spells them, which symbol tables hold mangled."""

from __future__ import annotations

import re

# A variable of internal linkage, and one in scopes. Source: the Itanium C++ ABI, 5.1.2 and 5.1.4.
_INTERNAL, _NESTED = "_ZL", "_ZN"
_LENGTH = re.compile(r"L?([1-9][0-9]{0,5})")
# What compilers call the namespace without a name, and what c++filt and gdb call it.
_UNNAMED = {"_GLOBAL__N_1": "(anonymous namespace)"}


def scoped_name(symbol: str) -> str:
    """``_ZN3app4jobsE`` as ``app::jobs``; the symbol itself where it is no plain name in named scopes."""
    if symbol.startswith(_INTERNAL):
        parts, rest = _parts(symbol[len(_INTERNAL) :])
        return parts[0] if len(parts) == 1 and not rest else symbol
    if symbol.startswith(_NESTED):
        parts, rest = _parts(symbol[len(_NESTED) :])
        return "::".join(_UNNAMED.get(part, part) for part in parts) if parts and rest == "E" else symbol
    return symbol


def _parts(mangled: str) -> tuple[list[str], str]:
    """Identifiers, each behind its length, and what is left behind them."""
    parts: list[str] = []
    while (length := _LENGTH.match(mangled)) and length.end() + int(length[1]) <= len(mangled):
        end = length.end() + int(length[1])
        parts.append(mangled[length.end() : end])
        mangled = mangled[end:]
    return parts, mangled
