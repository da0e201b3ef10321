# SPDX-License-Identifier: GPL-2.0-or-later
"""A condition of the preprocessor over symbols of a kernel's configuration, read without a preprocessor."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

# Nobody writes longer ones or nests deeper; what does counts as not known.
_MOST_WORDS = 256
_MOST_LEVELS = 32

_WORD = re.compile(rb"\s*(&&|\|\||!(?!=)|\(|\)|\d+[uUlL]*(?![\w.])|[A-Za-z_]\w*|[^\s])", re.ASCII)
_ENABLED = frozenset((b"defined", b"IS_ENABLED", b"IS_BUILTIN", b"IS_REACHABLE"))
_PREFIX = "CONFIG_"


@dataclass(frozen=True, slots=True)
class Known:
    """True or false whatever the configuration is; ``None`` where the text does not tell."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Symbol:
    """That the symbol called so (``CONFIG_XPS``) is set, or is not."""

    name: str
    is_set: bool = True


@dataclass(frozen=True, slots=True)
class Every:
    """That all of the conditions hold."""

    of: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """That one of the conditions holds."""

    of: tuple[Condition, ...]


Condition = Known | Symbol | Every | Some
UNKNOWN = Known(None)


def condition(text: bytes) -> Condition:
    """What stands behind ``#if``; what is not made of symbols, numbers, ``!``, ``&&`` and ``||`` is not known."""
    words = [match[1] for match in islice(_WORD.finditer(text), _MOST_WORDS + 1)]
    if len(words) > _MOST_WORDS:
        return UNKNOWN
    words.reverse()
    found = _some(words, 0)
    return UNKNOWN if words else found


def named(word: bytes) -> Condition:
    """That ``word`` is defined."""
    name = word.decode("ascii", "replace")
    return Symbol(name) if name.startswith(_PREFIX) else UNKNOWN


def negated(one: Condition) -> Condition:
    """The opposite."""
    match one:
        case Known(value):
            return UNKNOWN if value is None else Known(not value)
        case Symbol(name, is_set):
            return Symbol(name, not is_set)
        case Every(of):
            return Some(tuple(map(negated, of)))
        case Some(of):
            return Every(tuple(map(negated, of)))


def value(one: Condition, configuration: Collection[str] | None) -> bool | None:
    """Whether it holds where these symbols are set; ``None`` where that cannot be told."""
    match one:
        case Known(known):
            return known
        case Symbol(name, is_set):
            return None if configuration is None else (name in configuration) is is_set
        case Every(of):
            values = {value(each, configuration) for each in of} | ({False} if _excluded(one) else set())
            return False if False in values else None if None in values else True
        case Some(of):
            values = {value(each, configuration) for each in of}
            return True if True in values else None if None in values else False


def parts(one: Condition) -> Iterator[Condition]:
    """The conditions that must all hold for it to hold, none of which is made of such itself."""
    if isinstance(one, Every):
        for each in one.of:
            yield from parts(each)
    else:
        yield one


def needed(one: Condition) -> Iterator[str]:
    """Symbols that must be set (``CONFIG_XPS``) or not (``!CONFIG_XPS``) for it to hold, as far as these are plain."""
    for part in parts(one):
        if isinstance(part, Symbol):
            yield part.name if part.is_set else f"!{part.name}"


def _excluded(one: Condition) -> bool:
    """Whether it needs a symbol to be set and not to be."""
    symbols = frozenset(needed(one))
    return any(f"!{name}" in symbols for name in symbols)


def _some(words: list[bytes], level: int) -> Condition:
    found = [_every(words, level)]
    while words[-1:] == [b"||"]:
        words.pop()
        found.append(_every(words, level))
    return found[0] if len(found) == 1 else Some(tuple(found))


def _every(words: list[bytes], level: int) -> Condition:
    found = [_one(words, level)]
    while words[-1:] == [b"&&"]:
        words.pop()
        found.append(_one(words, level))
    return found[0] if len(found) == 1 else Every(tuple(found))


def _one(words: list[bytes], level: int) -> Condition:
    """The next operand; the ``words`` stand in reverse order, and those that are read are taken off."""
    word = words.pop() if words else b""
    if level > _MOST_LEVELS:
        return UNKNOWN
    if word == b"!":
        return negated(_one(words, level + 1))
    if word == b"(":
        found = _some(words, level + 1)
        return found if words and words.pop() == b")" else UNKNOWN
    if word in _ENABLED:
        return _enabled(words)
    if word[:1].isdigit():
        return Known(word.rstrip(b"uUlL").strip(b"0") != b"")
    return named(word)


def _enabled(words: list[bytes]) -> Condition:
    """What ``defined``, or a macro of include/linux/kconfig.h, asks of the name behind it."""
    if words[-1:] != [b"("]:
        return named(words.pop() if words else b"")
    name = words[-2:-1]
    closed = words[-3:-2] == [b")"]
    del words[-3:]
    return named(name[0]) if name and closed else UNKNOWN
