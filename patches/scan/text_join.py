# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds to a scan what only the text of the tree shows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from linesmith.analyzer.model import Dependency, DependencyKind, RecordSource, SourceScan
from linesmith.patches.scan.text_places import TextPlace, TextPlaces
from linesmith.patches.scan.text_scan import TOO_LARGE

# The parser and the text may begin a statement at different lines.
_NEAR = 8


def with_text(scan: SourceScan, places: Mapping[str, TextPlaces]) -> SourceScan:
    """The scan with the ``places`` in the tree, by file, that the parser did not see."""
    known = max(scan.sources, key=lambda source: len(source.members), default=None)
    others = {str(PurePosixPath(file).parent) for file in _other_declarations(scan, places)}
    added = []
    seen = _seen(scan)
    for file, found in sorted(places.items()):
        for one in found.places:
            elsewhere = one.binds and one.kind is not DependencyKind.USER_ABI and _folder(file) in others
            if not elsewhere and not _is_seen(seen, file, one):
                added.append(_dependency(scan.record, file, one, known))
    kinds = list(DependencyKind)
    everything = sorted((*scan.dependencies, *added), key=lambda one: (kinds.index(one.kind), *_place(one)))
    unread = tuple((file, TOO_LARGE) for file, found in sorted(places.items()) if found.unread)
    return replace(scan, dependencies=tuple(everything), failed=(*scan.failed, *unread))


_Seen = Mapping[tuple[DependencyKind, str], Sequence[int]]


def _seen(scan: SourceScan) -> _Seen:
    """The lines at which the parser found dependencies, sorted, by kind and file."""
    lines: dict[tuple[DependencyKind, str], list[int]] = {}
    for one in scan.dependencies:
        file, line = _place(one)
        lines.setdefault((one.kind, file), []).append(line)
    return {key: sorted(found) for key, found in lines.items()}


def _is_seen(seen: _Seen, file: str, one: TextPlace) -> bool:
    """Whether the parser has told of it."""
    lines = seen.get((one.kind, file), ())
    first = bisect_right(lines, one.line - _NEAR)
    return first < len(lines) and lines[first] < one.line + _NEAR


def _folder(file: str) -> str:
    return str(PurePosixPath(file).parent)


def _place(one: Dependency) -> tuple[str, int]:
    file, _, line = one.place.rpartition(":")
    return file, int(line)


def _other_declarations(scan: SourceScan, places: Mapping[str, TextPlaces]) -> Iterator[str]:
    """Files that declare another record of the same name: what is beside them may mean that."""
    own = {source.span.file for source in scan.sources}
    return (file for file, found in places.items() if found.declares and file not in own)


def _dependency(record: str, file: str, one: TextPlace, known: RecordSource | None) -> Dependency:
    members = _first(known, one.given) if one.given and known is not None else one.members
    return Dependency(one.kind, record, members, f"{file}:{one.line}", one.text, binds=one.binds)


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
