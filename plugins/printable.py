# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps what could steer a terminal, or show a text as another one, out of the strings of a profile."""

from __future__ import annotations

import operator
import re
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TypeVar, cast

from linesmith.analyzer.model import Profile

# Controls (C0, C1, DEL), line and paragraph separators, what turns the direction of writing (UAX 9), invisible
# characters and tags, halves of surrogate pairs.
UNPRINTABLE = (
    "\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_UNPRINTABLE = re.compile(f"[{UNPRINTABLE}]")
_NUMBERS = frozenset(("int", "float", "bool", "None"))
T = TypeVar("T")


def printable(text: str) -> str:
    """``text`` with a replacement character for each that does more than to be shown."""
    return text if text.isascii() and text.isprintable() else _UNPRINTABLE.sub("\ufffd", text)


def printable_profile(profile: Profile) -> Profile:
    """``profile`` with every string printable; the same object when they all are."""
    return _printable(profile)


def _printable(value: T) -> T:
    """``value`` of any type of the model; parts that need no change stay the same objects."""
    if type(value) is str:
        return cast(T, printable(str(value)))
    if isinstance(value, tuple):
        parts = tuple(map(_printable, value))
        same = all(map(operator.is_, parts, value))
        return value if same else cast(T, parts)
    changed = {}
    kind: type = type(value)
    for name in _telling(kind):
        old = getattr(value, name)
        new = _printable(old) if old else old
        if new is not old:
            changed[name] = new
    return replace(value, **changed) if changed else value  # type: ignore[type-var]


@cache
def _telling(kind: type) -> tuple[str, ...]:
    """The fields of a data class that may hold strings, by what they are declared as; none of any other type."""
    if not is_dataclass(kind):
        return ()
    return tuple(one.name for one in fields(kind) if not set(str(one.type).split(" | ")) <= _NUMBERS)
