# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith slab``: what it says of objects in slabs, how it knows, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from math import exp
from pathlib import Path

import pytest
from c_source import compiled
from documented import obeys
from linesmith_command import linesmith
from said_tables import Case, cases

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import SlabBasis, SlabCache, SlabGeometry
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.starts import PlacedStart, SlabStarts, machines_with

SOURCES = Path(__file__).with_name("sources")
SOURCE = (SOURCES / "kernel.c").read_text()


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("kernel"), SOURCE)


def _text(*arguments: str | Path) -> str:
    run = linesmith("slab", *arguments)
    assert run.stderr == ""
    return run.stdout


def test_two_types_are_told_apart_and_together(kernel: Path) -> None:
    expected = Path(__file__).with_name("sources") / "two_types.txt"
    assert _text(kernel, "vm_area_struct", "vma_lock", "--kernel", "6.13") == expected.read_text()


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("said.txt")), ids=str)
def test_what_is_said_of_a_cache(case: Case, kernel: Path) -> None:
    case.check(linesmith("slab", kernel, *" ".join(case.all("$")).split()))


@pytest.mark.parametrize(("release", "stride"), [("6.18", 120), ("7.2", 112)])
def test_later_inodes_of_ext4_have_room_for_the_free_pointer(tmp_path: Path, release: str, stride: int) -> None:
    kernel = compiled(tmp_path, "struct ext4_inode_info { long all[14]; } one;")
    assert f"112 bytes, aligned to 8, {stride} apart" in _text(kernel, "ext4_inode_info", "--kernel", release)


def test_an_inode_of_a_socket_is_larger_where_it_has_attributes_of_its_own(tmp_path: Path) -> None:
    record = "struct socket_alloc { long all[16]; } __attribute__((aligned(64)));"
    kernel = compiled(tmp_path, f"{record} struct sockfs_inode {{ long attributes; struct socket_alloc inode; }} one;")
    text = _text(kernel, "socket_alloc", "--kernel", "7.2")
    assert "place     sockfs_inode.inode, 64 bytes into each object" in text
    assert "cache sock_inode_cache, computed from the cache's flags: as sock_init() creates it" in text


def test_a_program_is_said_to_be_no_kernel(tmp_path: Path) -> None:
    program = _linked(tmp_path, "struct connection { char all[56]; } one; int main(void) { return 0; }")
    sentence = "the ELF file is a program without the banner of a kernel: only a kernel's objects lie in slabs"
    assert f"\n{sentence}" in _text(program, "connection")
    assert sentence not in _text(program, "connection", "--kernel", "6.1")
    assert sentence in json.loads(_text(program, "connection", "--format", "json"))["cautions"][0]


def test_a_banner_makes_a_program_a_kernel(tmp_path: Path) -> None:
    source = 'char banner[] = "Linux version 6.1.0 (gcc)"; struct private { long a; } one; int main(void) { return 0; }'
    text = _text(_linked(tmp_path, source), "private")
    assert text.startswith("Linux 6.1, 64 CPUs, pages of 4096 bytes\n\n")


@pytest.mark.parametrize(
    ("cache", "values", "arguments", "shown"),
    [
        ("vm_area_struct", (160, 192, 21, 0), "vm_area_struct", ["measured: in /sys/kernel/slab", "to 64, 192 apart"]),
        ("vm_area_struct", (152, 152, 26, 0), "vm_area_struct", ["computed from the cache's flags"]),  # another build's
        (  # a cache that is named may have larger objects
            "mine",
            (1000, 1024, 16, 2),
            "private --cache mine",
            ["measured: in /sys/kernel/slab; its objects have 1000 bytes, private has 100\n"],
        ),
        ("mm_struct", (164, 192, 21, 0), "mm_struct", ["measured"]),  # with what is added at boot
    ],
)
def test_what_the_kernel_says_wins(
    cache: str, values: tuple[int, int, int, int], arguments: str, shown: list[str], kernel: Path, tmp_path: Path
) -> None:
    text = _text(kernel, *arguments.split(), "--slabinfo", _facts(tmp_path, cache, *values))
    assert f"cache {cache}, {shown[0]}" in text
    assert all(one in text for one in shown)


def _heading(text: str) -> str:
    """What stands above the first type, as one line."""
    return " ".join(text.partition("\n\n")[0].split())


def test_the_heading_does_not_call_a_measured_machine_another(kernel: Path, tmp_path: Path) -> None:
    facts = _facts(tmp_path, "vm_area_struct", 160, 192, 21, 0)
    measured = _text(kernel, "vm_area_struct", "--slabinfo", facts)
    both = _text(kernel, "vm_area_struct", "vma_lock", "--slabinfo", facts, "--kernel", "6.1")
    assert _heading(measured) == "the machine that --slabinfo describes, pages of 4096 bytes"
    assert _heading(both) == (
        "Linux 6.1, 64 CPUs, pages of 4096 bytes; what is measured is of the machine that --slabinfo describes"
    )


def test_the_heading_covers_general_caches_that_are_measured(kernel: Path, tmp_path: Path) -> None:
    """That the record comes from kmalloc() is assumed by the rules, where its objects lie is measured."""
    text = _text(kernel, "private", "--slabinfo", _facts(tmp_path, "kmalloc-128", 128, 128, 32, 0))
    assert _heading(text).endswith("; what is measured is of the machine that --slabinfo describes")
    assert "so kmalloc() is assumed; its geometry is measured" in " ".join(text.split())


@pytest.mark.parametrize("types", ["vm_area_struct", "inode address_space"], ids=["one type", "a part of the other"])
def test_costs_add_up_only_where_each_type_has_objects_of_its_own(types: str, kernel: Path) -> None:
    assert "together:" not in _text(kernel, *types.split())


def test_the_document_obeys_its_schema(kernel: Path) -> None:
    document = json.loads(_text(kernel, "vm_area_struct", "vma_lock", "address_space", "--format", "json"))
    obeys(document, "slab")
    assert [len(one["places"]) for one in document["types"]] == [1, 1, 2]
    assert document["types"][0]["places"][0]["pages_per_1000"] == 40
    assert document["cautions"] == []  # a part of a kernel is not taken for a program


@pytest.mark.parametrize(
    "damage", [b"", b"dentry/slab_size:many\n", b"\xff\xfe/order:1", b"a/slab_size:" + b"9" * 5000]
)
def test_facts_that_describe_no_cache_are_refused(kernel: Path, tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "facts").write_bytes(damage)
    run = linesmith("slab", kernel, "private", "--slabinfo", tmp_path / "facts")
    assert (run.returncode, run.stdout) == (2, "")
    assert "has no slab cache; give /sys/kernel/slab or the output of grep" in run.stderr


def _linked(folder: Path, source: str) -> Path:
    program = folder / "program"
    subprocess.run(["gcc", "-o", program, compiled(folder, source)], check=True)
    return program


def _values(size: int, stride: int, objects: int, order: int) -> dict[str, int]:
    return {"object_size": size, "slab_size": stride, "objs_per_slab": objects, "order": order, "align": 64}


def _facts(folder: Path, cache: str, size: int, stride: int, objects: int, order: int) -> Path:
    rows = (
        f"/sys/kernel/slab/{cache}/{name}:{value}\n" for name, value in _values(size, stride, objects, order).items()
    )
    (folder / "facts.txt").write_text("".join(rows))
    return folder / "facts.txt"


# The address of a line and the geometry of caches say where on it an object of a type can begin


PAGE = 0xFFFF_8880_0001_0000
STARTS = (SOURCES / "starts.c").read_text()


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> Layouts:
    return read_layouts(compiled(tmp_path_factory.mktemp("kernel"), STARTS)).layouts


def _starts(layouts: Layouts, cpus: int | None = 8) -> SlabStarts:
    return SlabStarts(Containment(layouts), Kernel(), machines_with(cpus))


def _at(layouts: Layouts, name: str, line: int | None, starts: SlabStarts | None = None) -> dict[int, float]:
    """What is possible on a line, less what smaller slabs make possible besides."""
    found = (starts or _starts(layouts)).starts(layouts.variants(name)[0].id, line, 64)
    return {start: round(share, 2) for start, share in sorted(found.items()) if share > 0.05}


@pytest.mark.parametrize(
    ("name", "geometry", "line", "expected"),
    [
        # A red zone in front moves all objects.
        ("dentry", SlabGeometry(192, 8, 216, 0, 18, lead=8), PAGE, {8: 1.0}),
        # The second line has the end of the first object and most of the second: its last byte is enough.
        ("odd", SlabGeometry(65, 8, 72, 0, 56), PAGE + 64, {-64: 0.5, 8: 0.5}),
    ],
)
def test_starts_in_a_cache(
    name: str, geometry: SlabGeometry, line: int, expected: dict[int, float], layouts: Layouts
) -> None:
    measured = SlabCache(name, geometry, SlabBasis.MEASURED)
    starts = SlabStarts(Containment(layouts), Kernel(measured={name: measured}), machines_with(8))
    layout = layouts.variants(name)[0].id
    assert starts.starts(layout, line, 64) == expected
    assert all(starts.agrees(PlacedStart(layout, line + start)) for start in expected)
    assert not any(starts.agrees(PlacedStart(layout, line + start - 8)) for start in expected)


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        # Objects of 192 bytes: the first ends at 192, so the third line of a page has its last third.
        ("dentry", PAGE + 128, {-128: 1.0}),
        # Objects of 152 bytes: the first covers 24 bytes of the third line, the second the others.
        ("vm_area_struct", PAGE + 128, {-128: 0.5, 24: 0.5}),
        # 21 objects of 192 bytes fill 4,032 bytes of a page.
        ("dentry", PAGE + 3840, {0: 1.0}),
        ("dentry", PAGE + 4032, {}),
        # Inodes of 176 bytes with a constructor are 184 bytes apart: the second one's part begins at 184 + 80.
        ("address_space", PAGE + 256, {8: 1.0}),
        # With five levels of page tables the direct map is elsewhere.
        ("dentry", 0xFF2C_4645_0040_8080, {-128: 1.0}),
    ],
)
def test_starts_of_a_known_cache(name: str, line: int, expected: dict[int, float], layouts: Layouts) -> None:
    assert _at(layouts, name, line) == expected


@pytest.mark.parametrize("line", [None, 0x40_0000, 0xFFFF_FFFF_8100_0000])
def test_outside_the_direct_map_nothing_is_known(layouts: Layouts, line: int | None) -> None:
    assert _at(layouts, "dentry", line) == {}
    assert _starts(layouts).log_prior(layouts.variants("dentry")[0].id, 0, line, 64) is None


@pytest.mark.parametrize(
    ("name", "start", "line", "prior"),
    [
        ("dentry", -128, PAGE + 128, 0.9),
        ("dentry", -64, PAGE + 128, 0.1 / 32),  # impossible is unlikely, but not forbidden
        ("task_struct", 1, PAGE, 0.6 / 8064),  # an assumed cache of single bytes: nearly anywhere
    ],
)
def test_the_prior_of_a_start(name: str, start: int, line: int, prior: float, layouts: Layouts) -> None:
    found = _starts(layouts).log_prior(layouts.variants(name)[0].id, start, line, 64)
    assert found is not None
    assert exp(found) == pytest.approx(prior, rel=0.011)


@pytest.mark.parametrize(("offset", "byte"), [(0, 0), (191, 191), (192, 0), (200, 8), (-8, 184)])
def test_beside_an_object_lie_bytes_of_the_next_one(layouts: Layouts, offset: int, byte: int) -> None:
    assert _starts(layouts).in_row(layouts.variants("dentry")[0].id, offset) == byte


@pytest.mark.parametrize("name", ["address_space", "task_struct"])
def test_what_lies_beside_a_part_or_an_assumed_object_is_not_known(layouts: Layouts, name: str) -> None:
    assert _starts(layouts).in_row(layouts.variants(name)[0].id, 9000) == 9000


def test_only_caches_that_are_sure_allow_an_object_its_place(layouts: Layouts) -> None:
    starts = _starts(layouts)
    dentry, task = layouts.variants("dentry")[0].id, layouts.variants("task_struct")[0].id
    assert starts.allows(dentry, -128, PAGE + 128, 64)
    assert not starts.allows(dentry, -64, PAGE + 128, 64)
    assert not starts.allows(dentry, 0, None, 64)
    assert starts.starts(task, PAGE, 64)
    assert not starts.allows(task, 0, PAGE, 64)


def test_with_an_unknown_number_of_cpus_all_sizes_of_slabs_count(layouts: Layouts) -> None:
    """In the second page of a slab of several pages objects begin elsewhere than in the first."""
    assert set(_at(layouts, "dentry", PAGE + 4096, _starts(layouts, None))) == {-64, 0}


def test_objects_that_are_sure_tell_the_size_of_slabs(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    sure = [PAGE + 192 * 22, PAGE + 192 * 41, PAGE + 2 * 4096]
    learnt = _starts(layouts, None).learnt(PlacedStart(dentry, one) for one in sure)
    assert [cpus for cpus, share in learnt.machines.cpus if share > 0.01] == [16, 32, 64, 128, 256]
    assert set(_at(layouts, "vm_area_struct", PAGE + 4096, learnt)) == {-144, 0, 8}


def test_a_type_that_is_elsewhere_is_distrusted(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    odd = [PlacedStart(dentry, PAGE + 192 * number + 8) for number in range(3)]
    learnt = _starts(layouts).learnt(odd)
    assert learnt.machines.distrusted == {dentry}
    assert learnt.in_row(dentry, 200) == 200  # what lies beside it is not known either
    prior = learnt.log_prior(dentry, -120, PAGE + 128, 64)
    assert prior is not None
    assert exp(prior) == pytest.approx(0.9 / 32, rel=0.01)


def test_two_objects_elsewhere_prove_nothing(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    odd = [PlacedStart(dentry, PAGE + 8), PlacedStart(dentry, PAGE + 200)]
    assert _starts(layouts).learnt(odd).machines.distrusted == frozenset()
