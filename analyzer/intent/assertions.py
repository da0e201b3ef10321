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
class _KnownValue:
    """True or false whatever the configuration is; ``None`` where the text does not tell."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class _ConfigSymbol:
    """That the symbol called so (``CONFIG_XPS``) is set, or is not."""

    name: str
    is_set: bool = True


@dataclass(frozen=True, slots=True)
class _Junction:
    """That ``every`` one of the conditions holds, or that one of them does."""

    every: bool
    of: tuple[_Condition, ...]


_Condition = _KnownValue | _ConfigSymbol | _Junction
_UNKNOWN = _KnownValue(None)


def _condition(text: bytes) -> _Condition:
    """What stands behind ``#if``; what is not made of symbols, numbers, ``!``, ``&&`` and ``||`` is not known."""
    words = [match[1] for match in islice(_WORD.finditer(text), _MOST_WORDS + 1)]
    if len(words) > _MOST_WORDS:
        return _UNKNOWN
    words.reverse()
    found = _joined(words, 0, b"||")
    return _UNKNOWN if words else found


def _joined(words: list[bytes], level: int, sign: bytes) -> _Condition:
    """Operands joined by ``sign``, of which ``&&`` binds closer than ``||``.

    The ``words`` stand in reverse order, and those that are read are taken off.
    """
    found: list[_Condition] = []
    while not found or words[-1:] == [sign]:
        if found:
            words.pop()
        found.append(_joined(words, level, b"&&") if sign == b"||" else _operand(words, level))
    return found[0] if len(found) == 1 else _Junction(sign == b"&&", tuple(found))


def _operand(words: list[bytes], level: int) -> _Condition:
    word = words.pop() if words else b""
    if level > _MOST_LEVELS:
        return _UNKNOWN
    if word == b"!":
        return _negated(_operand(words, level + 1))
    if word == b"(":
        found = _joined(words, level + 1, b"||")
        return found if words and words.pop() == b")" else _UNKNOWN
    if word in _ENABLED:  # what ``defined``, or a macro of include/linux/kconfig.h, asks of the name behind it
        if words[-1:] != [b"("]:
            return _defined(words.pop() if words else b"")
        name, closed = words[-2:-1], words[-3:-2] == [b")"]
        del words[-3:]
        return _defined(name[0]) if name and closed else _UNKNOWN
    if word[:1].isdigit():
        return _KnownValue(word.rstrip(b"uUlL").strip(b"0") != b"")
    return _defined(word)


def _defined(word: bytes) -> _Condition:
    """That ``word`` is defined."""
    name = word.decode("ascii", "replace")
    return _ConfigSymbol(name) if name.startswith(_PREFIX) else _UNKNOWN


def _negated(one: _Condition) -> _Condition:
    """The opposite."""
    match one:
        case _KnownValue(value):
            return _UNKNOWN if value is None else _KnownValue(not value)
        case _ConfigSymbol(name, is_set):
            return _ConfigSymbol(name, not is_set)
        case _Junction(every, of):
            return _Junction(not every, tuple(map(_negated, of)))


def _value(one: _Condition, configuration: Collection[str] | None) -> bool | None:
    """Whether it holds where these symbols are set; ``None`` where that cannot be told."""
    match one:
        case _KnownValue(known):
            return known
        case _ConfigSymbol(name, is_set):
            return None if configuration is None else (name in configuration) is is_set
        case _Junction(every, of):
            values = {_value(each, configuration) for each in of}
            symbols = frozenset(_needed(one)) if every else frozenset[str]()
            if any(f"!{name}" in symbols for name in symbols):
                values.add(False)  # no symbol is set and not set
            return not every if (not every) in values else None if None in values else every


def _parts(one: _Condition) -> Iterator[_Condition]:
    """The conditions that must all hold for it to hold, none of which is made of such itself."""
    if isinstance(one, _Junction) and one.every:
        for each in one.of:
            yield from _parts(each)
    else:
        yield one


def _needed(one: _Condition) -> Iterator[str]:
    """Symbols that must be set (``CONFIG_XPS``) or not (``!CONFIG_XPS``) for it to hold, as far as these are plain."""
    for part in _parts(one):
        if isinstance(part, _ConfigSymbol):
            yield part.name if part.is_set else f"!{part.name}"


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
    arm: _Condition
    all: _Needs


def _changes(text: bytes, configuration: Collection[str] | None) -> Iterator[tuple[int, Symbols | None]]:
    """From which bytes of C code without comments on which symbols must be set (``CONFIG_XPS``) or not.

    ``None`` stands for code that is never compiled. What is no plain condition of symbols is decided by the
    ``configuration``, the symbols that are set; where that is not known (``None``), it is taken to hold.
    """
    stack: list[_Open] = []
    for match in _DIRECTIVE.finditer(text):
        word, rest = match[1], _CONTINUED.sub(b" ", match[2]).strip()
        around = stack[-1].all if stack else _Needs()
        if word == b"endif":
            del stack[-1:]
        elif word in (b"else", b"elif"):
            for last in stack[-1:]:  # the next arm is compiled where those before it are not
                last.around = last.around.with_(_needs(_negated(last.arm), configuration))
                last.arm = _KnownValue(True) if word == b"else" else _condition(rest)
                last.all = last.around.with_(_needs(last.arm, configuration))
        else:
            arm: _Condition = _UNKNOWN
            if word == b"if":
                arm = _condition(rest)
            elif _NAME.fullmatch(rest):
                arm = _defined(rest) if word == b"ifdef" else _negated(_defined(rest))
            if len(stack) >= _MOST_LEVELS:
                arm = _UNKNOWN
            stack.append(_Open(around, arm, around.with_(_needs(arm, configuration))))
        now = stack[-1].all if stack else _Needs()
        yield match.end(), None if now.never else now.symbols


def _needs(one: _Condition, configuration: Collection[str] | None) -> _Needs:
    """What it needs; it never holds, either, where the configuration denies what no symbols alone can say."""
    denied = (_value(part, configuration) is False for part in _parts(one) if not isinstance(part, _ConfigSymbol))
    return _Needs(tuple(dict.fromkeys(_needed(one))), _value(one, None) is False or any(denied))


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
    compiled = list(_changes(bare, configuration))
    for match in _CALL.finditer(bare):
        kind, record, group, last = (part.decode("ascii", "replace") for part in match.groups())
        place = f"{file}:{bisect_left(breaks, match.start()) + 1}"
        number = bisect_right(compiled, match.start(), key=lambda change: change[0])
        at = compiled[number - 1][1] if number else ()
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
