# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory dumps as files, and snapshots: taken for the lines of a profile, saved, and read with that profile."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from c_source import compiled
from keeping import Keeper
from kernel_index import index_of
from linesmith_command import linesmith
from snapshots.conftest import Guest
from snapshots.elf_bytes import CORE, EXECUTABLE, elf, note
from snapshots.places import listed

from linesmith.analyzer.base.elf import Note
from linesmith.analyzer.base.errors import NotRecorded, SnapshotError, ToolMissing
from linesmith.analyzer.model import Access, CacheLine, ObjectArea, ObjectKind, Profile, Snapshot
from linesmith.plugins.profiles.formats import encode as encode_profile
from linesmith.plugins.recording.text import refuse_unnamed_objects
from linesmith.plugins.registry import snapshot_source
from linesmith.plugins.snapshots import pages
from linesmith.plugins.snapshots.areas import AreaMap, areas_of
from linesmith.plugins.snapshots.identify import encode, read_snapshot
from linesmith.plugins.snapshots.kernel import MemoryFile, vmcoreinfo_of
from linesmith.plugins.snapshots.pages import FrameLayout, PageTypes, PageWords
from linesmith.plugins.snapshots.pointers import TypedMemory, types_of, votes_for

SLAB = 0xFFFF_8880_0400_0000
SESSIONS = ObjectArea(ObjectKind.SLAB, "sessions", SLAB, 192, 192, 21, ("session",))
SOURCE = """
struct session { long key, renewed, all[22]; } one;
long session_renew(struct session *s) { return s->renewed += s->key; }
"""


def _profile(*addresses: int) -> Profile:
    """Each line is written at one offset and read at the same one by another CPU."""
    counts: dict[str, Any] = {"hitm_local": 100, "stores_l1_hit": 50}
    rows = ((at & ~63, Access(at & 63, "session_renew", **counts)) for at in addresses)
    lines = (CacheLine(rank, line, (access,), **counts) for rank, (line, access) in enumerate(rows))
    return Profile("", "", "hitm", tuple(lines))


def _written(folder: Path, profile: Profile) -> Path:
    (folder / "profile").write_bytes(encode_profile(profile))
    return folder / "profile"


def _saved(folder: Path, snapshot: Snapshot) -> Path:
    (folder / "map").write_bytes(encode(snapshot))
    return folder / "map"


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    snapshot = Snapshot("/proc/kcore", (SESSIONS, replace(SESSIONS, address=SLAB + 8192)), "6.1.0", "ab" * 20, ("odd",))
    assert read_snapshot(_saved(tmp_path, snapshot)) == snapshot


def test_hot_names_the_object_and_its_start_by_the_snapshot(tmp_path: Path) -> None:
    """The second object begins 192 bytes into the slab: byte 8 of it is `renewed`."""
    profile = _written(tmp_path, _profile(SLAB + 192 + 8))
    elf = compiled(tmp_path, SOURCE)
    run = linesmith("hot", elf, profile, "--full", "--snapshot", _saved(tmp_path, Snapshot("kcore", (SESSIONS,))))
    assert run.stderr == ""
    assert "slab sessions (192 bytes)" in run.stdout
    assert "renewed" in run.stdout


def test_a_line_with_the_end_of_one_object_and_the_start_of_the_next_is_told_so(tmp_path: Path) -> None:
    """Objects of 96 bytes: the second line of the slab holds 32 bytes of the first and 32 of the second."""
    source = "struct session { long key, all[11]; } one; long session_renew(struct session *s) { return s->key++; }"
    both = _profile(SLAB + 64)
    line = replace(both.lines[0], accesses=(*both.lines[0].accesses, replace(both.lines[0].accesses[0], offset=32)))
    profile = _written(tmp_path, replace(both, lines=(line,)))
    area = replace(SESSIONS, size=96, stride=96, count=42)
    words = ("--line", "0", "--snapshot", _saved(tmp_path, Snapshot("x", (area,))))
    run = linesmith("hot", compiled(tmp_path, source), profile, *words)
    assert "2 objects lie on this line: session at -0x40, session at 0x20" in " ".join(run.stdout.split())


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (b"", "is not a snapshot, or is damaged"),
        (b"{}", "is not a snapshot, or is damaged"),
        (b"[" * 100_000, "is not a snapshot, or is damaged"),
        (b'{"linesmith-snapshot": 2}', "has snapshot version 2, but this linesmith reads version 1"),
        (encode(Snapshot("x", (replace(SESSIONS, stride=0),))), "has an object of no size or beyond all addresses"),
        (encode(Snapshot("x", (replace(SESSIONS, count=1 << 60),))),
            "has an object of no size or beyond all addresses"),
    ],
)  # fmt: skip
def test_damaged_ones_are_refused(tmp_path: Path, damage: bytes, sentence: str) -> None:
    (tmp_path / "map").write_bytes(damage)
    with pytest.raises(SnapshotError, match=sentence):
        read_snapshot(tmp_path / "map")


def test_one_of_another_kernel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(SOURCE + "int main(void) { return 0; }")
    subprocess.run(["gcc", "-g", "-Wl,--build-id=sha1", "main.c", "-o", "main"], cwd=tmp_path, check=True)
    snapshot = _saved(tmp_path, Snapshot("x", (SESSIONS,), build_id="ab" * 20))
    run = linesmith("hot", tmp_path / "main", _written(tmp_path, _profile(SLAB)), "--snapshot", snapshot)
    assert run.returncode == 2
    assert f"map is a snapshot of build-id {'ab' * 20}, but" in run.stderr


def test_one_of_another_boot_is_refused(tmp_path: Path) -> None:
    snapshot = _saved(tmp_path, Snapshot("x", (SESSIONS,)))
    profile = _written(tmp_path, _profile(0xFFFF_8880_0900_0000))
    run = linesmith("hot", compiled(tmp_path, SOURCE), profile, "--snapshot", snapshot)
    assert run.returncode == 2
    assert "map has none of the 1 addresses of" in run.stderr
    assert "take a snapshot before the machine reboots" in run.stderr


def test_a_profile_without_addresses_has_nothing_to_ask_for(tmp_path: Path) -> None:
    nowhere = _profile(SLAB)
    profile = _written(tmp_path, replace(nowhere, lines=(replace(nowhere.lines[0], address=None),)))
    elf = compiled(tmp_path, SOURCE)
    run = linesmith("snapshot", elf, profile, "--memory", profile, "-o", tmp_path / "map")
    assert run.returncode == 2
    assert "has no addresses; give one recorded on the same machine" in run.stderr


@pytest.mark.real
@pytest.mark.xdist_group("guests")
def test_from_the_memory_of_a_kernel_to_its_objects(plain: Guest, vmlinux: Path, kept: Keeper, tmp_path: Path) -> None:
    """Only the profile, the snapshot and vmlinux are carried away; the memory is not looked at again."""
    entry = next(one.address for one in listed(plain.program) if one.record == "dentry")
    profile = _written(tmp_path, _profile(entry + 8))
    taken = linesmith("snapshot", vmlinux, profile, "--memory", plain.memory, "-o", tmp_path / "map")
    assert (taken.returncode, taken.stderr) == (0, "")
    assert "1 of 1 addresses are in known objects" in taken.stdout
    assert (tmp_path / "map").stat().st_size < 10_000
    words = ("--snapshot", tmp_path / "map", "--format", "json")
    run = linesmith("hot", vmlinux, profile, *words, cache=index_of(vmlinux, kept))
    assert [one["objects"][0]["type"] for one in json.loads(run.stdout)["lines"]] == ["dentry"]


DUMP = elf(CORE, note(b"CORE", 1, b"status") + note(b"GNU", 3, bytes(20)), b"....here....here", physical=0x1000)


def opened(folder: Path, content: bytes) -> MemoryFile:
    (folder / "dump").write_bytes(content)
    return MemoryFile(folder / "dump")


def test_notes_and_bytes_have_physical_addresses(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP) as dump:
        assert list(dump.notes()) == [Note(b"CORE", 1, b"status", 0x1000), Note(b"GNU", 3, bytes(20), 0x101C)]
        assert dump.build_id == Note(b"GNU", 3, bytes(20), 0x101C)
        assert list(dump.find(b"here")) == [0x1004, 0x100C]
        assert dump.physical(0x1004, 4) == b"here"
        with pytest.raises(SnapshotError, match="no memory at the physical address 0x100e"):
            dump.physical(0x100E, 4)


def test_note_that_is_longer_than_its_segment_ends_it(tmp_path: Path) -> None:
    cut = note(b"CORE", 1, b"") + b"\x05\0\0\0\xff\0\0\0\x01\0\0\0GNU\0\0\0\0\0"
    with opened(tmp_path, elf(CORE, cut, b"")) as dump:
        assert [one.owner for one in dump.notes()] == [b"CORE"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"KDUMP   " + bytes(100), "not a 64-bit little-endian ELF file; give a dump of QEMU's dump-guest-memory"),
        (DUMP[:100], "cut off within its program headers"),
        (DUMP[:32] + b"\xff" * 8 + DUMP[40:], "cut off within its program headers"),
        (DUMP[:-1], f"cut off: it has {len(DUMP) - 1} of {len(DUMP)} bytes"),
    ],
    ids=["empty", "kdump", "headers", "headers beyond any file", "memory"],
)
def test_files_that_are_no_dump(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(SnapshotError, match=words):
        opened(tmp_path, content)
    with pytest.raises(SnapshotError, match="No such file"):
        MemoryFile(tmp_path / "none")


BUILD_ID = bytes(range(20))
OWN = b"OSRELEASE=6.1.0\nBUILD-ID=" + BUILD_ID.hex().encode() + b"\n"
OTHER = b"OSRELEASE=6.1.0\nBUILD-ID=" + bytes(20).hex().encode() + b"\n"
LINKED = 0xFFFFFFFF81000000
LOADED = 0x1000000


def vmcoreinfo(folder: Path, notes: bytes, memory: bytes) -> bytes:
    (folder / "vmlinux").write_bytes(elf(EXECUTABLE, note(b"GNU", 3, BUILD_ID), b"", LINKED))
    with opened(folder, elf(CORE, notes, memory, LOADED)) as dump, MemoryFile(folder / "vmlinux") as vmlinux:
        return vmcoreinfo_of(dump, vmlinux)


@pytest.mark.parametrize(
    ("notes", "memory"),
    [
        (note(b"VMCOREINFO", 0, OWN), bytes(64)),
        (b"", bytes(64) + note(b"VMCOREINFO", 0, OWN) + bytes(64)),
        (b"", bytes(64) + b"VMCOREINFO\0\0OSRELEASE=1\n" + note(b"VMCOREINFO", 0, OWN)),
    ],
    ids=["note of the dump", "note in the memory", "the word alone is no note"],
)
def test_the_kernel_s_own_note(notes: bytes, memory: bytes, tmp_path: Path) -> None:
    assert vmcoreinfo(tmp_path, notes, memory) == OWN


def test_memory_of_no_kernel(tmp_path: Path) -> None:
    with pytest.raises(
        SnapshotError, match="has no VMCOREINFO, which a running kernel with CONFIG_KEXEC or CONFIG_PROC"
    ):
        vmcoreinfo(tmp_path, b"", bytes(4096))


OF_ANOTHER = note(b"VMCOREINFO", 0, OTHER)


@pytest.mark.parametrize(
    ("dump", "words"),
    [
        (elf(EXECUTABLE, b"", b""), "dump is an ELF file but not a memory dump"),
        (elf(CORE, OF_ANOTHER, bytes(64)), f"build-id {bytes(20).hex()}, not of .*; give the vmlinux of the dumped"),
        # Where the running kernel cannot be read at all, that is said instead.
        ("/proc/kcore", r"cannot read the running kernel from /proc/kcore|not of .*vmlinux"),
    ],
    ids=["program", "another kernel", "running kernel"],
)
def test_dumps_that_do_not_fit(dump: bytes | str, words: str, tmp_path: Path) -> None:
    """The vmlinux is a program with a build-id."""
    vmlinux = tmp_path / "vmlinux"
    vmlinux.write_bytes(elf(EXECUTABLE, note(b"GNU", 3, BUILD_ID), b"", LINKED))
    place = Path(dump) if isinstance(dump, str) else tmp_path / "dump"
    if isinstance(dump, bytes):
        place.write_bytes(dump)
    with pytest.raises(SnapshotError, match=words):
        snapshot_source("drgn").read(place, vmlinux, [0xFFFF888000001000])


def test_vmlinux_without_a_build_id(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(elf(CORE, b"", bytes(64)))
    (tmp_path / "vmlinux").write_bytes(elf(EXECUTABLE, b"", b""))
    with pytest.raises(SnapshotError, match="vmlinux has no build-id"):
        snapshot_source("drgn").read(tmp_path / "dump", tmp_path / "vmlinux", [0])


def test_readers_that_are_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SnapshotError, match=r"no reader of memory has the name crash \(installed: drgn\)"):
        snapshot_source("crash")
    monkeypatch.setitem(sys.modules, "drgn", None)
    # The reader loads without drgn, too.
    monkeypatch.delitem(sys.modules, "linesmith.plugins.snapshots.identify", raising=False)
    with pytest.raises(ToolMissing, match=r"needs drgn .*; install it with: .*pip install 'linesmith\[snapshot\]'"):
        snapshot_source("drgn").read(tmp_path, tmp_path, [0])
    # Before a kernel is booted, not after.
    with pytest.raises(NotRecorded, match=r"^--vmlinux is to name the kernel's objects, and .* needs drgn"):
        refuse_unnamed_objects(tmp_path, snapshot_source("drgn"))
    refuse_unnamed_objects(None, snapshot_source("drgn"))


# Areas that overlap, pages as kernels from 6.9 on mark them, and which record a slab cache holds


def area(address: int, size: int, name: str = "") -> ObjectArea:
    return ObjectArea(ObjectKind.GLOBAL, name, address, size, size)


def typed(address: int, size: int, record: str = "inode") -> ObjectArea:
    return replace(area(address, size, "table"), types=(record,))


@pytest.mark.parametrize(
    ("first", "second", "asked", "expected"),
    [
        (  # untyped memory is cut where a known area begins
            area(0x100, 0x20, "page"), area(0x110, 0x80, "table"), [0x100, 0x130],
            (area(0x100, 0x10, "page"), area(0x110, 0x80, "table")),
        ),
        (  # and begins where a known one ends
            typed(0x100, 0x30), area(0x120, 0x20, "page"), [0x100, 0x13F],
            (typed(0x100, 0x30), area(0x130, 0x10, "page")),
        ),
        (typed(0x100, 0x20), typed(0x110, 0x80, "file"), [0x100, 0x130], (typed(0x100, 0x20),)),  # would overlap it
    ],
)  # fmt: skip
def test_areas_that_overlap(
    first: ObjectArea, second: ObjectArea, asked: list[int], expected: tuple[ObjectArea, ...]
) -> None:
    assert areas_of(asked, (AreaMap([first]).area, AreaMap([second]).area)) == expected


FLAGS = {"PG_locked": 0, "PG_reserved": 12}
BEFORE_6_10 = PageTypes({**FLAGS, "PG_slab": 9}, {})
SINCE_6_11 = PageTypes(FLAGS, {"PG_buddy": 1 << 30, "PG_table": 1 << 28, "PG_slab": 1 << 25, "PAGE_TYPE_BASE": 1 << 31})
SINCE_6_12 = PageTypes(FLAGS, {"PGTY_buddy": 0xF0, "PGTY_table": 0xF2, "PGTY_slab": 0xF5})
UNMAPPED = 0xFFFFFFFF


def page(flags: int = 0, mapping: int = 0, page_type: int = UNMAPPED, references: int = 1) -> PageWords:
    return PageWords(flags, mapping, page_type, references)


@pytest.mark.parametrize(
    ("types", "slab", "free", "table"),
    [
        (BEFORE_6_10, page(flags=1 << 9), UNMAPPED & ~0x80, UNMAPPED & ~0x200),
        (SINCE_6_11, page(page_type=UNMAPPED & ~(1 << 25)), UNMAPPED & ~(1 << 30), UNMAPPED & ~(1 << 28)),
        (SINCE_6_12, page(page_type=0xF5000000), 0xF0000000, 0xF2000000),
    ],
    ids=["flag", "cleared bit", "number"],
)
def test_kinds_of_pages(types: PageTypes, slab: PageWords, free: int, table: int) -> None:
    assert types.kind(slab) == pages.SLAB_PAGE
    assert types.kind(page(page_type=free, references=0)) == pages.FREE_PAGE
    assert types.kind(page(page_type=table)) == pages.PAGE_TABLE
    # The map count shares the place of the page type: 0 is one mapping, 0x7f is 128.
    for count in (0, 1, 0x7F):
        assert types.kind(page(mapping=0xFFFF888000000000, page_type=count)) == pages.CACHE_PAGE
        assert types.kind(page(mapping=0xFFFF888000000001, page_type=count)) == pages.ANONYMOUS_PAGE


FLAGGED, NUMBERED = struct.pack("<QQII", 1 << 9, 0, UNMAPPED, 0), struct.pack("<QQII", 0, 0, 0xF5 << 24, 0)


@pytest.mark.parametrize(("types", "slab"), [(BEFORE_6_10, FLAGGED), (SINCE_6_12, NUMBERED)], ids=["flag", "number"])
def test_slab_pages_of_an_array(types: PageTypes, slab: bytes) -> None:
    other = struct.pack("<QQII", 0, 0, UNMAPPED, 1)
    assert types.slabs(other + slab + other + slab, FrameLayout(size=24, flags=0, page_type=16)) == [1, 3]


# Sizes as some kernel has them.
RECORDS = {
    "cred": 184, "dentry": 192, "epitem": 128, "ext4_inode_info": 1184, "file": 232,
    "inode": 632, "io_kiocb": 256, "mm_struct": 1048, "pid": 128, "proc_inode": 704, "shmem_inode_info": 776,
    "sighand_struct": 2080, "socket_alloc": 768, "task_struct": 9728, "tcp_sock": 2280, "udp6_sock": 1344,
    "unix_sock": 1024, "xa_node": 576,
}  # fmt: skip


def types(size: int, *caches: str) -> tuple[str, ...]:
    return types_of(caches, size, RECORDS.get)


CACHES = (
    "dentry:dentry cred_jar:cred radix_tree_node:xa_node inode_cache:inode ext4_inode_cache:ext4_inode_info "
    "proc_inode_cache:proc_inode shmem_inode_cache:shmem_inode_info sock_inode_cache:socket_alloc "
    "UNIX-STREAM:unix_sock sighand_cache:sighand_struct TCP:tcp_sock UDPv6:udp6_sock"
)


@pytest.mark.parametrize("pair", CACHES.split())
def test_record_of_a_cache(pair: str) -> None:
    cache, _, record = pair.partition(":")
    assert types(RECORDS[record], cache) == (record,)


@pytest.mark.parametrize(
    ("size", "caches", "records"),
    [
        (1104, "mm_struct", "mm_struct"),  # the object is larger: it ends in the CPU masks that the machine needs
        (128, "dentry", ""),  # the record is larger: it is another one
        (8328, "task_struct", "task_struct"),  # which is cut to what the machine needs
        *((192, name, "") for name in ["kmalloc-192", "kmalloc-cg-64", "dma-kmalloc-8", "kmalloc-rnd-03-96",
            "names_cache"]),
        (256, "filp io_kiocb something_else", "file io_kiocb"),  # it serves several names
        (1024, "UNIX UNIX-STREAM", "unix_sock"),  # of one record
    ],
)  # fmt: skip
def test_records_of_odd_caches(size: int, caches: str, records: str) -> None:
    assert types(size, *caches.split()) == tuple(records.split())


def memory(address: int, *words: int, **declared: str) -> TypedMemory:
    """Words from ``address`` on; ``at8="inode"`` declares the one at offset 8 as a pointer to an inode."""
    names = {address + int(offset.removeprefix("at")): (record,) for offset, record in declared.items()}
    return TypedMemory(address, struct.pack(f"<{len(words)}Q", *words), lambda place: names.get(place, ()))


def test_declared_pointers_to_an_object_vote_for_its_record() -> None:
    sources = (
        memory(0x100, 0x5000, 0x6000, at0="super_block", at8="inode"),
        memory(0x200, 0x5000, at0="super_block"),
        memory(0x300, 0x5000, at0="list_head"),
    )
    assert votes_for([0x5000], sources) == {0x5000: Counter(super_block=2, list_head=1)}


def test_words_that_are_no_vote() -> None:
    assert votes_for([0x5000], [memory(0x100, 0x5000)]) == {}, "no pointer to a record"
    cut = TypedMemory(0, struct.pack("<Q", 0x5000) + b"abc", lambda _: ("inode",))
    assert votes_for([0x5000], [cut]) == {0x5000: Counter(inode=1)}, "bytes behind the last word are left out"
