# SPDX-License-Identifier: GPL-2.0-or-later
"""In which configuration a place of C code is compiled, as far as plain conditions of the preprocessor tell it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

# Nobody nests deeper; conditions within are taken for none.
_MOST_LEVELS = 32

_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b[ \t]*([^\n]*)", re.MULTILINE)
_SYMBOL = re.compile(
    rb"(?P<not>!?)\s*(?:(?:IS_ENABLED|IS_BUILTIN|defined)\s*(?:\(\s*(\w+)\s*\)|\s(\w+))|(CONFIG_\w+))\s*", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Conditions:
    """The symbols that must be set (``CONFIG_XPS``) or not (``!CONFIG_XPS``) from each of the ``starts`` on."""

    starts: tuple[int, ...]
    symbols: tuple[tuple[str, ...], ...]

    def at(self, place: int) -> tuple[str, ...]:
        """Those of the code at byte ``place``; what is no plain condition of one symbol is left out."""
        number = bisect_right(self.starts, place) - 1
        return self.symbols[number] if number >= 0 else ()


def conditions(text: bytes) -> Conditions:
    """The conditions in C code without comments."""
    found = tuple(_changes(text))
    return Conditions(tuple(place for place, _ in found), tuple(symbols for _, symbols in found))


def _changes(text: bytes) -> Iterator[tuple[int, tuple[str, ...]]]:
    stack: list[str] = []
    for match in _DIRECTIVE.finditer(text):
        word, rest = match[1], match[2].strip()
        if word == b"endif":
            del stack[-1:]
        elif word in (b"else", b"elif") and stack:
            stack[-1] = _opposite(stack[-1]) if word == b"else" else ""
        elif word not in (b"else", b"elif"):
            stack.append(_symbol(word, rest))
        yield match.end(), tuple(dict.fromkeys(filter(None, stack[:_MOST_LEVELS])))


def _symbol(word: bytes, rest: bytes) -> str:
    """``CONFIG_X`` or ``!CONFIG_X``; empty where it is anything else."""
    match = _SYMBOL.fullmatch(rest) if word == b"if" else re.fullmatch(rb"(?P<not>)(\w+)", rest, re.ASCII)
    name = next(filter(None, match.groups()[1:]), b"").decode("ascii") if match else ""
    if match is None or not name.startswith("CONFIG_"):
        return ""
    return _opposite(name) if match["not"] or word == b"ifndef" else name


def _opposite(symbol: str) -> str:
    if not symbol:
        return ""
    return symbol.removeprefix("!") if symbol.startswith("!") else f"!{symbol}"
