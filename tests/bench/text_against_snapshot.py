# SPDX-License-Identifier: GPL-2.0-or-later
"""How much ``linesmith hot`` tells of the text of a report, where the memory of the recorded machine is known.

    PYTHONPATH=tests python tests/bench/text_against_snapshot.py RECORDED OTHER RECORDING...
    PYTHONPATH=tests python tests/bench/text_against_snapshot.py RECORDED OTHER --generated 200 [--seed 7]

The recordings are those of ``linesmith record --vmlinux RECORDED``, whose snapshots say which object lies on
each line. Their hottest lines with an object of one known type are written as ``perf c2c report`` would print them,
with addresses that say nothing, and read with both files. Right is the type of the snapshot, one within it at that
place or one around it, for the recorded build at that start as well; ``page`` and what is laid over it count as one.
Printed are the counts of either file, and each line that was named wrongly for sure.

Without recordings lines are generated: functions of the first kernel with the members of one record that its access map
says they touch, read with the other one. They are counted by what became of the record: its members on the line keep
their distances (``same``), they do not (``drift``), some of them (``part``) or most (``gone``) are not in the other
kernel. Of members named without a question mark it is counted how many are right.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render

from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.attribution.code_touches import by_function
from linesmith.analyzer.attribution.variables import lines_apart
from linesmith.analyzer.layouts import dwarf
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import PAGE_OVERLAYS, Containment
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.model import Access, AccessCounts, CacheLine, Layout, ObjectArea, Profile
from linesmith.plugins.registry import read_profiles

_LINE = 64
_SECONDS = 900
_RULINGS = ("right", "wrong")
_OUTCOMES = ("resolved", "inner type only", "cannot tell")


@dataclass(frozen=True)
class Known:
    """A line as the snapshot knows it: a record called ``type`` that begins ``start`` bytes from the line.

    Of a generated one, ``fate`` is what became of the record in the other kernel.
    """

    line: CacheLine
    type: str
    start: int
    fate: str = ""


def main() -> None:
    """Write each recording as text, let hot read it with both files, and count."""
    options = _options()
    layouts = dwarf.read_layouts(options.recorded).layouts
    counts: dict[str, Counter[tuple[str, str]]] = {"recorded": Counter(), "other": Counter()}
    if options.generated:
        other = dwarf.read_layouts(options.other).layouts
        _count_generated(list(_generated(options, layouts, other)), options.other, layouts, other)
        return
    for recording in options.recordings:
        (profile,) = read_profiles(recording)
        known = list(_known(profile, layouts))[: options.lines]
        for side, file in (("recorded", options.recorded), ("other", options.other)):
            for one, told in zip(known, _told(file, known), strict=True):
                ruling = _ruling(one, told, layouts, side == "recorded")
                counts[side][ruling] += 1
                if ruling[0] != "cannot tell" and ruling[1] == "wrong":
                    print(f"{recording.name}, {side}: {_both(one, told)}")
    _show(counts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recorded", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("recordings", type=Path, nargs="*")
    parser.add_argument("--lines", type=int, default=30)
    parser.add_argument("--generated", type=int, default=0)
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def _known(profile: Profile, layouts: Layouts) -> Iterator[Known]:
    """Lines that count, hottest first, on which all lies in one object of one type."""
    areas = sorted(profile.areas, key=lambda area: area.address)
    apart = lines_apart(profile)
    for line in (one for one in profile.lines if one.address not in {None, *apart} and _rows(one)):
        area = next((one for one in areas if one.address <= _at(line) < one.end), None)
        found = None if area is None else _object(area, line)
        if found is not None and len(layouts.variants(found.type)) == 1:
            yield found


def _object(area: ObjectArea, line: CacheLine) -> Known | None:
    """The object of the area that has every access of the line, or none."""
    if len(area.types) != 1:
        return None
    begin = area.address + (_at(line) - area.address) // area.stride * area.stride
    touched = [(line.address or 0) + (row.offset or 0) for row in _rows(line)]
    inside = all(begin <= address < begin + area.size for address in touched)
    return Known(line, area.types[0], begin - (line.address or 0)) if inside else None


def _at(line: CacheLine) -> int:
    """The first byte that was touched: an object may begin within the line."""
    return (line.address or 0) + min(row.offset or 0 for row in _rows(line))


def _rows(line: CacheLine) -> list[Access]:
    """What perf would list: named code that waited for the line, or stored to it."""
    return [row for row in line.accesses if row.function and row.offset is not None and (row.contended or row.stores)]


def _told(file: Path, known: Sequence[Known]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "report.txt"
        text.write_text(render(ReportSpec(tuple(_spec(one, at) for at, one in enumerate(known)))))
        command = Path(sys.executable).with_name("linesmith")
        words: list[str | Path] = [command, "hot", file, text, "--format", "json"]
        done = subprocess.run(words, check=True, capture_output=True, timeout=_SECONDS)
    lines = {int(one["address"], 16): one for one in json.loads(done.stdout)["lines"]}
    return [lines[_address(at)] for at in range(len(known))]


def _address(at: int) -> int:
    """Of the text: far from all others, so that no object reaches over, and where no kernel has slabs."""
    return 0x10_0000_0000 + 0x4000_0000 * at


def _spec(known: Known, at: int) -> LineSpec:
    rows = sorted(_rows(known.line), key=lambda row: -row.contended)
    return LineSpec(_address(at), tuple(_row(row, place) for place, row in enumerate(rows)))


def _row(row: Access, place: int) -> RowSpec:
    counts = (row.hitm_remote or 0, (row.hitm_local or 0) + (row.taken or 0), row.stores, 0, 0)
    return RowSpec(row.offset or 0, counts, 0x4000 + place, row.function or "", "[kernel.kallsyms]", "")


def _ruling(known: Known, told: dict[str, Any], layouts: Layouts, same: bool) -> tuple[str, str]:
    """The outcome, and whether the object named first is the one that lay there."""
    if not told["objects"]:
        return "cannot tell", "wrong"
    first = told["objects"][0]
    outcome = first["outcome"] if first["outcome"] in _OUTCOMES else "cannot tell"
    allowed = _within(layouts.variants(known.type)[0], layouts, known.start)
    same = same and first["layout"] == "this"
    names = {name for name, start in allowed if not same or start == first["start"]}
    right = any(_as_one(name) == _as_one(first["type"]) for name in names) or _holds(first, known, layouts, same)
    return outcome, _RULINGS[not right]


def _both(known: Known, told: dict[str, Any]) -> str:
    first = told["objects"][0]
    return f"line {known.line.rank} is {known.type} from {known.start}, told {first['type']} from {first['start']}"


def _as_one(name: str) -> str:
    return "page" if name in PAGE_OVERLAYS else name


def _holds(first: dict[str, Any], known: Known, layouts: Layouts, same: bool) -> bool:
    """Whether the record named holds the known one, where it begins for the recorded build."""
    inner = (_within(layout, layouts, first["start"]) for layout in layouts.variants(first["type"]))
    places = {place for one in inner for place in one}
    return any(name == known.type and (not same or start == known.start) for name, start in places)


def _within(layout: Layout, layouts: Layouts, start: int) -> Iterator[tuple[str, int]]:
    """The record and those that it holds on the line, with where they begin from the line's first byte."""
    if start >= _LINE or start + layout.size <= 0:
        return
    yield layout.name, start
    for member in layout.members:
        if member.record is not None:
            inner = layouts.by_id(member.record)
            count = max(1, (member.size or 0) // inner.size) if inner.size else 1
            for element in range(count):
                yield from _within(inner, layouts, start + member.offset + element * inner.size)


# Of generated lines, the share of each fate; types that changed are many more than in nature.
_FATES = {"same": 0.3, "drift": 0.35, "part": 0.2, "gone": 0.15}
# A record is used for lines if at least so many functions touch it, and is weighted by their number.
_FEWEST_FUNCTIONS = 6
_LEAST_SIZE = 64

_Touches = dict[int, list[tuple[str, AccessCounts]]]


def _generated(options: argparse.Namespace, layouts: Layouts, other: Layouts) -> Iterator[Known]:
    """Lines of the recorded kernel with rows that its functions could have."""
    accesses, draw = read_accesses(options.recorded).accesses, Random(options.seed)  # noqa: S311 - repeatable
    names = {name.partition(".")[0] or name for name in accesses.functions}
    touched: dict[int, _Touches] = {}
    for name, touches in by_function(names, (), accesses, Containment(layouts)).items():
        for (record, offset), counts in touches.spots.items():
            touched.setdefault(record, {}).setdefault(offset, []).append((name, counts))
    weights = {}
    for record, places in touched.items():
        layout, users = layouts.by_id(record), {name for rows in places.values() for name, _ in rows}
        whole = layout.name and layout.size >= _LEAST_SIZE and len(layouts.variants(layout.name)) == 1
        if whole and len(users) >= _FEWEST_FUNCTIONS:
            weights[record] = len(users) ** 0.5
    missing = {fate: round(share * options.generated) for fate, share in _FATES.items()}
    while any(missing.values()):
        (record,) = draw.choices(list(weights), list(weights.values()))
        one = _drawn(layouts.by_id(record), touched[record], draw, layouts, other)
        if one is not None and missing[one.fate]:
            missing[one.fate] -= 1
            yield one


def _drawn(layout: Layout, places: _Touches, draw: Random, layouts: Layouts, other: Layouts) -> Known | None:
    """A line of an object of the layout with two to four offsets, and up to three functions at each."""
    align = max(8, layout.alignment or 1)
    phase = draw.randrange(0, _LINE, align) if align < _LINE else 0
    number = (draw.choice(sorted(places)) + phase) // _LINE
    here = [offset for offset in sorted(places) if (offset + phase) // _LINE == number]
    offsets = sorted(draw.sample(here, min(len(here), draw.choice((2, 2, 3, 3, 4)))))
    if len(offsets) < 2:
        return None
    start, rows = phase - _LINE * number, []
    for offset in offsets:
        for name, counts in draw.sample(places[offset], min(len(places[offset]), draw.choice((1, 1, 2, 3)))):
            loads = draw.randrange(3, 200) if counts.reading and (not counts.writing or draw.random() < 0.5) else 0
            stores = draw.randrange(3, 100) if counts.writing and (not loads or counts.total > counts.reading) else 0
            rows.append(Access(offset + start, name, hitm_local=loads, stores_l1_hit=stores))
    line = CacheLine(0, None, tuple(rows), hitm_local=sum(one.contended for one in rows))
    return Known(line, layout.name, start, _fate(layout, offsets, layouts, other))


def _fate(layout: Layout, offsets: Sequence[int], layouts: Layouts, other: Layouts) -> str:
    """What became of the members at these offsets in the other kernel."""
    there: dict[str, set[int]] = {}
    for variant in other.variants(layout.name)[:1]:
        for leaf in flatten(variant, other):
            there.setdefault(leaf.path, set()).add(leaf.offset)
    moved = [
        {
            place - offset
            for leaf in flatten(layout, layouts)
            if leaf.offset == offset
            for place in there.get(leaf.path, ())
        }
        for offset in offsets
    ]
    if all(moved):
        return "same" if set.intersection(*moved) else "drift"
    return "part" if sum(map(bool, moved)) > 1 else "gone"


def _count_generated(known: Sequence[Known], file: Path, layouts: Layouts, other: Layouts) -> None:
    """Print a row for each fate, and each line that was named wrongly for sure."""
    counts: dict[str, Counter[tuple[str, str]]] = {fate: Counter() for fate in _FATES}
    members: Counter[bool] = Counter()
    for one, told in zip(known, _told(file, known), strict=True):
        ruling = _ruling(one, told, layouts, same=False)
        if ruling[1] == "wrong" and told["objects"] and _holds(told["objects"][0], one, other, same=False):
            ruling = ruling[0], "right"
        counts[one.fate][ruling] += 1
        if ruling == ("resolved", "wrong"):
            print(f"{one.fate}: {_both(one, told)}")
        if ruling == ("resolved", "right"):
            members.update(_members(one, told, layouts))
    _show(counts)
    print(f"members without a question mark: {members[True]} right, {members[False]} wrong")


def _members(known: Known, told: dict[str, Any], layouts: Layouts) -> Iterator[bool]:
    """Whether each member that is told without a question mark is, or ends in, the one that was meant."""
    leaves = flatten(layouts.variants(known.type)[0], layouts)
    for member in told["members"]:
        meant = {leaf.path for leaf in leaves if leaf.offset == member["offset"] - known.start}
        if meant and member["object_offset"] is not None and not member["doubted"]:
            path = member["path"]
            ends = ((one, path) for one in meant), ((path, one) for one in meant)
            yield any(long == short or long.endswith(f".{short}") for pairs in ends for long, short in pairs) or any(
                one.startswith((f"{path}.", f"{path}[")) or path.startswith((f"{one}.", f"{one}[")) for one in meant
            )


def _show(counts: dict[str, Counter[tuple[str, str]]]) -> None:
    print("| read with | lines |", " | ".join(f"{one}, {two}" for one in _OUTCOMES for two in _RULINGS), "|")
    for side, found in counts.items():
        cells = [str(found[outcome, ruling]) for outcome in _OUTCOMES for ruling in _RULINGS]
        print(f"| {side} | {found.total()} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
