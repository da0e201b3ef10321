# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of C++ symbols as people write them: ``_ZN3app4Pool4takeEi`` as ``app::Pool::take``.

Parameters and the arguments of templates are left out, so that a name is read once from left to right and never grows:
a demangler that writes all of it can be made to write gigabytes by a symbol of a hundred characters. Source: the
Itanium C++ ABI, 5.1. A symbol that is not understood stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SYMBOL = re.compile(r"\b_Z[A-Za-z0-9_]+(?:\.[a-z]+(?:\.\d+)*)*")
_LENGTH = re.compile("[1-9][0-9]{0,5}")
# Characters of a symbol, and functions within functions, that are read.
MOST_CHARACTERS, MOST_NESTED = 4096, 8
_OPERATORS = {
    "nw": " new",
    "na": "new[]",
    "dl": " delete",
    "da": " delete[]",
    "aS": "=",
    "cl": "()",
    "ix": "[]",
    "pt": "->",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "gt": ">",
    "le": "<=",
    "ge": ">=",
    "ss": "<=>",
    "nt": "!",
    "co": "~",
    "pl": "+",
    "mi": "-",
    "ml": "*",
    "dv": "/",
    "rm": "%",
    "an": "&",
    "or": "|",
    "eo": "^",
    "ls": "<<",
    "rs": ">>",
    "pL": "+=",
    "mI": "-=",
    "mL": "*=",
    "dV": "/=",
    "pp": "++",
    "mm": "--",
    "de": "*",
    "ad": "&",
    "aa": "&&",
}
# What compilers call the namespace without a name, and what c++filt and gdb call it.
_UNNAMED = {"_GLOBAL__N_1": "(anonymous namespace)"}
_STANDARD = {"St": "std", "Sa": "std::allocator", "Ss": "std::string", "Si": "std::istream", "So": "std::ostream"}


def with_cxx_names(text: str) -> str:
    """``text`` with the symbols of C++ in it as people write them."""
    return _SYMBOL.sub(lambda found: cxx_name(found[0]), text) if "_Z" in text else text


def cxx_name(symbol: str) -> str:
    """The name that a symbol stands for; the symbol itself where it is none of C++."""
    mangled = symbol.partition(".")[0]
    if not mangled.startswith("_Z") or len(mangled) > MOST_CHARACTERS:
        return symbol
    try:
        return "::".join(_Reader(mangled, 2).encoding(MOST_NESTED)) or symbol
    except (IndexError, ValueError):
        return symbol


@dataclass(slots=True)
class _Reader:
    """Reads ``text`` from ``at`` on; raises ``IndexError`` or ``ValueError`` for what it does not know."""

    text: str
    at: int

    def encoding(self, nested: int) -> list[str]:
        """The scopes and the name of a function or variable."""
        if self.text[self.at] == "Z" and nested:
            self.at += 1
            scopes = self.encoding(nested - 1)
            self._skip()
            return [*scopes, *self.encoding(nested - 1)]
        if self.text[self.at] == "N":
            self.at += 1
            while self.text[self.at] in "rVKRO":
                self.at += 1
            return self._parts("E")
        return self._parts("")

    def _parts(self, end: str) -> list[str]:
        """The parts of a name up to ``end``; without one, those of a name in no scope but ``std``."""
        parts: list[str] = []
        while (end and self.text[self.at] != end) or (not end and (not parts or parts == ["std"])):
            parts += self._part(parts)
        self.at += len(end)
        return parts

    def _part(self, before: list[str]) -> list[str]:
        start, two = self.text[self.at], self.text[self.at : self.at + 2]
        if start.isdigit():
            name = self._identifier()
            return [_UNNAMED.get(name, name)]
        if start == "L":
            self.at += 1
            return []
        self.at += 2
        if start in "CD" and before and two[1] in "012345":
            return [f"~{before[-1]}" if start == "D" else before[-1]]
        if two in _STANDARD:
            return [_STANDARD[two]]
        if two in _OPERATORS:
            return [f"operator{_OPERATORS[two]}"]
        if two == "Ul":
            self._skip()
            self.at = self.text.index("_", self.at) + 1
            return ["{lambda}"]
        self.at -= 1
        if start == "I" and before:
            self._skip()
            return []
        if start == "B" and before:
            self._identifier()
            return []
        raise ValueError(self.text)

    def _identifier(self) -> str:
        length = _LENGTH.match(self.text, self.at)
        if length is None or length.end() + int(length[0]) > len(self.text):
            raise ValueError(self.text)
        self.at = length.end() + int(length[0])
        return self.text[length.end() : self.at]

    def _skip(self) -> None:
        """Go behind the ``E`` that ends what has begun."""
        depth = 1
        while depth:
            one, following = self.text[self.at], self.text[self.at + 1 : self.at + 2]
            if one.isdigit():
                self._identifier()
            elif one in "STA" and not (one == "S" and following in "tabsiod"):
                self.at = self.text.index("_", self.at) + 1
            elif one == "L" and following not in ("_", "N"):
                self.at = self.text.index("E", self.at) + 1
            else:
                depth += (one in "NIXJF" or one + following in ("Ul", "DT", "Dt")) - (one == "E")
                self.at += 2 if one in "SDU" else 1
