# SPDX-License-Identifier: GPL-2.0-or-later
"""Words by which code comes to a record: its names, what is declared with its type, and macros that lead there.

They are looked for in the text of files that a scan reads once, and are rather too many than too few: they only decide
which units are worth parsing.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from linesmith.patches.build.confinement import SYSTEM
from linesmith.patches.scan.header_text import (
    HeaderText,
    Macro,
    Titles,
    each_word,
    header_text,
    one_of,
    surroundings,
    titles,
    words_inside,
)
from linesmith.patches.source.declaration import reached
from linesmith.patches.source.tree import source_bytes

_WORD = re.compile(rb"[A-Za-z_]\w*")
_DECLARATORS = re.compile(rb"[^;{}()=]{0,300}")
_QUALIFIERS = frozenset(b"const volatile struct static inline extern unsigned int long void".split())
# A record that so many embed, or that has so many names, is one that most of the code uses.
_MOST_NAMES = 100
# By value; each level takes a look at all of the text.
_MOST_LEVELS = 8
# What may stand between the word that names an object and what is done with it: calls, elements, ends of casts.
_STEP = re.compile(rb"\s*+(?:\)|\[[^;{}\]]{0,160}+\]|(\())")
_PARENTHESIS = re.compile(rb"[(){};]")
_MOST_BETWEEN = 300
_REACHED = re.compile(rb"\s*+(?:->|\.)\s*+(\w+)")
_THROUGH = re.compile(rb"(?:->|\.)\s*+(\w+)")
_NEXT_ARGUMENT = re.compile(rb"\s*+,")
_INITIALISED = rb"[^;(){}]{0,200}(?:=\s*\{|\)\s*\{)"


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A ``pattern`` that only text with one of the ``words`` can match."""

    words: frozenset[bytes]
    pattern: re.Pattern[bytes]

    def is_in(self, text: bytes, words: frozenset[bytes]) -> bool:
        """Whether ``text``, which is made of ``words``, matches."""
        return not words.isdisjoint(self.words) and self.pattern.search(text) is not None


@dataclass(frozen=True, slots=True)
class Carriers:
    """How text comes to a record.

    ``named`` is the name of its type, ``initialised`` an initialiser of it or of a record that embeds it.
    ``bearers`` are words that yield one, ``members`` hold all of its members' names. ``expanded`` are macros that do
    with these what text does, ``reaching`` those that reach a member of what they are given.
    """

    named: TextMatch
    initialised: TextMatch
    bearers: frozenset[bytes]
    members: frozenset[bytes]
    expanded: frozenset[bytes] = frozenset()
    reaching: frozenset[bytes] = frozenset()

    def lead(self, text: bytes, words: frozenset[bytes]) -> bool:
        """Whether ``text``, which is made of ``words``, can come to the record."""
        if not words.isdisjoint(self.expanded):
            return True
        if self.named.is_in(text, words) or self.initialised.is_in(text, words):
            return True
        if words.isdisjoint(self.bearers):
            return False
        # A member of what a word yields is reached, or can be by a macro.
        reaching = not words.isdisjoint(self.reaching)
        uses = (_use(text, found.end()) for found in each_word(text, self.bearers))
        return any((reaching and use.is_passed) or use.member in self.members for use in uses)


def carriers(record: str, texts: Sequence[HeaderText]) -> Carriers | None:
    """The words for ``record`` in the headers ``texts``, one of which declares it; ``None`` where it is everywhere."""
    called = titles(frozenset((record.encode(),)), texts)
    holders = _holders(called, texts)
    if holders is None:
        return None
    macros = [macro for text in texts for macro in text.macros]
    bearers = _bearers(called, texts) - {macro.name for macro in macros}
    # Macros that expand to what one of the words yields.
    near = [one for one in macros if not one.words.isdisjoint(bearers)]
    uses = [(one, _use(one.body, found.end())) for one in near for found in each_word(one.body, bearers)]
    bearers |= {one.name for one, use in uses if use.end >= len(one.body.rstrip())}
    members = words_inside(record.encode(), texts)
    named = TextMatch(called.words, called.pattern())
    initialised = TextMatch(holders, re.compile(rb"\b%s\b%s" % (one_of(holders), _INITIALISED)))
    found = Carriers(named, initialised, bearers, members)
    users = _users(macros)
    expanded = [one.name for one in macros if found.lead(one.body, one.words)]
    reaching = [one.name for one in macros if any(match[1] in members for match in _THROUGH.finditer(one.body))]
    closed = (frozenset(reached(start, lambda one: users.get(one, ()))) for start in (expanded, reaching))
    return Carriers(named, initialised, bearers, members, *closed)


@dataclass(frozen=True, slots=True)
class _ObjectUse:
    """What is done with an object: the ``member`` reached if one is, and whether it is handed to a call.

    ``end`` is where the text goes on behind the calls, elements and casts that the object is found by.
    """

    member: bytes
    is_passed: bool
    end: int


def _use(text: bytes, at: int) -> _ObjectUse:
    """What is done with the object whose name ends at ``at``."""
    most = at + _MOST_BETWEEN
    is_passed = False
    while at < most and (step := _STEP.match(text, at)) is not None:
        end = step.end() if step[1] is None else _closing(text, step.end())
        if end is None:
            break
        is_passed |= step[0].endswith(b")")
        at = end
    reached = _REACHED.match(text, at)
    return _ObjectUse(reached[1] if reached else b"", is_passed or _NEXT_ARGUMENT.match(text, at) is not None, at)


def _closing(text: bytes, at: int) -> int | None:
    """Where the parenthesis that opened before ``at`` is closed; ``None`` where it is not, or far away."""
    depth = 1
    for mark in _PARENTHESIS.finditer(text, at, at + _MOST_BETWEEN):
        depth += {b"(": 1, b")": -1}.get(mark[0], -_MOST_BETWEEN)
        if depth <= 0:
            return mark.end() if depth == 0 else None
    return None


def _bearers(called: Titles, texts: Iterable[HeaderText]) -> frozenset[bytes]:
    """Words declared with the type: members, functions that return it, variables."""
    found: set[bytes] = set()
    for text in texts:
        for match, around in surroundings(text.code, called.pattern()):
            declarators = _DECLARATORS.match(text.code, match.end())
            if declarators is not None and not around.in_parentheses and not around.in_code:
                found.update(_WORD.findall(declarators[0]))
    return frozenset(found - _QUALIFIERS)


def _holders(called: Titles, texts: Sequence[HeaderText]) -> frozenset[bytes] | None:
    """Records that have one by value, at any depth; ``None`` where they are too many, or have too many names."""
    holders: frozenset[bytes] = frozenset()
    for _ in range(_MOST_LEVELS):
        if len(called.words) > _MOST_NAMES:
            return None
        # Records with a member of the type itself.
        by_value = called.pattern(rb"\s+\w+\s*[;,\[]")
        around = (around for text in texts for _, around in surroundings(text.code, by_value))
        further = frozenset(one.record for one in around if one.record and not one.in_code) - holders
        if not further:
            return holders
        holders |= further
        if len(holders) > _MOST_NAMES:
            return None
        called = titles(further, texts)
    return None


def _users(macros: Iterable[Macro]) -> Mapping[bytes, Sequence[bytes]]:
    """The macros by the words of their bodies."""
    users: dict[bytes, list[bytes]] = {}
    for macro in macros:
        for word in macro.words:
            users.setdefault(word, []).append(macro.name)
    return users


class Files:
    """Contents and digests, kept for the time of one scan so that every part of it sees the same bytes."""

    def __init__(self, roots: Iterable[Path]) -> None:
        """``roots`` are the folders whose files may be read besides the system's: records can name any file."""
        self._roots = tuple(dict.fromkeys(root.resolve() for root in (*roots, *map(Path, SYSTEM))))
        self.content = lru_cache(maxsize=None)(self._content)
        self.digest = lru_cache(maxsize=None)(self._digest)
        self.words = lru_cache(maxsize=None)(self._words)
        self.text = lru_cache(maxsize=None)(self._text)

    def _content(self, path: str) -> bytes | None:
        """The bytes of the file; ``None`` where there is none, or where it is no source for its size."""
        place = Path(os.path.realpath(path))
        root = next((root for root in self._roots if place.is_relative_to(root)), None)
        return None if root is None else source_bytes(root, place.relative_to(root))

    def _digest(self, path: str) -> bytes:
        """A digest of the path and its content."""
        content = self.content(path)
        text = b"absent" if content is None else b"%d\0" % len(content) + content
        name = path.encode("utf-8", "surrogateescape")
        return hashlib.blake2b(name + b"\0" + text, digest_size=16).digest()

    def _words(self, path: str) -> frozenset[bytes]:
        """Every identifier in the file, comments included."""
        return frozenset(_WORD.findall(self.content(path) or b""))

    def _text(self, path: str) -> HeaderText:
        """The file without comments, its macros apart."""
        return header_text(self.content(path) or b"")

    def line(self, path: str, number: int) -> str:
        """Line ``number`` (from 1) without the blanks at its ends, empty where the file has none."""
        lines = (self.content(path) or b"").split(b"\n", number)
        return lines[number - 1].decode("utf-8", "replace").strip() if 0 < number <= len(lines) else ""


def digest_of(files: Files, paths: Iterable[str]) -> str:
    """One digest of several files."""
    return hashlib.blake2b(b"".join(map(files.digest, paths)), digest_size=16).hexdigest()
