# SPDX-License-Identifier: GPL-2.0-or-later
"""How much ``linesmith hot`` tells of the text of a report, where the memory of the recorded machine is known.

    PYTHONPATH=tests python tests/bench/text_against_snapshot.py RECORDED_VMLINUX OTHER_VMLINUX RECORDING...

The recordings are those of ``linesmith record --vmlinux RECORDED_VMLINUX``, whose snapshots say which object lies on
each line. Their hottest lines with an object of one known type are written as ``perf c2c report`` would print them,
with addresses that say nothing, and read with both files. Right is the type of the snapshot, one within it at that
place or one around it, for the recorded build at that start as well; ``page`` and what is laid over it count as one.
Printed are the counts of either file, and each line that was named wrongly for sure.
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
from typing import Any

from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render

from linesmith.analyzer.attribution.by_object import lines_apart
from linesmith.analyzer.layouts import dwarf
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import PAGE_OVERLAYS
from linesmith.analyzer.model import Access, CacheLine, Layout, ObjectArea, Profile
from linesmith.plugins.registry import read_profiles

_LINE = 64
_SECONDS = 900
_RULINGS = ("right", "wrong")
_OUTCOMES = ("resolved", "inner type only", "cannot tell")


@dataclass(frozen=True)
class Known:
    """A line as the snapshot knows it: a record called ``type`` that begins ``start`` bytes from the line."""

    line: CacheLine
    type: str
    start: int


def main() -> None:
    """Write each recording as text, let hot read it with both files, and count."""
    options = _options()
    layouts = dwarf.read_layouts(options.recorded).layouts
    counts: dict[str, Counter[tuple[str, str]]] = {"recorded": Counter(), "other": Counter()}
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
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--lines", type=int, default=30)
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
    """What hot says of the lines as text, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "report.txt"
        text.write_text(render(ReportSpec(tuple(_spec(one, at) for at, one in enumerate(known)))))
        command = Path(sys.executable).with_name("linesmith")
        words: list[str | Path] = [command, "hot", file, text, "--format", "json", "--top", str(len(known))]
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


def _show(counts: dict[str, Counter[tuple[str, str]]]) -> None:
    print("| read with | lines |", " | ".join(f"{one}, {two}" for one in _OUTCOMES for two in _RULINGS), "|")
    for side, found in counts.items():
        cells = [str(found[outcome, ruling]) for outcome in _OUTCOMES for ruling in _RULINGS]
        print(f"| {side} | {found.total()} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
