# SPDX-License-Identifier: GPL-2.0-or-later
"""How often two members meet on a line, in recordings before and after a change of their struct.

    python tests/bench/member_pair.py address_space i_mmap i_mmap_rwsem
        --before VMLINUX PROFILE... --after VMLINUX PROFILE... --traces TRACE...

A meeting is a miss on one member for which a write of the other one is to blame. Objects are found by the addresses
of the recordings' snapshots. The fall of the mean comes with a bootstrap interval (95 %, 10,000 draws). The traces
are those of the recordings before; they are replayed with the members where the kernel after has them, which is the
prediction of what its recordings show.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.attribution.variables import ObjectMap
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.leaves import leaves_at
from linesmith.analyzer.model import Layout, ObjectArea, Profile
from linesmith.plugins.profiles.formats import RecordedProfile
from linesmith.tuner.replay.plan import relaid
from linesmith.tuner.replay.replayer import open_trace
from linesmith.tuner.replay.scene import scene

DRAWS = 10_000


@dataclass(frozen=True)
class Pair:
    """Two top members of a record type."""

    type: str
    members: frozenset[str]


@dataclass(frozen=True)
class Meetings:
    """Misses of one recording: those of the pair, and those on any member of the type."""

    pair: int
    type: int


class Places:
    """Where the members of a type lie in the objects of one kernel."""

    def __init__(self, vmlinux: Path, name: str) -> None:
        self.layouts = read_layouts(vmlinux).layouts
        self.layout = self.layouts.variants(name)[0]
        self._starts: dict[str, list[int]] = {}
        for place in Containment(self.layouts).places(self.layout.id):
            holder = self.layouts.by_id(place.container).name
            self._starts.setdefault(holder or "", []).append(place.offset)

    def member(self, area: ObjectArea, offset: int) -> str | None:
        """The member at ``offset`` of an object of ``area``; ``None`` outside of the type."""
        for start in self._starts.get(area.types[0], ()) if area.types else ():
            if 0 <= offset - start < self.layout.size:
                leaves = leaves_at(self.layout, self.layouts, offset - start)
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


def read(path: Path) -> Profile:
    """The one profile of a recording."""
    (profile,) = RecordedProfile().read(path, str(path))
    return profile


def recorded(profile: Profile, places: Places, pair: Pair) -> Meetings:
    """What one recording says of the pair."""
    met = on_type = 0
    for victim, writer, misses in sides(profile, places):
        met += misses * (frozenset((victim, writer)) == pair.members)
        on_type += misses * (victim is not None)
    return Meetings(met, on_type)


def laid_as(before: Layout, after: Layout) -> Layout:
    """The layout ``before`` with its members where ``after`` has those of the same names."""
    offsets = {member.name: member.offset for member in after.members}
    members = (replace(member, offset=offsets[member.name]) for member in before.members)
    return replace(before, size=after.size, members=tuple(sorted(members, key=lambda member: member.offset)))


def replayed(profile: Profile, trace: Path, places: Places, after: Layout, pair: Pair) -> Meetings:
    """What the replay of a trace says of the pair, with the members as in ``after``."""
    here = scene(places.layout, profile.areas, places.layouts)
    replay = open_trace(trace, (here,))
    outcome = replay.run(0, relaid(here, {places.layout.id: laid_as(places.layout, after)}, places.layouts))
    members = {member.name for member in places.layout.members}
    met = on_type = 0
    for one in outcome.pairs:
        victim = here.member(one.victim_kind, one.victim_offset, places.layouts)
        writer = here.member(one.writer_kind, one.writer_offset, places.layouts)
        met += (one.local + one.remote) * (frozenset((victim, writer)) == pair.members)
        on_type += (one.local + one.remote) * (victim in members)
    return Meetings(met, on_type)


def show(title: str, files: Sequence[Path], found: Sequence[Meetings]) -> None:
    """A row for each recording."""
    for path, one in zip(files, found, strict=True):
        print(f"{title:9} {path.name:24} {one.pair:9,} of {one.type:9,} misses on the type")


def fall(before: Sequence[int], after: Sequence[int]) -> float:
    """By which part the mean went down."""
    return 1 - statistics.mean(after) / statistics.mean(before)


def interval(before: Sequence[int], after: Sequence[int]) -> tuple[float, float]:
    """The middle 95 % of the fall over draws with replacement; the same draws every time."""
    draw = random.Random(1)  # noqa: S311
    falls = sorted(fall(draw.choices(before, k=len(before)), draw.choices(after, k=len(after))) for _ in range(DRAWS))
    return falls[int(DRAWS * 0.025)], falls[int(DRAWS * 0.975)]


def compare(before: Sequence[Meetings], after: Sequence[Meetings]) -> None:
    """The falls of the pair's misses and of all those on the type."""
    for title in ("pair", "type"):
        old, new = ([getattr(one, title) for one in found] for found in (before, after))
        low, high = interval(old, new)
        print(f"  the {title} falls by {100 * fall(old, new):.1f} % ({100 * low:.1f} to {100 * high:.1f})")


def main() -> None:
    """Count, replay and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("type")
    parser.add_argument("members", nargs=2)
    parser.add_argument("--before", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--after", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--traces", nargs="*", type=Path, default=[], metavar="FILE")
    arguments = parser.parse_args()
    pair = Pair(arguments.type, frozenset(arguments.members))
    old, new = (Places(files[0], pair.type) for files in (arguments.before, arguments.after))
    profiles = [read(path) for path in arguments.before[1:]]
    before = [recorded(profile, old, pair) for profile in profiles]
    after = [recorded(read(path), new, pair) for path in arguments.after[1:]]
    show("before", arguments.before[1:], before)
    show("after", arguments.after[1:], after)
    compare(before, after)
    predicted = [
        replayed(profile, trace, old, new.layout, pair)
        for profile, trace in zip(profiles, arguments.traces, strict=False)
    ]
    show("predicted", arguments.traces, predicted)
    if predicted:
        compare(before, predicted)


if __name__ == "__main__":
    main()
