# SPDX-License-Identifier: GPL-2.0-or-later
"""How often two members meet on a line, in recordings before and after a change of their struct.

    python tests/bench/member_pair.py address_space i_mmap i_mmap_rwsem
        --before VMLINUX PROFILE... --after VMLINUX PROFILE...

A meeting is a miss on one member for which a write of the other one is to blame. Objects are found by the addresses
of the recordings' snapshots. The fall of the mean comes with a bootstrap interval (95 %, 10,000 draws).
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.geometry import leaves_at
from linesmith.analyzer.model import ObjectArea, Profile
from linesmith.analyzer.object_map import ObjectMap
from linesmith.plugins.profiles.recorded import RecordedProfile

DRAWS = 10_000


@dataclass(frozen=True)
class Pair:
    """Two top members of a record type."""

    type: str
    members: frozenset[str]


@dataclass(frozen=True)
class Meetings:
    """Misses of one recording: those of the pair, those on any member of the type, and all of the profile."""

    pair: int
    type: int
    all: int


class Places:
    """Where the members of a type lie in the objects of one kernel."""

    def __init__(self, vmlinux: Path, name: str) -> None:
        self._layouts = read_layouts(vmlinux).layouts
        layout = self._layouts.variants(name)[0]
        self._layout = layout
        self._starts: dict[str, list[int]] = {}
        for place in Containment(self._layouts).places(layout.id):
            holder = self._layouts.by_id(place.container).name
            self._starts.setdefault(holder or "", []).append(place.offset)

    def member(self, area: ObjectArea, offset: int) -> str | None:
        """The member at ``offset`` of an object of ``area``; ``None`` outside of the type."""
        for start in self._starts.get(area.types[0], ()) if area.types else ():
            if 0 <= offset - start < self._layout.size:
                leaves = leaves_at(self._layout, self._layouts, offset - start)
                return leaves[0].path.split(".")[0].split("[")[0] if leaves else ""
        return None


def sides(profile: Profile, places: Places) -> Iterator[tuple[str | None, str | None, int]]:
    """The members of victim and writer, and their misses, for every conflict of the profile."""
    objects = ObjectMap(profile.areas)

    def member(address: int) -> str | None:
        found = objects.at(address)
        return places.member(found.area, address - found.start) if found else None

    for line in profile.lines:
        for one in line.conflicts:
            start = line.address or 0
            yield member(start + one.offset), member(start + one.writer_offset), one.misses


def meetings(path: Path, places: Places, pair: Pair) -> Meetings:
    """What one recording says of the pair."""
    (profile,) = RecordedProfile().read(path.read_text(), str(path))
    counts = [0, 0, 0]
    for victim, writer, misses in sides(profile, places):
        counts[0] += misses * (frozenset((victim, writer)) == pair.members)
        counts[1] += misses * (victim is not None)
        counts[2] += misses
    return Meetings(*counts)


def measured(title: str, files: Sequence[Path], pair: Pair) -> list[int]:
    """The pair's misses in every recording of a kernel, which are printed as well."""
    places = Places(files[0], pair.type)
    found = [meetings(path, places, pair) for path in files[1:]]
    for path, one in zip(files[1:], found, strict=True):
        share = 100 * one.pair / max(one.all, 1)
        print(f"{title:7} {path.name:24} {one.pair:9,} of {one.type:9,} of {one.all:11,} misses ({share:.2f} %)")
    return [one.pair for one in found]


def fall(before: Sequence[int], after: Sequence[int]) -> float:
    """By which part the mean went down."""
    return 1 - statistics.mean(after) / statistics.mean(before)


def interval(before: Sequence[int], after: Sequence[int]) -> tuple[float, float]:
    """The middle 95 % of the fall over draws with replacement; the same draws every time."""
    draw = random.Random(1)  # noqa: S311
    falls = sorted(fall(draw.choices(before, k=len(before)), draw.choices(after, k=len(after))) for _ in range(DRAWS))
    return falls[int(DRAWS * 0.025)], falls[int(DRAWS * 0.975)]


def main() -> None:
    """Count and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("type")
    parser.add_argument("members", nargs=2)
    parser.add_argument("--before", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--after", nargs="+", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    pair = Pair(arguments.type, frozenset(arguments.members))
    before = measured("before", arguments.before, pair)
    if arguments.after:
        after = measured("after", arguments.after, pair)
        low, high = interval(before, after)
        print(f"fall {100 * fall(before, after):.1f} % ({100 * low:.1f} to {100 * high:.1f})")


if __name__ == "__main__":
    main()
