# SPDX-License-Identifier: GPL-2.0-or-later
"""Every record pahole prints of a real kernel has the same layout here; where pahole errs, the compiler decides."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from keeping import Keeper
from kernel_index import index_of
from pahole_text import PaholeMember, PaholeRecord, records

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.gaps import Gaps, gaps
from linesmith.analyzer.model import Layout, RecordKind

# pahole 1.24 prints these of Debian's 6.1 cloud kernels; an update may add or drop some.
FEWEST_STRUCTS = 7000


@pytest.fixture(scope="module", autouse=True)
def _pahole() -> None:
    if shutil.which("pahole") is None:
        pytest.skip("pahole is not installed (Debian package dwarves)")


def printed(elf: Path, *arguments: str) -> Iterator[PaholeRecord]:
    command = ["pahole", "-F", "dwarf", *arguments, str(elf)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from records(process.stdout)
    assert process.returncode == 0


def closest(record: PaholeRecord, layouts: Layouts) -> list[str]:
    """What differs from the layout of that name that fits best; pahole prints one layout per name."""
    candidates = [one for one in layouts.variants(record.name) if one.kind.value == record.kind and not one.typedef]
    return min((differences(record, one, layouts) for one in candidates), key=len, default=[f"no {record.name}"])


def differences(printed: PaholeRecord, layout: Layout, layouts: Layouts) -> list[str]:
    """Everything in which the two disagree, in words; empty when they agree."""
    return list(_record(printed, layout, layouts, 0))


def _record(printed: PaholeRecord, layout: Layout, layouts: Layouts, base: int) -> Iterator[str]:
    found = gaps(layout)
    if len(printed.members) != len(layout.members):
        yield f"{printed.name}: {len(printed.members)} members printed, {len(layout.members)} read"
        return
    if printed.size is not None:
        theirs = (printed.size, printed.padding, printed.bit_padding)
        ours = (layout.size, found.padding, found.bit_padding)
        if theirs != ours:
            yield f"{printed.name}: size, padding, bit padding {theirs} printed, {ours} read"
    for index, (theirs_member, member) in enumerate(zip(printed.members, layout.members, strict=True)):
        yield from _member(theirs_member, _as_printed(layout, index, found, base), f"{printed.name}.{member.name}")
        if theirs_member.record and member.record is not None:
            yield from _record(theirs_member.record, layouts.by_id(member.record), layouts, base + member.offset)


def _as_printed(layout: Layout, index: int, found: Gaps, base: int) -> PaholeMember:
    member = layout.members[index]
    bit = None if member.bit_offset is None else member.bit_offset - 8 * member.offset
    behind = (0, 0) if layout.kind is RecordKind.UNION else (found.hole_after(index), found.bits_after(index))
    return PaholeMember(member.name, base + member.offset, member.size, bit, member.bit_size, *behind)


def _member(theirs: PaholeMember, ours: PaholeMember, path: str) -> Iterator[str]:
    for field in ("name", "offset", "size", "bit_start", "bit_size", "hole", "bit_hole"):
        printed, read = getattr(theirs, field), getattr(ours, field)
        if printed != read:
            yield f"{path}: {field} {printed} printed, {read} read"


@pytest.mark.real
@pytest.mark.xdist_group("reports on vmlinux")
def test_every_record_has_the_layout_that_pahole_prints(
    vmlinux: Path, kept: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(index_of(vmlinux, kept)))
    layouts = read_layouts(vmlinux).layouts
    structs = 0
    found: list[str] = []
    for record in printed(vmlinux):
        structs += record.kind == "struct"
        found += closest(record, layouts)
    assert found == []
    assert structs > FEWEST_STRUCTS
