# SPDX-License-Identifier: GPL-2.0-or-later
"""The objects of a recording that nothing but code identifies, those of a program's heap, as areas of memory.

A snapshot knows the objects of a kernel, debug information the variables. What is left is attributed line by line,
which is slow, so only the hottest lines are. But an instruction touches one member of one record wherever it meets it:
what it touched on a line that was attributed tells where an object begins on each line that was not. Code that acts
for its callers (takes a lock, copies, links) touches many records and tells nothing. On kernel recordings, whose
snapshot knows better, 1,391 of 1,394 objects that were found so have the right type and start (docs/attribution.md).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from linesmith.analyzer.attribution.doubts import weight
from linesmith.analyzer.attribution.identify import lines_of_unknown_memory, record_of
from linesmith.analyzer.attribution.line_members import KNOWN
from linesmith.analyzer.attribution.lock import is_helper
from linesmith.analyzer.attribution.variables import ObjectMap
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import containment_of
from linesmith.analyzer.model import CacheLine, Finding, ObjectArea, ObjectKind, Profile

# Bytes of a record, by the layout's id.
Spot = tuple[int, int]
# An instruction that touches another place more often than this leaves says nothing.
_ALWAYS = 0.9
# So much of what is known of the bytes of an object must agree, and so many instructions.
_AGREE, _FEWEST = 0.8, 2
# Damaged profiles have objects that run over the end of memory.
TOP = (1 << 64) - (1 << 16)
# Where lines without an address are taken to lie: in the direct map (Documentation/arch/x86/x86_64/mm.rst), at a
# multiple of every slab's size.
SLABS_AT = 0xFFFF_8881_0400_0000
_BY_CODE = "by instructions that touch it on hotter lines"


def found_objects(profile: Profile, findings: Sequence[Finding], layouts: Layouts) -> tuple[ObjectArea, ...]:
    """The objects of the ``findings`` outside the profile's areas, and those of its other lines that are like them.

    ``findings`` are lines of the profile. The areas do not overlap each other or known objects.
    """
    containment = containment_of(layouts)
    own = [one for one in findings if one.address is not None and one.objects and one.objects[0].outcome in KNOWN]
    known = [area for area in profile.areas if record_of(area, containment) is not None]
    met = tuple(separate(outside(known, own), layouts))
    explained = {one.rank for one in findings}
    left = [it for it in lines_of_unknown_memory(profile) if it.address is not None and it.rank not in explained]
    alike = _alike(left, _spots(own, profile, layouts), layouts)
    return met + tuple(_free(alike, (*profile.areas, *met)))


def outside(areas: Iterable[ObjectArea], findings: Iterable[Finding]) -> list[Finding]:
    """The findings whose object begins in no object of the ``areas``."""
    known = ObjectMap(areas)
    return [one for one in findings if known.at(address_of(one)) is None]


def address_of(finding: Finding) -> int:
    """Where the first object of a finding begins."""
    return (finding.address or SLABS_AT) + finding.objects[0].start


def separate(findings: Sequence[Finding], layouts: Layouts) -> Iterator[ObjectArea]:
    """An area for the first object of each, or for the variable that it is an element of; none overlaps another."""
    end = 0
    for finding in sorted(findings, key=address_of):
        found = finding.objects[0]
        area = _heap_area(found.layout or 0, address_of(finding), layouts)
        if (row := found.row) is not None and row.stride >= area.size:
            area = ObjectArea(ObjectKind.GLOBAL, row.name, row.address, area.size, row.stride, row.count, area.types)
        if end <= area.address and area.end < TOP:
            end = area.end
            yield area


def _heap_area(layout: int, address: int, layouts: Layouts, detail: str = "") -> ObjectArea:
    one = layouts.by_id(layout)
    return ObjectArea(ObjectKind.HEAP, "", address, one.size, one.size, 1, (one.name,), detail=detail, layout=layout)


def _spots(findings: Iterable[Finding], profile: Profile, layouts: Layouts) -> dict[int, Spot]:
    """What each instruction touched on the lines of the findings, by its address, where that is always the same."""
    lines = {line.rank: line for line in profile.lines}
    touched: dict[int, Counter[Spot | None]] = {}
    for finding in findings:
        records = [
            (one.start, layouts.by_id(one.layout))
            for one in finding.objects
            if one.outcome in KNOWN and one.layout is not None
        ]
        for offset, code, count in _own_code(lines[finding.rank]):
            inside = ((it.id, offset - start) for start, it in records if 0 <= offset - start < it.size and it.name)
            touched.setdefault(code, Counter())[next(inside, None)] += count
    likeliest = {code: spots.most_common(1)[0] for code, spots in touched.items()}
    return {
        code: spot for code, (spot, count) in likeliest.items() if spot and count >= _ALWAYS * touched[code].total()
    }


def _own_code(line: CacheLine) -> Iterator[tuple[int, int, int]]:
    """Offset, code address and weight of the accesses whose code does not act for its callers."""
    for access in line.accesses:
        if access.offset is not None and access.code_address is not None and not is_helper(access.function or ""):
            yield access.offset, access.code_address, weight(access)


def _alike(lines: Iterable[CacheLine], spots: Mapping[int, Spot], layouts: Layouts) -> list[ObjectArea]:
    """The objects that most of the instructions known on these lines agree on, those with most accesses first."""
    votes: dict[Spot, Counter[int]] = {}  # by layout and where the object begins, of each instruction
    cast: list[tuple[int, int]] = []  # address and weight
    for line in lines:
        for offset, code, count in _own_code(line):
            if (spot := spots.get(code)) is not None:
                address = (line.address or 0) + offset
                votes.setdefault((spot[0], address - spot[1]), Counter())[code] += count
                cast.append((address, count))
    cast.sort()
    until = [0, *accumulate(count for _, count in cast)]
    found = []
    for (layout, start), vote in sorted(votes.items(), key=lambda item: (-item[1].total(), item[0])):
        size = layouts.by_id(layout).size
        first, last = bisect_left(cast, (start, 0)), bisect_left(cast, (start + size, 0))
        agreed = vote.total() >= _AGREE * (until[last] - until[first])
        if agreed and len(vote) >= _FEWEST and start >= 0 and start + size < TOP:
            found.append(_heap_area(layout, start, layouts, _BY_CODE))
    return found


def _free(areas: Iterable[ObjectArea], taken: Iterable[ObjectArea]) -> Iterator[ObjectArea]:
    """Those of the ``areas`` that no other takes bytes of, in their order: of two that overlap the first."""
    claims = sorted((area.address, area.end) for area in taken)
    for area in areas:
        behind = bisect_left(claims, (area.end, 0))
        if not behind or claims[behind - 1][1] <= area.address:
            claims.insert(behind, (area.address, area.end))
            yield area
