# SPDX-License-Identifier: GPL-2.0-or-later
"""Every record pahole prints of a real kernel has the same layout here; where pahole errs, the compiler decides."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from c_source import compiled
from pahole_text import PaholeRecord, records
from parity import differences, members_compared

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout
from linesmith.analyzer.report.pahole import render_text

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


@pytest.mark.real
def test_every_record_of_the_kernel_has_the_layout_that_pahole_prints(vmlinux: Path) -> None:
    layouts = read_layouts(vmlinux).layouts
    structs = members = 0
    found: list[str] = []
    for record in printed(vmlinux):
        structs += record.kind == "struct"
        members += members_compared(record)
        found += closest(record, layouts)
    print(f"compared {structs} structs, {members} members")
    assert found == []
    assert structs > FEWEST_STRUCTS


def holds(tmp_path: Path, source: str, *claims: str) -> None:
    """Let the compiler itself confirm claims about the types of ``source``."""
    asserts = "".join(f'_Static_assert({claim}, "{claim}");\n' for claim in claims)
    compiled(tmp_path, f"#include <stddef.h>\n{source}\n{asserts}")


def only(elf: Path, name: str) -> tuple[PaholeRecord, Layout, Layouts]:
    layouts = read_layouts(elf).layouts
    return next(printed(elf, "-C", name)), layouts.variants(name)[0], layouts


def test_a_moved_member_would_be_noticed(tmp_path: Path) -> None:
    record, layout, layouts = only(compiled(tmp_path, "struct pair { char a; long b; } pair;"), "pair")
    assert differences(record, layout, layouts) == []
    moved = replace(layout, members=(layout.members[0], replace(layout.members[1], offset=16)), size=24)
    assert differences(record, moved, layouts) == [
        "pair: size, padding, bit padding (16, 0, 0) printed, (24, 0, 0) read",
        "pair.a: hole 7 printed, 15 read",
        "pair.b: offset 8 printed, 16 read",
    ]


def test_a_part_with_a_tag_has_no_name(tmp_path: Path) -> None:
    source = "struct head { long refs; char kind; };\nstruct queue { char tag; struct head; int last; } queue;"
    record, layout, layouts = only(compiled(tmp_path, source, "-fms-extensions"), "queue")
    assert [one.name for one in layout.members] == ["tag", "", "last"]
    assert differences(record, layout, layouts) == []


ATOMIC = "struct counter { int plain; _Atomic long hits; _Atomic(int *) last; } counter;"


def test_pahole_loses_atomic_members_and_the_compiler_has_them(tmp_path: Path) -> None:
    record, layout, layouts = only(compiled(tmp_path, ATOMIC), "counter")
    assert differences(record, layout, layouts) != []
    assert [(one.name, one.offset, one.size) for one in layout.members] == [
        ("plain", 0, 4),
        ("hits", 8, 8),
        ("last", 16, 8),
    ]
    holds(
        tmp_path,
        ATOMIC,
        "offsetof(struct counter, hits) == 8",
        "offsetof(struct counter, last) == 16",
        "sizeof counter.hits == 8",
        "sizeof counter == 24",
    )


PACKED = "struct wire { long at; int size; } __attribute__((packed, aligned(4)));\nstruct wire wire;"


def test_pahole_loses_the_alignment_of_a_packed_struct(tmp_path: Path) -> None:
    elf = compiled(tmp_path, PACKED)
    layout = read_layouts(elf).layouts.variants("wire")[0]
    assert text_of(elf, "wire").rstrip().endswith("} __attribute__((__packed__));")
    assert (layout.size, layout.alignment) == (12, 4)
    holds(tmp_path, PACKED, "_Alignof(struct wire) == 4", "sizeof(struct wire) == 12")


ALIGNED_UNION = "union slot { int word; char bytes[6]; } __attribute__((aligned(64)));\nunion slot slot;"


def test_pahole_loses_the_alignment_of_a_union(tmp_path: Path) -> None:
    elf = compiled(tmp_path, ALIGNED_UNION)
    layout = read_layouts(elf).layouts.variants("slot")[0]
    assert "aligned" not in text_of(elf, "slot")
    assert (layout.size, layout.alignment) == (64, 64)
    holds(tmp_path, ALIGNED_UNION, "_Alignof(union slot) == 64", "sizeof(union slot) == 64")


def text_of(elf: Path, name: str) -> str:
    done = subprocess.run(["pahole", "-F", "dwarf", "-C", name, elf], capture_output=True, text=True, check=True)
    return done.stdout


HIDDEN = "typedef struct { long at; char tag; } mark_t;\nstruct holder { mark_t mark; int last; } holder;"


def test_pahole_does_not_see_the_padding_of_a_struct_behind_a_typedef(tmp_path: Path) -> None:
    elf = compiled(tmp_path, HIDDEN)
    layouts = read_layouts(elf).layouts
    assert "last struct has" not in text_of(elf, "holder")
    assert "/* XXX last struct has 7 bytes of padding */" in render_text(layouts.variants("holder"), layouts)
    holds(tmp_path, HIDDEN, "sizeof(mark_t) == 16", "offsetof(mark_t, tag) == 8")


PART = "struct part { long a; int b; } __attribute__((packed));"
AROUND = PART + "\nstruct table { int n; struct part of[3]; } table;"


def test_pahole_takes_a_struct_around_a_packed_one_for_packed(tmp_path: Path) -> None:
    elf = compiled(tmp_path, AROUND)
    layouts = read_layouts(elf).layouts
    assert text_of(elf, "table").rstrip().endswith("} __attribute__((__packed__));")
    assert render_text(layouts.variants("table"), layouts).endswith("\n};\n")
    holds(tmp_path, AROUND, "_Alignof(struct table) == 4", "offsetof(struct table, of) == 4")
