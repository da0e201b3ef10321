# SPDX-License-Identifier: GPL-2.0-or-later
"""Every record pahole prints of a real kernel has the same layout here; where pahole errs, the compiler decides."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from c_source import compiled
from keeping import Keeper
from kernel_index import index_of
from pahole_text import PaholeMember, PaholeRecord, records

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.gaps import Gaps, gaps
from linesmith.analyzer.model import Layout, RecordKind
from linesmith.analyzer.report import pahole

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


def only(elf: Path, name: str) -> tuple[PaholeRecord, Layout, Layouts]:
    layouts = read_layouts(elf).layouts
    return next(printed(elf, "-C", name)), layouts.variants(name)[0], layouts


def test_a_part_with_a_tag_has_no_name(tmp_path: Path) -> None:
    source = "struct head { long refs; char kind; };\nstruct queue { char tag; struct head; int last; } queue;"
    record, layout, layouts = only(compiled(tmp_path, source, "-fms-extensions"), "queue")
    assert [one.name for one in layout.members] == ["tag", "", "last"]
    assert differences(record, layout, layouts) == []


# What pahole loses: types, and what the compiler itself confirms of them.
LOST = {
    "atomic members": ("struct counter { int plain; _Atomic long hits; _Atomic(int *) last; } counter;",
        ("offsetof(struct counter, hits) == 8", "offsetof(struct counter, last) == 16", "sizeof counter.hits == 8")),
    "the alignment of a packed struct": (
        "struct wire { long at; int size; } __attribute__((packed, aligned(4)));\nstruct wire wire;",
        ("_Alignof(struct wire) == 4", "sizeof(struct wire) == 12"),
    ),
    "the alignment of a union": (
        "union slot { int word; char bytes[6]; } __attribute__((aligned(64)));\nunion slot slot;",
        ("_Alignof(union slot) == 64", "sizeof(union slot) == 64"),
    ),
    "the padding of a struct behind a typedef": (
        "typedef struct { long at; char tag; } mark_t;\nstruct holder { mark_t mark; int last; } holder;",
        ("sizeof(mark_t) == 16", "offsetof(mark_t, tag) == 8"),
    ),
    "that a struct around a packed one is not packed": (
        "struct part { long a; int b; } __attribute__((packed));\nstruct table { int n; struct part of[3]; } table;",
        ("_Alignof(struct table) == 4", "offsetof(struct table, of) == 4"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All these types, with the compiler's word for what pahole does not tell."""
    asserts = "".join(f'_Static_assert({claim}, "{claim}");\n' for _, claims in LOST.values() for claim in claims)
    source = "\n".join(source for source, _ in LOST.values())
    return compiled(tmp_path_factory.mktemp("lossy"), f"#include <stddef.h>\n{source}\n{asserts}")


def test_what_pahole_loses_is_read_as_the_compiler_has_it(lossy: Path) -> None:
    layouts = read_layouts(lossy).layouts
    theirs = {name: text_of(lossy, name) for name in ("wire", "slot", "holder", "table")}
    ours = {name: pahole.render_text(layouts.variants(name), layouts) for name in theirs}
    counter, wire, slot = (layouts.variants(name)[0] for name in ("counter", "wire", "slot"))

    assert differences(next(printed(lossy, "-C", "counter")), counter, layouts) != []
    members = [(one.name, one.offset, one.size) for one in counter.members]
    assert (members, counter.size) == ([("plain", 0, 4), ("hits", 8, 8), ("last", 16, 8)], 24)

    assert theirs["wire"].rstrip().endswith("} __attribute__((__packed__));")
    assert (wire.size, wire.alignment) == (12, 4)

    assert "aligned" not in theirs["slot"]
    assert (slot.size, slot.alignment) == (64, 64)

    assert "last struct has" not in theirs["holder"]
    assert "/* XXX last struct has 7 bytes of padding */" in ours["holder"]

    assert theirs["table"].rstrip().endswith("} __attribute__((__packed__));")
    assert ours["table"].endswith("\n};\n")


def text_of(elf: Path, name: str) -> str:
    done = subprocess.run(["pahole", "-F", "dwarf", "-C", name, elf], capture_output=True, text=True, check=True)
    return done.stdout
