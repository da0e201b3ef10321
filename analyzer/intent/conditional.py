# SPDX-License-Identifier: GPL-2.0-or-later
"""In which configuration a place of C code is compiled, as far as conditions of the preprocessor tell it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from linesmith.analyzer.intent.condition import (
    UNKNOWN,
    Condition,
    Known,
    Symbol,
    condition,
    named,
    needed,
    negated,
    parts,
    value,
)

# Nobody nests deeper; conditions within are taken for none. Nor do that many symbols decide about one line.
_MOST_LEVELS = 32
_MOST_SYMBOLS = 64

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


@dataclass(frozen=True, slots=True)
class _Needs:
    """What conditions that must all hold need, and whether they ``never`` do."""

    symbols: Symbols = ()
    never: bool = False

    def with_(self, other: _Needs) -> _Needs:
        """Those of both."""
        symbols = dict.fromkeys((*self.symbols, *other.symbols))
        contradict = any(f"!{one}" in symbols for one in symbols)
        return _Needs(tuple(symbols)[:_MOST_SYMBOLS], self.never or other.never or contradict)


@dataclass(slots=True)
class _Open:
    """An ``#if`` that is open: what the code ``around`` it needs with its earlier arms not taken, and its present arm.

    ``all`` is what the code in that arm needs.
    """

    around: _Needs
    arm: Condition
    all: _Needs


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
        around = stack[-1].all if stack else _Needs()
        if word == b"endif":
            del stack[-1:]
        elif word in (b"else", b"elif"):
            if stack:
                _turn(stack[-1], Known(True) if word == b"else" else condition(rest), configuration)
        else:
            arm = _opening(word, rest) if len(stack) < _MOST_LEVELS else UNKNOWN
            stack.append(_Open(around, arm, around.with_(_needs(arm, configuration))))
        now = stack[-1].all if stack else _Needs()
        yield match.end(), None if now.never else now.symbols


def _turn(one: _Open, arm: Condition, configuration: Collection[str] | None) -> None:
    """Go on with the next arm, which is compiled where those before it are not."""
    one.around = one.around.with_(_needs(negated(one.arm), configuration))
    one.arm = arm
    one.all = one.around.with_(_needs(arm, configuration))


def _opening(word: bytes, rest: bytes) -> Condition:
    if word == b"if":
        return condition(rest)
    found = named(rest) if _NAME.fullmatch(rest) else UNKNOWN
    return found if word == b"ifdef" else negated(found)


def _needs(one: Condition, configuration: Collection[str] | None) -> _Needs:
    """What it needs; it never holds, either, where the configuration denies what no symbols alone can say."""
    denied = (value(part, configuration) is False for part in parts(one) if not isinstance(part, Symbol))
    return _Needs(tuple(dict.fromkeys(needed(one))), value(one, None) is False or any(denied))
