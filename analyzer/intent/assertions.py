# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups that C code asserts: ``CACHELINE_ASSERT_GROUP_MEMBER()`` and ``…_SIZE()`` of include/linux/cache.h.

With each goes the configuration in which it is compiled, as far as conditions of the preprocessor over symbols of a
kernel's configuration tell it; they are read without a preprocessor.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from linesmith.analyzer.model import MemberGroup, TypeIntent

# Nobody writes longer conditions or nests deeper; what does counts as not known. Nor do that many symbols decide about
# one line.
_MOST_WORDS = 256
_MOST_LEVELS = 32
_MOST_SYMBOLS = 64
_MOST_BYTES = 1 << 22

_WORD = re.compile(rb"\s*(&&|\|\||!(?!=)|\(|\)|\d+[uUlL]*(?![\w.])|[A-Za-z_]\w*|[^\s])", re.ASCII)
_ENABLED = frozenset((b"defined", b"IS_ENABLED", b"IS_BUILTIN", b"IS_REACHABLE"))
_PREFIX = "CONFIG_"
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b[ \t]*((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_CONTINUED = re.compile(rb"\\\r?\n")
_NAME = re.compile(rb"\w+", re.ASCII)

_MACRO = b"CACHELINE_ASSERT_GROUP_"
_SUFFIXES = (".c", ".h")
# A literal without an end goes on to that of its line, so that no quote in it begins another look.
_IGNORED = re.compile(
    rb"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?"
    rb"|^[ \t]*+#[ \t]*+define\b(?:[^\n\\]|\\.)*+",
    re.DOTALL | re.MULTILINE,
)
_CALL = re.compile(
    rb"\bCACHELINE_ASSERT_GROUP_(MEMBER|SIZE)\s*+\(\s*+(?:struct|union)\s++(\w++)\s*+,\s*+(\w++)\s*+,"
    rb"\s*+([^;{}]{0,400}?)\)\s*+;"
)
_PATH = re.compile(rb"[A-Za-z_][\w.]*")
_SUM = re.compile(rb"\s*\d+(?:\s*\+\s*\d+)*\s*")

Symbols = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownValue:
    """True or false whatever the configuration is; ``None`` where the text does not tell."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class ConfigSymbol:
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


Condition = KnownValue | ConfigSymbol | Every | Some
UNKNOWN = KnownValue(None)


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
    return ConfigSymbol(name) if name.startswith(_PREFIX) else UNKNOWN


def negated(one: Condition) -> Condition:
    """The opposite."""
    match one:
        case KnownValue(value):
            return UNKNOWN if value is None else KnownValue(not value)
        case ConfigSymbol(name, is_set):
            return ConfigSymbol(name, not is_set)
        case Every(of):
            return Some(tuple(map(negated, of)))
        case Some(of):
            return Every(tuple(map(negated, of)))


def value(one: Condition, configuration: Collection[str] | None) -> bool | None:
    """Whether it holds where these symbols are set; ``None`` where that cannot be told."""
    match one:
        case KnownValue(known):
            return known
        case ConfigSymbol(name, is_set):
            return None if configuration is None else (name in configuration) is is_set
        case Every(of):
            symbols = frozenset(needed(one))
            values = {value(each, configuration) for each in of}
            if any(f"!{name}" in symbols for name in symbols):
                values.add(False)  # no symbol is set and not set
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
        if isinstance(part, ConfigSymbol):
            yield part.name if part.is_set else f"!{part.name}"


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
        return KnownValue(word.rstrip(b"uUlL").strip(b"0") != b"")
    return named(word)


def _enabled(words: list[bytes]) -> Condition:
    """What ``defined``, or a macro of include/linux/kconfig.h, asks of the name behind it."""
    if words[-1:] != [b"("]:
        return named(words.pop() if words else b"")
    name = words[-2:-1]
    closed = words[-3:-2] == [b")"]
    del words[-3:]
    return named(name[0]) if name and closed else UNKNOWN


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
            for last in stack[-1:]:  # the next arm is compiled where those before it are not
                last.around = last.around.with_(_needs(negated(last.arm), configuration))
                last.arm = KnownValue(True) if word == b"else" else condition(rest)
                last.all = last.around.with_(_needs(last.arm, configuration))
        else:
            arm: Condition = UNKNOWN
            if word == b"if":
                arm = condition(rest)
            elif _NAME.fullmatch(rest):
                arm = named(rest) if word == b"ifdef" else negated(named(rest))
            if len(stack) >= _MOST_LEVELS:
                arm = UNKNOWN
            stack.append(_Open(around, arm, around.with_(_needs(arm, configuration))))
        now = stack[-1].all if stack else _Needs()
        yield match.end(), None if now.never else now.symbols


def _needs(one: Condition, configuration: Collection[str] | None) -> _Needs:
    """What it needs; it never holds, either, where the configuration denies what no symbols alone can say."""
    denied = (value(part, configuration) is False for part in parts(one) if not isinstance(part, ConfigSymbol))
    return _Needs(tuple(dict.fromkeys(needed(one))), value(one, None) is False or any(denied))


@dataclass(frozen=True, slots=True)
class Assertion:
    """One line of code: ``member`` is in the ``group`` of ``record``, or the group has at most ``bytes``.

    ``configuration`` are the symbols that it is compiled with or without (``CONFIG_XPS``, ``!CONFIG_XPS``).
    """

    record: str
    group: str
    place: str
    member: str = ""
    bytes: int | None = None
    configuration: tuple[str, ...] = ()


def asserted_in(tree: Path, configuration: Collection[str] | None = None) -> Iterator[Assertion]:
    """What the C files below ``tree`` assert, in the order of their paths; links are not followed.

    ``configuration`` are the symbols that are set, ``None`` where that is not known.
    """
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(one for one in folders if one != ".git")
        for name in sorted(one for one in files if one.endswith(_SUFFIXES)):
            path = Path(folder) / name
            yield from assertions(_text(path), str(path.relative_to(tree)), configuration)


def assertions(text: bytes, file: str, configuration: Collection[str] | None = None) -> Iterator[Assertion]:
    """What one C text asserts; comments, strings, definitions of macros and what is never compiled are left out."""
    if _MACRO not in text:
        return
    bare = _IGNORED.sub(lambda match: b"\n" * match.group().count(b"\n") or b" ", text)
    breaks = [match.start() for match in re.finditer(b"\n", bare)]
    compiled = conditions(bare, configuration)
    for match in _CALL.finditer(bare):
        kind, record, group, last = (part.decode("ascii", "replace") for part in match.groups())
        place = f"{file}:{bisect_left(breaks, match.start()) + 1}"
        at = compiled.at(match.start())
        if at is None:
            continue
        if kind == "MEMBER" and _PATH.fullmatch(match[4].strip()):
            yield Assertion(record, group, place, member=last.strip(), configuration=at)
        elif kind == "SIZE" and _SUM.fullmatch(match[4]):
            yield Assertion(record, group, place, bytes=sum(map(int, last.split("+"))), configuration=at)


def asserted_intents(found: Iterable[Assertion]) -> tuple[TypeIntent, ...]:
    """One intent for each record and configuration, its groups in the order of the code; empty groups are left out."""
    entries: dict[tuple[str, tuple[str, ...]], list[Assertion]] = {}
    for one in found:
        entries.setdefault((one.record, one.configuration), []).append(one)
    made = []
    for (name, configuration), said in sorted(entries.items()):
        reason = f"asserted by CACHELINE_ASSERT_GROUP_MEMBER() from {said[0].place} on"
        made.append(TypeIntent(name, reason, configuration=configuration, groups=_groups(said)))
    return tuple(one for one in made if one.groups)


def _groups(said: Iterable[Assertion]) -> tuple[MemberGroup, ...]:
    members: dict[str, dict[str, None]] = {}
    limits: dict[str, int] = {}
    for one in said:
        if one.member:
            members.setdefault(one.group, {})[one.member] = None
        elif one.bytes:
            limits[one.group] = one.bytes
    return tuple(MemberGroup(name, tuple(inside), bytes=limits.get(name)) for name, inside in members.items())


def _text(path: Path) -> bytes:
    """What a regular file begins with; nothing of one that cannot be read."""
    try:
        if path.is_symlink() or not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""
