# SPDX-License-Identifier: GPL-2.0-or-later
"""The same records from every kind of file that DWARF comes in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from ctypes.util import find_library
from pathlib import Path

import msgspec
import pytest
from linesmith_command import LINESMITH
from unit.c_records import CLANG, Bench, member, only, places, records

from linesmith.analyzer import _native
from linesmith.analyzer.base.errors import ElfError
from linesmith.analyzer.layouts.dwarf import operands
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


# Memory operands of machine code: one oddity per test, written in C where compilers make it, else in assembly


SOURCES = Path(__file__).with_name("sources")
RECORD = "struct s { int a; int b; long c; long d; };\n"
C_SOURCE = f"""{RECORD}
int plain(struct s *s) {{ s->c = 1; s->d += 2; return s->b; }}
void atomic(struct s *s) {{ __atomic_fetch_add(&s->c, 1, 5); __atomic_exchange_n(&s->b, 2, 5); }}
long stack(struct s *s) {{ volatile long x = s->d; return x; }}
int map_a(struct s *s) {{ return s->a; }}
int map_b(struct s *s) {{ return s->b; }}
"""


def built(folder: Path, source: str, *flags: str, compiler: str = "gcc", name: str = "unit.c") -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (folder / name).write_text(source)
    made = folder / "unit.o"
    subprocess.run([compiler, *(flags or ("-O2",)), "-c", "-o", made.name, name], check=True, cwd=folder)
    return made


def seen(path: Path, function: str = "f") -> str:
    """Displacement, width and r, w or rw, with ! when atomic, of every operand."""
    found = {
        (one.displacement, one.width, "r" * one.reads + "w" * one.writes + "!" * one.atomic)
        for one in operands(path, [function])
    }
    return ", ".join(f"{place} {width} {kind}" for place, width, kind in sorted(found)) or "nothing"


def assembled(folder: Path, target: str, functions: dict[str, str]) -> Path:
    """An object with functions of these instructions."""
    head = ".arch armv8.4-a\n" if target == "aarch64" else ""
    text = "".join(
        f".type {name}, %function\n{name}:\n{body}\n.size {name}, .-{name}\n" for name, body in functions.items()
    )
    return built(folder, f".text\n{head}{text}", f"--target={target}-linux-gnu", compiler=CLANG, name="unit.s")


@pytest.mark.parametrize("compiler", ["gcc", CLANG])
def test_loads_stores_updates_and_atomic_builtins_in_c_but_not_the_stack(tmp_path: Path, compiler: str) -> None:
    made = built(tmp_path, C_SOURCE, "-O2", "-fno-stack-protector", compiler=compiler)
    assert seen(made, "plain") == "4 4 r, 8 8 w, 16 8 rw"
    assert seen(made, "atomic") == "4 4 rw!, 8 8 rw!"
    assert seen(made, "stack") == "16 8 r"
    # A prefix reports each function under its own name.
    found = operands(made, [], ["map_"])
    assert [(each.function, each.displacement) for each in found] == [("map_a", 0), ("map_b", 4)]
    made = built(tmp_path, C_SOURCE, "-O0", "-fno-stack-protector", compiler=compiler)
    assert seen(made, "stack") == "16 8 r"


def test_arm64_in_c(tmp_path: Path) -> None:
    made = built(tmp_path, C_SOURCE, "--target=aarch64-linux-gnu", "-O1", compiler=CLANG)
    assert seen(made, "plain") == "4 4 r, 8 8 w, 16 8 r, 16 8 w"


def test_cold_parts_belong_to_their_function(tmp_path: Path) -> None:
    text = RECORD + (
        "__attribute__((cold)) void g(long);\n"
        "int f(struct s *s) { if (__builtin_expect(s->a, 0)) g(s->d); return s->b; }"
    )
    made = built(tmp_path, text)
    symbols = subprocess.run(["nm", made.name], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "f.cold" in symbols
    assert seen(made) == "0 4 r, 4 4 r, 16 8 r"


def test_clones_are_reported_under_the_name_asked_for(tmp_path: Path) -> None:
    assert seen(assembled(tmp_path, "x86_64", {"f.constprop.0": "mov 8(%rdi), %rax"})) == "8 8 r"


@pytest.mark.parametrize("target", ["x86_64", "aarch64"])
def test_direction_of_each_kind_of_instruction(tmp_path: Path, target: str) -> None:
    section = (SOURCES / "instructions.txt").read_text().partition(f"# {target}\n")[2].partition("\n\n")[0]
    expected = [re.split(" +-> ", line) for line in section.splitlines()]
    made = assembled(tmp_path, target, {f"f{number}": one for number, (one, _) in enumerate(expected)})
    assert [[one, seen(made, f"f{number}")] for number, (one, _) in enumerate(expected)] == expected


SEQUENCES = (SOURCES / "sequences.txt").read_text().split("\n# ")[1:]


@pytest.mark.parametrize("case", SEQUENCES, ids=[one.partition("\n")[0] for one in SEQUENCES])
def test_instructions_that_belong_together(tmp_path: Path, case: str) -> None:
    title, *lines, touched = case.strip().split("\n")
    made = assembled(tmp_path, title.partition(":")[0], {"f": "\n".join(lines)})
    assert seen(made) == touched.removeprefix("-> ")


def test_a_debug_file_has_no_code(tmp_path: Path) -> None:
    built(tmp_path, RECORD + "int f(struct s *s) { return s->b; }", "-g")
    subprocess.run(["objcopy", "--only-keep-debug", "unit.o", "unit.debug"], cwd=tmp_path, check=True)
    assert operands(tmp_path / "unit.debug", ["f"]) == ()


def test_a_stripped_program_borrows_the_symbols_of_its_debug_file(tmp_path: Path) -> None:
    text = RECORD + "int f(struct s *s) { return s->b; } int main(void) { return 0; }"
    built(tmp_path, text, "-O2", "-fno-ipa-icf", "-g")
    for command in (
        "gcc unit.o -o program",
        "objcopy --only-keep-debug program program.debug",
        "objcopy --strip-all --add-gnu-debuglink=program.debug program",
    ):
        subprocess.run(command.split(), cwd=tmp_path, check=True)
    assert seen(tmp_path / "program") == "4 4 r"


def test_aliases_are_one_function(tmp_path: Path) -> None:
    text = RECORD + 'int f(struct s *s) { return s->b; } int g(struct s *) __attribute__((alias("f")));'
    found = operands(built(tmp_path, text), ["f", "g"])
    assert [(each.function, each.displacement) for each in found] == [("f", 4), ("g", 4)]


def test_another_machine_has_no_operands_and_what_is_no_elf_file_is_refused(tmp_path: Path) -> None:
    made = built(tmp_path, "int f(int *p) { return p[1]; }", "--target=riscv64-linux-gnu", compiler=CLANG)
    assert operands(made, ["f"]) == ()
    (tmp_path / "text").write_text("no code here")
    with pytest.raises(ElfError, match="not an ELF file"):
        operands(tmp_path / "text", ["f"])


@pytest.mark.real
def test_functions_of_a_kernel(vmlinux: Path) -> None:
    assert "8 8 r" in seen(vmlinux, "rwsem_spin_on_owner").split(", ")
    assert "0 8 rw!" in seen(vmlinux, "down_write").split(", ")
    assert "8 8 r" in seen(vmlinux, "vma_interval_tree_remove").split(", ")
