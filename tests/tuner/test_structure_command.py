# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith slab --pull-in``, ``--push-out`` and ``--shrink``: what they say, and what gcc makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from c_source import compiled
from linesmith_command import linesmith

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.report import structure_json

DOCS = Path(__file__).resolve().parents[2] / "docs"
LOCK = (
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
    return f"{LOCK}struct vm_area_struct {{\n{members}\n}};\nstruct vm_area_struct one;\nstruct vma_lock other;\n"


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


def test_a_small_lock_and_cold_members_behind_it_make_192_bytes(kernel: Path) -> None:
    words = ("--pull-in", "vm_lock", "--shrink", "vm_lock=8", "--cold", "shared", "--without", "numab_state")
    rows = said(kernel, *words)
    (last,) = (row for row in rows if row.endswith("shared behind it: 160 + 40 -> 192 bytes"))
    assert rows[rows.index(last) + 3].startswith("              then  192 bytes, 48 pages for 1,000 objects")


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
    jsonschema.validate(document, structure_json.schema())


def test_the_schema_is_beside_its_page() -> None:
    schema = json.loads(json.dumps(structure_json.schema()))
    assert json.loads((DOCS / "schema-structure.json").read_text()) == schema


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--cold shared", "--cold and --without go with --pull-in, --push-out or --shrink"),
        ("--shrink vm_lock=4 --cold shared", "--cold goes with --pull-in"),
        ("--shrink vm_lock", "--shrink vm_lock names no member and size; write it like --shrink vm_lock=8"),
        ("--pull-in vm_lock --shrink shared=8", "--pull-in and --shrink name different members"),
        ("--push-out shared --shrink shared=8", "--push-out goes without --pull-in and --shrink"),
        ("--pull-in vm_pgoff", "vm_pgoff of struct vm_area_struct is no pointer to a record whose layout is known"),
        ("--push-out nobody", "struct vm_area_struct has no member nobody; its members are vm_start, vm_end"),
        ("vma_lock --push-out lock", "a change is asked for of one TYPE"),
    ],
)
def test_what_makes_no_sense_is_refused(kernel: Path, words: str, message: str) -> None:
    done = linesmith("slab", kernel, "vm_area_struct", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
