# SPDX-License-Identifier: GPL-2.0-or-later
"""Two readers on one kernel: BTF must say what DWARF says, as far as BTF can say it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from linesmith.analyzer import _native
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.model import Layout, Member

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("readers of the kernel")]

THREADS = 2


@dataclass(frozen=True)
class Readings:
    """The records of one file by both readers."""

    dwarf: LayoutTable
    btf: LayoutTable


def table(records: _native.RecordTable) -> LayoutTable:
    return LayoutTable(msgspec.json.decode(document, type=Layout) for document in records.all_json())


@pytest.fixture(scope="module")
def readings(vmlinux: Path) -> Readings:
    file = str(vmlinux)
    return Readings(table(_native.read_dwarf(file, THREADS)), table(_native.read_btf(file)))


def places(layouts: LayoutTable, layout: Layout) -> tuple[object, ...]:
    """Kind, size and the place of every member, those of anonymous records with them."""
    return (layout.kind, layout.size, *(place(layouts, member) for member in layout.members))


def place(layouts: LayoutTable, member: Member) -> tuple[object, ...]:
    inner = None if member.record is None else layouts.by_id(member.record)
    inside = places(layouts, inner) if inner is not None and not inner.name else ()
    return (member.name, member.offset, member.size, member.bit_offset, member.bit_size, inside)


def same_places(readings: Readings, layout: Layout) -> list[Layout]:
    """DWARF's records of the name of BTF's ``layout`` that have its places."""
    wanted = places(readings.btf, layout)
    return [other for other in readings.dwarf.variants(layout.name) if places(readings.dwarf, other) == wanted]


def texts(layout: Layout, like: Layout) -> Iterator[tuple[str, str, str]]:
    """Type, declarator and category of the members that BTF can spell as DWARF does.

    Encoders multiply the ranks of an array (``m[2][3]`` becomes ``m[6]``), and BTF writes ``m[0]`` and ``m[]`` alike.
    """
    for member, known in zip(layout.members, like.members, strict=True):
        if len(known.dimensions) < 2 and 0 not in known.dimensions:
            yield (member.type, member.declarator, member.category)


def test_every_record_of_btf_lies_as_in_dwarf(readings: Readings) -> None:
    named = [layout for layout in readings.btf if layout.name]
    assert len(named) > 5000
    assert [layout.title for layout in named if not same_places(readings, layout)] == []


def test_every_layout_of_dwarf_is_in_btf(readings: Readings) -> None:
    known = {(layout.name, places(readings.btf, layout)) for layout in readings.btf}
    absent = [
        (layout.title, layout.place)
        for layout in readings.dwarf
        if layout.name and (layout.name, places(readings.dwarf, layout)) not in known
    ]
    assert absent == []
    assert set(readings.dwarf.names()) - set(readings.btf.names()) == set()


def test_members_read_alike(readings: Readings) -> None:
    different = []
    for layout in readings.btf:
        alike = same_places(readings, layout) if layout.name else []
        if alike and not any(list(texts(layout, other)) == list(texts(other, other)) for other in alike):
            different.append(layout.title)
    assert different == []
