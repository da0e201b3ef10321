# SPDX-License-Identifier: GPL-2.0-or-later
"""Words by which code comes to a record: its names, what is declared with its type, and macros that lead there.

They are found in the text and rather too many than too few: they only decide which units are worth parsing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from linesmith.patches.scan.declared import Titles, titles, words_inside
from linesmith.patches.scan.header_text import HeaderText, Macro, surroundings

_WORD = re.compile(rb"[A-Za-z_]\w*")
_DECLARATORS = re.compile(rb"[^;{}()=]{0,300}")
_QUALIFIERS = frozenset(b"const volatile struct static inline extern unsigned int long void".split())
# A record that so many embed is one that most of the code uses.
_MOST_HOLDERS = 100
# What may stand between the word that names an object and what is done with it.
_BETWEEN = rb"(?:\s*\([^;{}]{0,160}?\)|\s*\[[^;{}\]]{0,160}\]|\s*\))*"
_REACHED = rb"\s*(?:->|\.)\s*(\w+)"
_THROUGH = re.compile(_REACHED)
_PASSED = rb"\s*[,)]"
_LAST = rb"[\s)]*\Z"
_INITIALISED = rb"[^;(){}]*(?:=\s*\{|\)\s*\{)"


@dataclass(frozen=True, slots=True)
class Carriers:
    """How text comes to a record.

    ``titles`` name its type, ``bearers`` are words that yield one, ``members`` hold all of its members' names,
    ``holders`` name records that embed it. ``expanded`` are macros that do with these what text does, ``reaching``
    those that reach a member of what they are given.
    """

    titles: Titles
    bearers: frozenset[bytes]
    members: frozenset[bytes]
    holders: frozenset[bytes]
    expanded: frozenset[bytes] = frozenset()
    reaching: frozenset[bytes] = frozenset()

    def lead(self, text: bytes, words: frozenset[bytes]) -> bool:
        """Whether ``text``, which is made of ``words``, can come to the record."""
        if not words.isdisjoint(self.expanded) or self._named(text, words) or self._initialised(text, words):
            return True
        bearers = words & self.bearers
        if not bearers:
            return False
        reached = _behind(bearers, _REACHED).finditer(text)
        if any(match[1] in self.members for match in reached):
            return True
        return not words.isdisjoint(self.reaching) and _behind(bearers, _PASSED).search(text) is not None

    def _named(self, text: bytes, words: frozenset[bytes]) -> bool:
        return not words.isdisjoint(self.titles.words) and self.titles.pattern().search(text) is not None

    def _initialised(self, text: bytes, words: frozenset[bytes]) -> bool:
        holders = words & self.holders
        return bool(holders) and re.search(_any(holders) + _INITIALISED, text) is not None


def carriers(record: str, texts: Sequence[HeaderText]) -> Carriers | None:
    """The words for ``record`` in the headers ``texts``, one of which declares it; ``None`` where it is everywhere."""
    called = titles(record.encode(), texts)
    holders = _holders(called, texts)
    if len(holders) > _MOST_HOLDERS:
        return None
    macros = [macro for text in texts for macro in text.macros]
    bearers = _bearers(called, texts) - {macro.name for macro in macros}
    bearers |= {one.name for one in macros if (own := one.words & bearers) and _behind(own, _LAST).search(one.body)}
    members = words_inside(record.encode(), texts)
    found = Carriers(called, bearers, members, holders)
    users = _users(macros)
    expanded = [one.name for one in macros if found.lead(one.body, one.words)]
    reaching = [one.name for one in macros if any(match[1] in members for match in _THROUGH.finditer(one.body))]
    closed = (_closure(start, users) for start in (expanded, reaching))
    return Carriers(called, bearers, members, holders, *closed)


def _any(words: Iterable[bytes]) -> bytes:
    return rb"\b(?:%s)\b" % b"|".join(map(re.escape, sorted(words)))


def _behind(words: Iterable[bytes], what: bytes) -> re.Pattern[bytes]:
    return re.compile(_any(words) + _BETWEEN + what)


def _bearers(called: Titles, texts: Iterable[HeaderText]) -> frozenset[bytes]:
    """Words declared with the type: members, functions that return it, variables."""
    found: set[bytes] = set()
    for text in texts:
        for match, around in surroundings(text.code, called.pattern()):
            declarators = _DECLARATORS.match(text.code, match.end())
            if declarators is not None and not around.in_parentheses and not around.in_code:
                found.update(_WORD.findall(declarators[0]))
    return frozenset(found - _QUALIFIERS)


def _holders(called: Titles, texts: Sequence[HeaderText]) -> frozenset[bytes]:
    """Records that have one by value, at any depth."""
    holders: set[bytes] = set()
    waiting = [called]
    while waiting and len(holders) <= _MOST_HOLDERS:
        by_value = waiting.pop().pattern(rb"\s+\w+\s*[;,\[]")
        for text in texts:
            for _, around in surroundings(text.code, by_value):
                name = next((one for one in reversed(around.records) if one), None)
                if name is not None and name not in holders and not around.in_code:
                    holders.add(name)
                    waiting.append(titles(name, texts))
    return frozenset(holders)


def _users(macros: Iterable[Macro]) -> Mapping[bytes, Sequence[bytes]]:
    """The macros by the words of their bodies."""
    users: dict[bytes, list[bytes]] = {}
    for macro in macros:
        for word in macro.words:
            users.setdefault(word, []).append(macro.name)
    return users


def _closure(start: Collection[bytes], users: Mapping[bytes, Iterable[bytes]]) -> frozenset[bytes]:
    """The macros of ``start``, and all that expand to one of them."""
    reached = set(start)
    waiting = list(start)
    while waiting:
        fresh = set(users.get(waiting.pop(), ())) - reached
        reached |= fresh
        waiting += fresh
    return frozenset(reached)
