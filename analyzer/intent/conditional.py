# SPDX-License-Identifier: GPL-2.0-or-later
"""In which configuration a place of C code is compiled, as far as conditions of the preprocessor tell it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from linesmith.analyzer.intent.condition import (
    UNKNOWN,
    Condition,
    Every,
    Known,
    Symbol,
    condition,
    named,
    needed,
    negated,
    parts,
    value,
)

# Nobody nests deeper or writes more arms; conditions within are taken for none.
_MOST_LEVELS = 32

_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b[ \t]*((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_CONTINUED = re.compile(rb"\\\r?\n")
_NAME = re.compile(rb"\w+", re.ASCII)

Symbols = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conditions:
    """From each of the ``starts`` on, the symbols that must be set (``CONFIG_XPS``) or not (``!CONFIG_XPS``).

    ``None`` stands for code that is never compiled.
    """

    starts: tuple[int, ...]
    symbols: tuple[Symbols | None, ...]

    def at(self, place: int) -> Symbols | None:
        """Those of the code at byte ``place``."""
        number = bisect_right(self.starts, place) - 1
        return self.symbols[number] if number >= 0 else ()


@dataclass(slots=True)
class _Open:
    """An ``#if`` that is open: the condition of its present arm, and the opposites of those before."""

    arm: Condition
    others: list[Condition] = field(default_factory=list)

    def turn(self, to: Condition) -> None:
        """Go on with the next arm."""
        if len(self.others) < _MOST_LEVELS:
            self.others.append(negated(self.arm))
        self.arm = to

    @property
    def whole(self) -> Condition:
        """When the present arm is compiled."""
        return Every((*self.others, self.arm))


def conditions(text: bytes, configuration: Collection[str] | None = None) -> Conditions:
    """The conditions in C code without comments.

    What is no plain condition of symbols is decided by the ``configuration``, the symbols that are set; where that is
    not known (``None``), it is taken to hold.
    """
    found = tuple(_changes(text, configuration))
    return Conditions(tuple(place for place, _ in found), tuple(symbols for _, symbols in found))


def _changes(text: bytes, configuration: Collection[str] | None) -> Iterator[tuple[int, Symbols | None]]:
    stack: list[_Open] = []
    for match in _DIRECTIVE.finditer(text):
        word, rest = match[1], _CONTINUED.sub(b" ", match[2]).strip()
        if word == b"endif":
            del stack[-1:]
        elif word in (b"else", b"elif"):
            if stack:
                stack[-1].turn(Known(True) if word == b"else" else condition(rest))
        else:
            stack.append(_Open(_opening(word, rest)))
        yield match.end(), _symbols(Every(tuple(one.whole for one in stack[:_MOST_LEVELS])), configuration)


def _opening(word: bytes, rest: bytes) -> Condition:
    if word == b"if":
        return condition(rest)
    found = named(rest) if _NAME.fullmatch(rest) else UNKNOWN
    return found if word == b"ifdef" else negated(found)


def _symbols(whole: Condition, configuration: Collection[str] | None) -> Symbols | None:
    """What it needs; ``None`` where it never holds, or where the configuration denies what no symbols alone can say."""
    if value(whole, None) is False or any(
        value(one, configuration) is False for one in parts(whole) if not isinstance(one, Symbol)
    ):
        return None
    return tuple(dict.fromkeys(needed(whole)))
