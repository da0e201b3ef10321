# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members of a record a profile saw, and whether they are read or written there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linesmith.analyzer.geometry import named
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Finding, Layout, LineMember
from linesmith.analyzer.sharing.own_members import own_members

# A member with a smaller share of the record's samples is not called hot.
HOT_PART = 0.01
# Of its own samples: from here on a member is written often, up to there hardly ever.
WRITTEN_PART = 0.05
READ_MOSTLY_PART = 0.02


@dataclass(frozen=True, slots=True)
class Usage:
    """Members by what was sampled on them, hottest first; ``hot`` holds those of the other two, too.

    ``samples`` are all of the record's.
    """

    hot: tuple[str, ...]
    read_mostly: tuple[str, ...]
    write_hot: tuple[str, ...]
    samples: int


@dataclass(slots=True)
class _Tally:
    reads: int = 0
    writes: int = 0
    must_write: bool = False

    def add(self, member: LineMember) -> None:
        self.reads += member.reads
        self.writes += member.writes
        self.must_write |= bool(member.write_inferred)

    @property
    def samples(self) -> int:
        return self.reads + self.writes

    @property
    def part_written(self) -> float:
        return self.writes / self.samples if self.samples else 0.0


def usage(lines: Iterable[Finding], layout: Layout, layouts: Layouts) -> Usage:
    """What the lines' first objects, each such a record, were surely seen to be used for."""
    tallies: dict[str, _Tally] = {}
    for line in lines:
        for member in (one for one in own_members(line) if not one.doubted):
            path = told_path(member.path, layout, layouts)
            if path:
                tallies.setdefault(path, _Tally()).add(member)
    samples = sum(one.samples for one in tallies.values())
    ranked = sorted(tallies, key=lambda path: -tallies[path].samples)
    hot = [path for path in ranked if tallies[path].samples >= max(1, HOT_PART * samples)]
    written = tuple(path for path in hot if tallies[path].must_write or tallies[path].part_written >= WRITTEN_PART)
    read = (path for path in hot if path not in written and tallies[path].part_written <= READ_MOSTLY_PART)
    return Usage(tuple(hot), tuple(read), written, samples)


def told_path(path: str, layout: Layout, layouts: Layouts) -> str:
    """The outermost member on the way to ``path`` that fits a cache line, or the last one before an array.

    Empty where the record has no such member.
    """
    told = ""
    for part in path.split("."):
        bare, bracket, _ = part.partition("[")
        longer = f"{told}.{bare}" if told else bare
        found = named(layout, layouts, longer)
        if found is None:
            break
        told = longer
        if bracket or found.span.size <= CACHE_LINE_BYTES:
            break
    return told
