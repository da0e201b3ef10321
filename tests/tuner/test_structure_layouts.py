# SPDX-License-Identifier: GPL-2.0-or-later
"""Records with another structure: members pulled in, pushed out or shrunk, their cost, and what gcc makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from c_source import compiled
from documented import obeys
from hand_made import bits, flexible, held, offsets, scalar, struct, table
from linesmith_command import linesmith

from linesmith.analyzer.base.errors import StructureRefused
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Layout, Member, MemberCategory, SlabMachine, StructuralAdvice
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.tuner.structure.case import Allocation, without
from linesmith.tuner.structure.locks import made_smaller
from linesmith.tuner.structure.members import Pulling, pulled_in, put_apart

LOCK = struct("vma_lock", scalar("word", 40))
KERNEL = Kernel(SlabMachine(64, release=(6, 12)))


def pointer(name: str) -> Member:
    return replace(scalar(name), type="struct vma_lock *", category=MemberCategory.POINTER, target="vma_lock")


# The sizes of struct vm_area_struct in Linux 6.12 without NUMA balancing and userfaultfd.
AREA = struct(
    "vm_area_struct",
    *(scalar("vm_start", 16), scalar("vm_mm"), scalar("vm_page_prot"), scalar("vm_flags"), scalar("detached", 1)),
    *(scalar("vm_lock_seq", 4), pointer("vm_lock"), scalar("shared", 32), scalar("anon_vma_chain", 16)),
    *(scalar("anon_vma"), scalar("vm_ops"), scalar("vm_pgoff"), scalar("vm_file"), scalar("vm_private_data")),
    *(scalar("swap_readahead_info"), scalar("vm_policy")),
)
Advice = tuple[StructuralAdvice, ...]


def home(layouts: LayoutTable, kernel: Kernel | None = KERNEL) -> Allocation:
    return Allocation(kernel, Containment(layouts))


def pulled(
    name: str,
    cold: tuple[str, ...] = (),
    functions: dict[str, int] | None = None,
    outer: Layout = AREA,
    kernel: Kernel | None = KERNEL,
) -> Advice:
    """What the lock becomes inside the record."""
    layouts = table(outer, LOCK)
    return tuple(pulled_in(outer, layouts, home(layouts, kernel), Pulling(name, cold=cold), functions or {}))


def test_a_lock_pulled_in_and_aligned_or_behind_what_is_there() -> None:
    alone, small = pulled("vm_lock")
    assert alone.notes[0] == "vm_lock has its line to itself where objects begin with a line."
    assert small.notes[0].endswith("objects begin with a line: shared, anon_vma_chain, anon_vma.")
    assert (alone.members, small.members) == (("vm_lock",), ("vm_lock",)), "nothing moves that nobody calls cold"


def test_cold_members_behind_a_small_lock_make_192_bytes() -> None:
    last = pulled("vm_lock", cold=("shared",))[-1]
    assert last.members == ("vm_lock", "shared")
    assert [use.pages_per_1000 for use in last.memory_after] == [48]
    assert (last.after[0].size, last.after[0].alignment) == (192, 64)
    assert (offsets(last.after[0])["vm_lock"], offsets(last.after[0])["shared"]) == (128, 136)
    functions = {"swap_readahead_info": 2, "detached": 5, "shared": 7, "vm_file": 200}
    last = pulled("vm_lock", functions=functions)[-1]
    assert last.members == ("vm_lock", "shared")
    assert last.notes[1].startswith("Taken for cold because the fewest functions touch them: shared (7).")


def test_where_objects_begin_is_told() -> None:
    program = pulled("vm_lock", kernel=None)[0]
    assert (program.memory_before, program.memory_after) == ((), ()), "a program has no slabs to count pages of"
    assert "Holds where objects are allocated at multiples of 64 bytes." in program.notes
    outer = struct("mempolicy", *(scalar(f"m{number}") for number in range(11)), pointer("lock"))
    words = pulled("lock", outer=outer)[0]
    assert "The cache aligns its objects to 8 bytes: create it with SLAB_HWCACHE_ALIGN." in words.notes
    assert without(AREA, ("swap_readahead_info", "vm_policy")).size == 144


# A record with a lock of 40 bytes, inside the objects of a cache.
RWSEM = struct("rw_semaphore", scalar("words", 40))
MAPPING = struct("address_space", scalar("host"), held("i_mmap_rwsem", RWSEM), scalar("flags"))
INODE = struct("inode", scalar("i_mode", 2), held("i_data", MAPPING), scalar("i_private"))
LAYOUTS = table(RWSEM, MAPPING, INODE)


def test_smaller_and_pushed_out_members_of_a_record_in_another() -> None:
    (one,) = made_smaller(MAPPING, home(LAYOUTS), "i_mmap_rwsem", 8)
    assert (MAPPING.size, one.after[0].size, INODE.size) == (56, 24, 72)
    uses = one.memory_before + one.memory_after
    assert [(use.cache, use.object_bytes) for use in uses] == [("inode_cache", 72), ("inode_cache", 40)]
    (one,) = put_apart(MAPPING, home(LAYOUTS), "i_mmap_rwsem")
    assert one.sentence.endswith("aligned to a line: 56 -> 24 + 64 bytes")
    assert [use.object_bytes for use in one.memory_after] == [40, 64]


PACKET = struct("packet", scalar("length"), pointer("lock"), scalar("cold"), flexible("data"))
MANY = struct("task_struct", *(scalar(f"m{number}") for number in range(15)))
FLAGS = struct("flags", bits("dirty", 1), bits("locked", 1))


def test_nothing_is_put_behind_an_array_without_end() -> None:
    after = pulled("lock", outer=PACKET)[0].after[0]
    assert [one.name for one in after.members] == ["length", "lock", "cold", "data"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: pulled("lock"), "struct vm_area_struct has no member lock; did you mean vm_lock"),
        (lambda: [without(MANY, ("nosuch",))], r"its members are m0, .*, m11 and 3 more$"),
        (lambda: pulled("lock", ("cold",), outer=PACKET), "lock, cold may not move to the end of struct packet"),
        (lambda: put_apart(FLAGS, home(table(FLAGS)), "dirty"), "dirty is a bit-field and cannot be an object of its"),
    ],
)
def test_what_cannot_be_changed_is_refused(asked: Callable[[], Iterable[object]], message: str) -> None:
    with pytest.raises(StructureRefused, match=message):
        tuple(asked())


DOCS = Path(__file__).resolve().parents[2] / "docs"
LOCKS = (
    "struct rw_semaphore { long count; long owner; char wait[24]; };\nstruct vma_lock { struct rw_semaphore lock; };\n"
)
MEMBERS = """\
  long vm_start, vm_end; void *vm_mm; long vm_page_prot, vm_flags; _Bool detached; int vm_lock_seq; {first}
  {shared} struct {{ long next, prev; }} anon_vma_chain; void *anon_vma, *vm_ops; long vm_pgoff; void *vm_file,
  *vm_private_data; long swap_readahead_info; void *vm_policy{numab}; {last}"""
SHARED = "struct { long rb[3]; long rb_subtree_last; } shared;"


def area(first: str = "", shared: str = SHARED, numab: str = "", last: str = "") -> str:
    """The members of ``struct vm_area_struct`` in Linux 6.12, with the lock or its pointer where it is wanted."""
    members = MEMBERS.format(first=first, shared=shared, numab=numab, last=last)
    return f"{LOCKS}struct vm_area_struct {{\n{members}\n}};\nstruct vm_area_struct one;\nstruct vma_lock other;\n"


NOW = area("struct vma_lock *vm_lock;", numab=", *numab_state")
LINE = "__attribute__((aligned(64)))"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("kernel"), NOW)


def said(kernel: Path, *words: str) -> list[str]:
    done = linesmith("slab", kernel, "vm_area_struct", "--kernel", "6.12", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_what_pulling_in_costs_is_told_in_pages(kernel: Path) -> None:
    rows = said(kernel, "--pull-in", "vm_lock", "--without", "numab_state")
    assert " ".join(row.strip() for row in rows[3:5]).endswith("aligned to 64 bytes: 160 + 40 -> 256 bytes")
    assert [*rows[:3], *rows[5:9]] == [
        "Linux 6.12, 64 CPUs, pages of 4096 bytes",
        "as in a configuration without numab_state",
        "",
        "  memory      now   160 + 40 bytes, 40 + 10 = 50 pages for 1,000 objects, 19.2 MiB for 100,000",
        "                    vm_area_struct: 51 in 2 pages; vma_lock: 102 in 1 page",
        "              then  256 bytes, 64 pages for 1,000 objects, 24.4 MiB for 100,000",
        "                    vm_area_struct: 32 in 2 pages",
    ]


# Two functions touch each member but `shared`, which is touched by one.
CODE = """
#define TOUCH v->vm_start++, v->vm_end++, v->vm_mm++, v->vm_page_prot++, v->vm_flags++, v->detached = 1, \\
  v->vm_lock_seq++, v->vm_lock = 0, v->anon_vma_chain.next++, v->anon_vma++, v->vm_ops++, v->vm_pgoff++, \\
  v->vm_file++, v->vm_private_data++, v->swap_readahead_info++, v->vm_policy++, v->numab_state++
void fault(struct vm_area_struct *v) { TOUCH; }
void map(struct vm_area_struct *v) { TOUCH; v->shared.rb_subtree_last++; }
"""


def test_what_is_cold_is_guessed_from_the_code(tmp_path: Path) -> None:
    """The pages of the three steps of the kernel: a lock of its own, a member on a line, a small one with cold ones."""
    elf = compiled(tmp_path, f"{NOW}{CODE}")
    words = ("--pull-in", "vm_lock", "--without", "numab_state", "--format", "json")
    ways = json.loads(linesmith("slab", elf, "vm_area_struct", "--kernel", "6.12", *words).stdout)["advice"]
    before = [use["pages_per_1000"] for use in ways[0]["memory_before"]]
    after = [way["memory_after"][0]["pages_per_1000"] for way in ways]
    assert (sum(before), after[0], after[-1]) == (50, 64, 48)
    assert ways[-1]["members"] == ["vm_lock", "shared"]
    assert "Taken for cold because the fewest functions touch them: shared (1)." in ways[-1]["notes"][1]


ALIGNED = area(last=f"struct vma_lock vm_lock {LINE};", numab=", *numab_state")
COLD_BEHIND = area(shared="", last=f"long vm_lock {LINE}; {SHARED} void *numab_state;")
SHRUNK = area("void *vm_lock;", "int shared[3];", ", *numab_state")
POINTER = NOW.replace("struct { long next, prev; } anon", "void *anon")


@pytest.mark.parametrize(
    ("words", "which", "source"),
    [
        ("--pull-in vm_lock", 0, ALIGNED),
        ("--pull-in vm_lock --shrink vm_lock=8 --cold shared,numab_state", -1, COLD_BEHIND),
        ("--shrink shared=12", 0, SHRUNK),
        ("--push-out anon_vma_chain", 0, POINTER),
    ],
    ids=("pull in", "with cold members behind", "shrink", "push out"),
)
def test_gcc_lays_the_changed_record_out_alike(
    kernel: Path, tmp_path: Path, words: str, which: int, source: str
) -> None:
    done = linesmith("slab", kernel, "vm_area_struct", *words.split(), "--format", "json")
    document = json.loads(done.stdout)
    after = document["advice"][which]["after"][0]
    (layout,) = read_layouts(compiled(tmp_path, source)).layouts.variants("vm_area_struct")
    offsets = {member.name: member.offset for member in layout.members}
    assert (after["size"], {name: offset for name, offset, _ in after["members"]}) == (layout.size, offsets)
    obeys(document, "structure")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--shrink vm_lock=4 --cold shared", "--cold needs --pull-in"),
        ("--pull-in vm_lock --shrink shared=8", "--pull-in and --shrink name different members"),
        ("--pull-in vm_pgoff", "vm_pgoff of struct vm_area_struct is not a pointer to a record with a known layout"),
    ],
)
def test_what_makes_no_sense_is_refused(kernel: Path, words: str, message: str) -> None:
    done = linesmith("slab", kernel, "vm_area_struct", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
