# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds to a scan what only the text of the tree shows: other machines, drivers not built, code that nobody compiles.

Only what is plain without types is found: initialisers next to the record's name, assertions, arithmetic with
``offsetof()``, offsets for assembly, BPF programs and headers of the user space interface.
"""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import msgspec

from linesmith.analyzer.layouts.placement import is_user_abi
from linesmith.analyzer.model import Dependency, DependencyKind, RecordSource, SourceScan
from linesmith.patches.scan import cache
from linesmith.patches.scan.cache import Stamped
from linesmith.patches.scan.header_text import MOST_LEVELS, given_by_place
from linesmith.patches.source.macros import LineCounter, closings, within, without_comments, without_directives
from linesmith.patches.source.tree import source_bytes

_ASSERTS = re.compile(rb"\b(?:BUILD_BUG_ON\w*|_?[Ss]tatic_assert|compiletime_assert\w*)\s*\(")
_COPIES = re.compile(rb"\b(?=\w*?(?:memset|memcpy|memmove|memcmp|copy_to_user|copy_from_user|bzero|bcopy))\w++\s*+\(")
_IN_CODE = re.compile(rb"[^;{}]*")
# Programs that have headers of their own; what they call alike is another record.
_PROGRAMS = re.compile(r"(?:tools|samples|scripts|Documentation|usr)/")
# A word, and what is done with it that an object is given to or reached by.
_REACHED = re.compile(rb"\b(\w++)\s*+(?:->|,\s*+[a-z_]\w*+\s*+\))")
# An array has no longer dimension, and a line of code is shorter; in a longer one its surroundings are shown.
_DIMENSION = rb"\[[^]\n]{0,200}+\]\s*+"
_MOST_OF_A_LINE = 1 << 12
_LOADED = (b'"vmlinux.h"', b"preserve_access_index")


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A dependency in the text: ``line`` counts from 1, ``members`` are those named.

    ``given`` counts the values of an initialiser instead.
    """

    kind: DependencyKind
    line: int
    text: str
    members: tuple[str, ...] = ()
    given: int = 0
    binds: bool = True


@dataclass(frozen=True, slots=True)
class TextPlaces:
    """All of one file; ``declares`` tells that it has a body of the record, ``unread`` that the file is too large."""

    places: tuple[TextPlace, ...]
    declares: bool
    unread: bool = False


_PlaceMaker = Callable[..., TextPlace]
"""Makes a place of an offset into a text, and what is there."""


class RecordText:
    """Looks for one record in texts."""

    def __init__(self, record: str) -> None:
        self.word = record.encode()
        name = re.escape(self.word)
        title = rb"(?:(?:struct|union)\s+%s\b%s)" % (name, rb"|\b%s\b" % name if record.endswith("_t") else b"")
        self._title = re.compile(title)
        behind = rb"|\}\s*(?:__\w++\s*+){0,8}%s\s*;" % name if record.endswith("_t") else b""
        self._body = re.compile(rb"\b(?:struct|union)\s+%s\s*(?:__\w++\s*+)*+\{%s" % (name, behind))
        attributes = rb"(?:__\w++(?:\([^()\n]{0,200}+\))?\s*+)*+"
        variable = rb"%s\s++\w++\s*+((?:%s)*+)%s=\s*+\{" % (title, _DIMENSION, attributes)
        literal = rb"\(\s*+(?:const\s++)?+%s\s*+(%s)?+\)\s*+\{" % (title, _DIMENSION)
        self._initialised = re.compile(variable + rb"|" + literal)
        self._offset = re.compile(rb"\boffsetof(?:end)?\s*\(\s*" + title + rb"\s*,\s*([\w.]+)")
        self._whole = re.compile(rb"\bsizeof\s*\(\s*" + title + rb"\s*\)")
        self._pointer = re.compile(title + rb"\s*\*\s*(?:const\s+)?(\w+)")
        self._exported = re.compile(rb"\bOFFSET\w*\s*\(\s*\w+\s*,\s*(?:struct\s+)?%s\s*,\s*([\w.]+)" % name)

    def places(self, file: str, content: bytes) -> TextPlaces:
        """What ``content`` of the file of that name (relative to its tree) shows."""
        if self.word not in content or not self._may_tell(content):
            return TextPlaces((), declares=False)
        plain = without_comments(content)
        declares = self._body.search(plain) is not None
        found: dict[object, TextPlace] = {}
        for one in self._found(file, content, plain, declares):
            found.setdefault((one.line, one.kind) if one.binds else (one.kind, one.members), one)
        return TextPlaces(tuple(found.values()), declares)

    def _may_tell(self, content: bytes) -> bool:
        """Whether a closer look is worth its time."""
        patterns = (self._offset, self._exported, self._body, self._initialised)
        if any(pattern.search(content) for pattern in patterns):
            return True
        marks = b"sizeof" in content and _ASSERTS.search(content)
        return bool(marks or any(mark in content for mark in _LOADED)) and self._title.search(content) is not None

    def _found(self, file: str, content: bytes, plain: bytes, declares: bool) -> Iterator[TextPlace]:
        lines = LineCounter(content)

        def at(
            place: int, kind: DependencyKind, members: Sequence[bytes] = (), *, given: int = 0, binds: bool = True
        ) -> TextPlace:
            first, behind = max(0, place - _MOST_OF_A_LINE), place + _MOST_OF_A_LINE
            start, end = content.rfind(b"\n", first, place) + 1, content.find(b"\n", place, behind)
            text = content[start or first : end if end >= 0 else behind].decode("utf-8", "replace").strip()
            names = tuple(name.decode().partition(".")[0] for name in members)
            return TextPlace(kind, lines.number(place), text, names, given, binds)

        if declares and is_user_abi(file):
            for match in self._body.finditer(plain):
                yield at(match.start(), DependencyKind.USER_ABI)
        mention = self._title.search(plain)
        if mention is not None and self._is_relocated(content, plain):
            yield at(mention.start(), DependencyKind.BPF_CORE, binds=False)
        if mention is not None and not _PROGRAMS.match(file):
            yield from self._by_place(plain, at)
            yield from self._statements(plain, at)
        for match in self._exported.finditer(plain):
            yield at(match.start(), DependencyKind.ASM_OFFSET, (match[1],), binds=False)

    def _by_place(self, plain: bytes, at: _PlaceMaker) -> Iterator[TextPlace]:
        code = without_directives(plain)
        matches = {match.end() - 1: match for match in self._initialised.finditer(code)}
        for span in within(closings(code, matches).items(), MOST_LEVELS):
            match = matches[span[0]]
            given = given_by_place(code, span, bool(match[1] or match[2]))
            if given:
                yield at(match.start(), DependencyKind.POSITIONAL, given=given)

    def _statements(self, plain: bytes, at: _PlaceMaker) -> Iterator[TextPlace]:
        """Assertions, and arithmetic with offsets that is more than one offset."""
        seen = 0
        for match in self._title.finditer(plain):
            start = max(plain.rfind(mark, seen, match.start()) for mark in (b";", b"{", b"}")) + 1
            statement = _IN_CODE.match(plain, max(start, seen))
            if statement is None or match.start() < seen:
                continue
            seen = statement.end()
            members = tuple(dict.fromkeys(one.partition(b".")[0] for one in self._offset.findall(statement[0])))
            kind = self._kind_of(statement[0], members)
            if kind is not None:
                yield at(match.start(), kind, members)

    def _kind_of(self, statement: bytes, members: tuple[bytes, ...]) -> DependencyKind | None:
        """What a statement that names the record relies on, if anything."""
        if _ASSERTS.search(statement):
            return DependencyKind.ASSERTION if members or self._whole.search(statement) else None
        if members and _COPIES.search(statement):
            return DependencyKind.PARTIAL_COPY
        return DependencyKind.OFFSET_RANGE if len(members) > 1 and b"-" in statement else None

    def _is_relocated(self, content: bytes, plain: bytes) -> bool:
        """Whether a BPF program reaches members of the record, or declares those that it reaches."""
        if not any(mark in content for mark in _LOADED):
            return False
        if self._body.search(plain):
            return True
        names = frozenset(self._pointer.findall(plain))
        return bool(names) and any(match[1] in names for match in _REACHED.finditer(plain))


SUFFIX = ".places"
_SUFFIXES = (".c", ".h")
# Of a larger file only the names of records are looked for, of one that is larger still nothing.
_MOST_BYTES, _MOST_NAMED = 8 << 20, 64 << 20
_FORMAT = 5
# Reported of a file that is larger.
TOO_LARGE = f"it is larger than {_MOST_BYTES >> 20} MiB, so its text was not searched"
_DECODER = msgspec.json.Decoder(Stamped[TextPlaces])


def text_places(
    tree: Path, records: Sequence[str], tell: Callable[[str], None]
) -> Mapping[str, Mapping[str, TextPlaces]]:
    """What the sources of ``tree`` show of each record, by record and by file relative to the tree."""
    began = cache.begun()
    names = {record: cache.name_of(SUFFIX, _FORMAT, tree, record) for record in records}
    kept = {record: cache.load(_DECODER, name) for record, name in names.items()}
    looking = {record: RecordText(record) for record in records}
    found: dict[str, dict[str, TextPlaces]] = {record: {} for record in records}
    stamps = dict(cache.stamps(tree, _SUFFIXES))
    if not all(one.stamps for one in kept.values()):
        tell(f"looking through all sources of {tree}")
    for file, stamp in stamps.items():
        stale = {record for record, one in kept.items() if not one.is_current(file, stamp)}
        large = stamp[2] > _MOST_BYTES
        content = (source_bytes(tree, file, _MOST_NAMED if large else _MOST_BYTES) if stale else None) or b""
        for record, one in kept.items():
            if record not in stale:
                places = one.found.get(file)
            elif not large:
                places = looking[record].places(file, content)
            else:
                named = not content or record.rpartition("::")[2].encode() in content
                places = TextPlaces((), declares=False, unread=True) if named else None
            if places is not None and (places.places or places.declares or places.unread):
                found[record][file] = places
    for record, known in found.items():
        cache.save(names[record], Stamped(began, stamps, known))
    return found


# The parser and the text may begin a statement at different lines.
_NEAR = 8


def with_text(scan: SourceScan, places: Mapping[str, TextPlaces]) -> SourceScan:
    """The scan with the ``places`` in the tree, by file, that the parser did not see."""
    known = max(scan.sources, key=lambda source: len(source.members), default=None)
    own = {source.span.file for source in scan.sources}
    # Files that declare another record of the same name: what is next to them may mean that.
    others = {PurePosixPath(file).parent for file, found in places.items() if found.declares and file not in own}
    seen: dict[tuple[DependencyKind, str], list[int]] = {}
    for one in scan.dependencies:
        file, line = _place(one)
        insort(seen.setdefault((one.kind, file), []), line)
    added = []
    for file, found in sorted(places.items()):
        for place in found.places:
            if place.binds and place.kind is not DependencyKind.USER_ABI and PurePosixPath(file).parent in others:
                continue
            lines = seen.get((place.kind, file), [])
            near = bisect_right(lines, place.line - _NEAR)
            if near < len(lines) and lines[near] < place.line + _NEAR:
                continue
            members = _first(known, place.given) if place.given and known is not None else place.members
            at = f"{file}:{place.line}"
            added.append(Dependency(place.kind, scan.record, members, at, place.text, binds=place.binds))
    kinds = list(DependencyKind)
    everything = sorted((*scan.dependencies, *added), key=lambda one: (kinds.index(one.kind), *_place(one)))
    unread = tuple((file, TOO_LARGE) for file, found in sorted(places.items()) if found.unread)
    return replace(scan, dependencies=tuple(everything), failed=(*scan.failed, *unread))


def _place(one: Dependency) -> tuple[str, int]:
    file, _, line = one.place.rpartition(":")
    return file, int(line)


def _first(known: RecordSource, count: int) -> tuple[str, ...]:
    """The first ``count`` members; an anonymous record counts as one, and its members stand for it."""
    names: list[str] = []
    end = seen = 0
    for member in known.members:
        if member.span.start >= end:
            seen += 1
            end = member.span.end if not member.name else end
        if seen > count:
            break
        if member.name:
            names.append(member.name)
    return tuple(names)
