# SPDX-License-Identifier: GPL-2.0-or-later
"""The same records from every kind of file that DWARF comes in."""

from __future__ import annotations

import os
import shutil
import subprocess
from ctypes.util import find_library
from pathlib import Path

import msgspec
import pytest
from linesmith_command import LINESMITH
from unit.c_records import Bench, member, only, places, records

from linesmith.analyzer import _native
from linesmith.analyzer.model import ElfIdentity

TEXT = """
typedef struct { int counter; } atomic_t;
struct node { struct node *next; atomic_t uses; const char *name; unsigned low : 3; };
struct node root;
int main(void) { return root.uses.counter; }
"""
PLACES = [("next", 0, 8), ("uses", 8, 4), ("name", 16, 8), ("low", 24, 4)]


def run(*command: str | Path) -> None:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed")
    subprocess.run(command, check=True)


def check(path: Path, debug_directories: tuple[str, ...] = ()) -> None:
    layouts = records(path, debug_directories)
    layout = only(layouts, "node")
    assert places(layout) == PLACES
    assert member(layout, "uses").record == only(layouts, "atomic_t").id
    assert layout.place == "unit.c:3"


@pytest.mark.parametrize(
    "flags",
    [("-c",), (), ("-c", "-fdebug-types-section"), ("-c", "-gdwarf64"), ("-c", "-gsplit-dwarf")],
    ids=["object", "program", "type units", "64-bit DWARF", "split DWARF beside the object"],
)
def test_what_a_compiler_writes(bench: Bench, flags: tuple[str, ...]) -> None:
    check(bench.build(TEXT, *flags))


@pytest.mark.parametrize("method", ["zlib", "zlib-gnu"])
def test_compressed_sections(bench: Bench, method: str) -> None:
    plain = bench.object(TEXT)
    packed = plain.with_name("packed.o")
    run("objcopy", f"--compress-debug-sections={method}", plain, packed)
    check(packed)


def test_other_processors(bench: Bench) -> None:
    if bench.producer.compiler == "gcc":
        pytest.skip("needs a cross compiler")
    for target in ("aarch64-linux-gnu", "powerpc64-linux-gnu", "s390x-linux-gnu", "riscv64-linux-gnu"):
        check(bench.object(TEXT, f"--target={target}"))


def test_split_dwarf_package_beside_the_program(bench: Bench) -> None:
    program = bench.build(TEXT, "-gsplit-dwarf")
    (split,) = bench.directory.glob("*.dwo")
    run("llvm-dwp-19", split, "-o", program.with_name("unit.o.dwp"))
    split.unlink()
    check(program)


def test_a_missing_split_file_is_named_and_stripped_debug_information_too(gcc: Bench) -> None:
    path = gcc.object(TEXT, "-gsplit-dwarf")
    (split,) = gcc.directory.glob("*.dwo")
    split.unlink()
    with pytest.raises(_native.NativeError) as failure:
        records(path)
    kind, message = failure.value.args
    assert (kind, split.name in message) == ("DebugInfoMissing", True)
    run("strip", "--strip-debug", path)
    with pytest.raises(_native.NativeError) as failure:
        records(path)
    assert failure.value.args[0] == "DebugInfoMissing"


def pair(gcc: Bench) -> list[Path]:
    """Two programs that share debug information."""
    return [gcc.build(TEXT.replace("root", name), name=name) for name in ("one", "two")]


def test_dwz_supplement(gcc: Bench) -> None:
    parts = pair(gcc)
    run("dwz", "-m", gcc.directory / "shared.debug", *parts)
    assert places(only(records(parts[0]), "node")) == PLACES


@pytest.mark.parametrize("kept", [".dwz/x86_64-linux-gnu/pair.debug", ".build-id/{folder}/{name}.debug"])
def test_dwz_supplement_of_a_debug_package_unpacked_elsewhere(gcc: Bench, kept: str) -> None:
    parts = pair(gcc)
    shared, directory = gcc.directory / "shared.debug", gcc.directory / "unpacked/usr/lib/debug"
    run("dwz", "-m", shared, "-M", "/usr/lib/debug/.dwz/x86_64-linux-gnu/pair.debug", *parts)
    build_id = msgspec.json.decode(_native.identify(str(shared)), type=ElfIdentity).build_id or ""
    own = directory / ".build-id/ab/cdef.debug"
    for file, place in ((parts[0], own), (shared, directory / kept.format(folder=build_id[:2], name=build_id[2:]))):
        place.parent.mkdir(parents=True, exist_ok=True)
        file.rename(place)
    assert places(only(records(own), "node")) == PLACES


def test_a_supplement_that_another_build_left_is_not_taken(gcc: Bench) -> None:
    parts = pair(gcc)
    shared, directory = gcc.directory / "shared.debug", gcc.directory / "unpacked/usr/lib/debug"
    run("dwz", "-m", shared, "-M", "/usr/lib/debug/.dwz/pair.debug", *parts)
    foreign = directory / ".dwz/pair.debug"
    foreign.parent.mkdir(parents=True)
    gcc.build(TEXT, "-Wl,--build-id=0x0123456789abcdef").rename(foreign)
    own = parts[0].rename(directory / "one.debug")
    with pytest.raises(_native.NativeError, match=r"shares debug information with /usr/lib/debug/\.dwz/pair\.debug"):
        records(own)


def test_debug_file_by_build_id(gcc: Bench) -> None:
    program = gcc.build(TEXT, "-Wl,--build-id=0x0123456789abcdef")
    kept = gcc.directory / "debug" / ".build-id" / "01" / "23456789abcdef.debug"
    kept.parent.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", program, kept)
    run("strip", "--strip-debug", program)
    check(program, (str(gcc.directory / "debug"),))


def test_the_search_for_a_debug_file_leaves_all_descriptors_alone(gcc: Bench) -> None:
    """Some ways into libdwfl end in ``close(0)``."""
    program, debug = gcc.build(TEXT, "-Wl,--build-id=0x0123456789abcdef"), gcc.directory / "unit.debug"
    run("objcopy", "--only-keep-debug", program, debug)
    run("objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program)
    before = sorted(Path("/proc/self/fd").iterdir())
    check(program)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_debug_file_by_debug_link(gcc: Bench) -> None:
    program, debug = gcc.build(TEXT, "-Wl,--build-id=none"), gcc.directory / "unit.debug"
    run("objcopy", "--only-keep-debug", program, debug)
    run("objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program)
    check(program)


def test_a_debug_file_of_another_build_is_not_taken(gcc: Bench) -> None:
    program = gcc.build(TEXT, "-Wl,--build-id=0x0123456789abcdef")
    kept = gcc.directory / "debug" / ".build-id" / "01" / "23456789abcdef.debug"
    kept.parent.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", program.rename(gcc.directory / "first"), kept)
    other = gcc.build(TEXT, "-Wl,--build-id=0xfedcba9876543210")
    run("objcopy", "--strip-debug", f"--add-gnu-debuglink={kept}", other)
    with pytest.raises(_native.NativeError, match="no debug file with its build-id was found"):
        records(other, (str(kept.parent),))


@pytest.mark.skipif(find_library("debuginfod") is None, reason="libdebuginfod is not installed")
def test_a_debug_file_from_a_server_that_the_user_names(gcc: Bench) -> None:
    program, server = gcc.build(TEXT, "-Wl,--build-id=0x0123456789abcdef"), gcc.directory / "server"
    sent = server / "buildid/0123456789abcdef/debuginfo"
    sent.parent.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", program, sent)
    run("strip", "--strip-debug", program)
    named = {"DEBUGINFOD_URLS": f"file://{server}", "DEBUGINFOD_CACHE_PATH": str(gcc.directory / "cache")}
    shown = {}
    for servers in ({}, named):
        command = [str(LINESMITH), "layout", str(program), "node"]
        done = subprocess.run(command, env=os.environ | servers, capture_output=True, text=True, check=False)
        shown[done.returncode] = done.stdout
    assert "struct node {" in shown[0]
    assert shown[2] == ""


def test_identity_tells_where_the_debug_information_is(gcc: Bench) -> None:
    program = gcc.build(TEXT, "-Wl,--build-id=0x0123456789abcdef")
    identity = msgspec.json.decode(_native.identify(str(program)), type=ElfIdentity)
    assert (identity.build_id, identity.machine, identity.has_dwarf) == ("0123456789abcdef", "x86-64", True)
    assert (identity.address_bytes, identity.little_endian, identity.debug_path) == (8, True, None)


def test_progress_ends_with_everything_done_and_its_exception_stops_the_reading(gcc: Bench) -> None:
    path, reports = str(gcc.object(TEXT)), list[tuple[int, int]]()
    _native.read_dwarf(path, 1, progress=lambda done, total: reports.append((done, total)))
    done, total = reports[-1]
    assert done == total > 0
    assert [each for each, _ in reports] == sorted(each for each, _ in reports)

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _native.read_dwarf(path, 2, progress=interrupt)
