# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording says of a layout: misses for each operation, of everything and of the record in question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from linesmith.analyzer.attribution.identify import record_of
from linesmith.analyzer.attribution.variables import ObjectMap, lines_apart
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import containment_of
from linesmith.analyzer.model import Better, CacheLine, Finding, Latencies, Metric, Misses, Profile

# Objects lie at multiples of so many bytes.
WORD_BYTES = 8
OF_THE_RECORD = (Metric("type", "misses/op", Better.LOWER), Metric("pair", "misses/op", Better.LOWER))
OF_EVERYTHING = (Metric("misses", "misses/op", Better.LOWER), Metric("cycles", "cycles/op", Better.LOWER))


# The top member of the record in question at an offset in a line; ``None`` where there is another object.
MemberAt = Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class MeasuredRecord:
    """A record, and the pairs of its members that meet on the lines that made it suspicious; no record, no pairs."""

    type: str = ""
    pairs: frozenset[frozenset[str]] = frozenset()


def metrics_for(question: MeasuredRecord, deciding: str = "type") -> tuple[Metric, ...]:
    """What is measured, first the one called ``deciding``. A record is a small part of what a whole kernel misses."""
    metrics = (*OF_THE_RECORD, *OF_EVERYTHING) if question.type else OF_EVERYTHING
    return tuple(sorted(metrics, key=lambda one: one.name != deciding))


def question_of(leading: Finding, *others: Finding) -> MeasuredRecord:
    """What a candidate for the first object of ``leading`` is to improve, on its line and on the ``others``."""
    met = (pair for finding in (leading, *others) for pair in finding.triage.pairs)
    return MeasuredRecord(leading.objects[0].type, frozenset(pair.names for pair in met if len(pair.names) == 2))


class RecordedMembers:
    """Where the members of a record lie on the lines of one recording, by the layouts of the build recorded.

    ``found`` are findings that hold the record, for a recording whose objects are not known by their addresses. Of a
    union's alternatives that one counts which is ``named``.
    """

    def __init__(
        self, type_: str, profile: Profile, layouts: Layouts, found: Sequence[Finding] = (), named: Collection[str] = ()
    ) -> None:
        self._type = type_
        self._named = named
        self._objects = ObjectMap(profile.areas)
        self._containment = containment_of(layouts)
        self._found = {one.address: one for one in found}
        self._holders: dict[int, list[tuple[int, int]]] = {}
        for layout in layouts.variants(type_)[:1]:
            for place in self._containment.places(layout.id):
                self._holders.setdefault(place.container, []).append((layout.id, place.offset))

    def on(self, line: CacheLine) -> MemberAt:
        """What lies on this line."""
        return lambda offset: self._by_address(line, offset) or self._by_finding(line, offset)

    def lie_on(self, line: CacheLine) -> bool:
        """Whether any byte of the line is of an object that is or holds the record."""
        finding = self._found.get(line.address)
        if finding is not None and any(one.type == self._type for one in finding.objects):
            return True
        places = (self._objects.at((line.address or 0) + offset) for offset in range(0, line.bytes, WORD_BYTES))
        areas = {one.area for one in places if one is not None}
        records = (record_of(area, self._containment) for area in areas)
        return any(record is not None and record.id in self._holders for record in records)

    def _by_address(self, line: CacheLine, offset: int) -> str | None:
        found = self._objects.at((line.address or 0) + offset)
        record = record_of(found.area, self._containment) if found is not None else None
        if found is None or record is None:
            return None
        place = (line.address or 0) + offset - found.start
        members = (self._member(id_, place - start) for id_, start in self._holders.get(record.id, ()))
        return next(filter(None, members), None)

    def _by_finding(self, line: CacheLine, offset: int) -> str | None:
        finding = self._found.get(line.address)
        for one in finding.objects if finding else ():
            if one.type == self._type and one.layout is not None:
                return self._member(one.layout, offset - one.start)
        return None

    def _member(self, layout: int, offset: int) -> str | None:
        leaves = self._containment.leaves(layout, offset) if offset >= 0 else ()
        tops = [leaf.path.partition(".")[0].partition("[")[0] for leaf in leaves]
        return next((name for name in tops if name in self._named), next(iter(tops), None))


def simulated_metrics(
    profile: Profile, places: RecordedMembers, question: MeasuredRecord, operations: int
) -> tuple[tuple[str, float], ...]:
    """The value of each of ``metrics_for(question)``, for each of the ``operations`` that the recorded command did.

    ``misses`` and ``cycles`` are of all lines but those that emulation makes hot, ``type`` is of those on which objects
    of the record lie, with all that lies next to it there, and ``pair`` of the misses for which the other member of a
    pair is to blame.
    """
    everything = _counting(profile)
    met = _met(profile, places, question)
    values = {"misses": everything.total, "cycles": everything.cycles(Latencies())} | met
    return tuple((metric.name, values[metric.name] / max(operations, 1)) for metric in metrics_for(question))


def _met(profile: Profile, places: RecordedMembers, question: MeasuredRecord) -> dict[str, int]:
    counts = Counter({"type": 0, "pair": 0})
    for line in filter(places.lie_on, profile.lines):
        member_at, blamed = places.on(line), sum(one.misses for one in line.conflicts)
        counts["type"] += max(line.misses.total if line.misses else 0, blamed)
        for one in line.conflicts:
            met = frozenset((member_at(one.offset), member_at(one.writer_offset)))
            counts["pair"] += one.misses * (met in question.pairs)
    return dict(counts)


def _counting(profile: Profile) -> Misses:
    """All misses of the recording but those on lines that emulation makes hot."""
    counts, owners = dict(profile.recording.counts) if profile.recording else {}, lines_apart(profile)
    apart = [line.misses or Misses() for line in profile.lines if line.address in owners]

    def left(name: str, counted: str) -> int:
        of_apart: int = sum(getattr(one, name) for one in apart)
        return counts.get(counted, 0) - of_apart

    return Misses(
        hitm_local=left("hitm_local", "hitm_local"),
        hitm_remote=left("hitm_remote", "hitm_remote"),
        shared=left("shared", "shared_miss"),
        upgrade=left("upgrade", "upgrade"),
        taken_local=left("taken_local", "own_local"),
        taken_remote=left("taken_remote", "own_remote"),
    )
