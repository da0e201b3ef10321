# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of file with code, those that are refused, and the map on disk; damaged ones are in tests/elf."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest
from access.programs import CLANG, compiled, shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.access.store import AccessReading, read_accesses
from linesmith.analyzer.base.errors import CodeMissing, DebugInfoMissing, ElfError

SOURCE = "int f(struct node *n) { return n->next->count; } int main(void) { return 0; }"
EXPECTED = ["read struct node.count", "read struct node.next"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(directory))
    return directory


ARM64, RISCV = ("--target=aarch64-linux-gnu", "-c"), ("--target=riscv64-linux-gnu", "-c")


@pytest.mark.parametrize(
    ("flags", "compiler"),
    [
        (("-c",), "gcc"),
        (("-pie", "-fPIE"), "gcc"),
        (("-no-pie",), "gcc"),
        (("-shared", "-fPIC"), "gcc"),
        (("-gdwarf-4",), "gcc"),
        (ARM64, CLANG),
    ],
)
def test_objects_programs_and_libraries(tmp_path: Path, flags: tuple[str, ...], compiler: str) -> None:
    assert shown(compiled(tmp_path, SOURCE, "-O2", *flags, compiler=compiler, name="made")) == EXPECTED


def objcopy(folder: Path, *words: str) -> None:
    subprocess.run(["objcopy", *words], cwd=folder, check=True)


def test_a_stripped_program_needs_its_debug_file_and_that_needs_the_program(tmp_path: Path) -> None:
    made = compiled(tmp_path, SOURCE, "-O2", name="program")
    objcopy(tmp_path, "--only-keep-debug", "program", "program.debug")
    with pytest.raises(CodeMissing, match="give the executable, not its debug file"):
        read_accesses(tmp_path / "program.debug")
    objcopy(tmp_path, "--strip-all", "--add-gnu-debuglink=program.debug", "program")
    assert shown(made) == EXPECTED


def test_functions_without_debug_information_have_an_outcome(tmp_path: Path) -> None:
    compiled(tmp_path, "int g(struct node *n) { return n->count; }", "-O2", "-c", name="with.o")
    (tmp_path / "without.s").write_text(".globl f\n.type f,@function\nf: mov 8(%rdi),%rax\nret\n.size f,.-f\n")
    command = ["gcc", "-shared", "-o", "both.so", "with.o", "without.s"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert shown(tmp_path / "both.so") == ["read no type information"]
    assert shown(tmp_path / "both.so", "g") == ["read struct node.count"]


def test_a_map_that_cannot_be_kept_is_a_remark(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file where the directory should be")
    reading = read_accesses(compiled(tmp_path, SOURCE))
    assert len(reading.accesses) > 0
    assert [str(cache) in remark for remark in reading.remarks] == [True]


def test_progress_is_reported_and_an_interrupt_in_it_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    reports: list[tuple[int, int]] = []
    made = compiled(tmp_path, SOURCE)

    def interrupted(done: int, total: int) -> None:
        reports.append((done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_accesses(made, interrupted)
    assert not cache.exists() or not list(cache.glob("*.access"))
    read_accesses(made, lambda done, total: reports.append((done, total)))
    assert len(reports) > 1
    assert all(0 <= done <= total for done, total in reports)


def test_what_cannot_be_followed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DebugInfoMissing, match="program"):
        read_accesses(compiled(tmp_path, SOURCE, "-O2", "-g0", name="program"))
    riscv = compiled(tmp_path, SOURCE, "-O2", *RISCV, compiler=CLANG)
    with pytest.raises(CodeMissing, match="cannot be analyzed, only code for x86-64 and aarch64"):
        read_accesses(riscv)
    (tmp_path / "text").write_text("no code here")
    with pytest.raises(ElfError):
        read_accesses(tmp_path / "text")
    btf = compiled(tmp_path, SOURCE, "-O2", "-c", "-g")
    subprocess.run(["pahole", "-J", btf], check=True)
    objcopy(tmp_path, "--strip-debug", btf.name)
    with pytest.raises(DebugInfoMissing, match="has BTF but no DWARF"):
        read_accesses(btf)


# The map on disk: what is read is what was kept; anything else is as good as absent

TWO_FUNCTIONS = "int f(struct node *n) { return n->next->count; } int g(struct outer *o) { return o->many[2].count; }"


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    return compiled(tmp_path, TWO_FUNCTIONS)


def only_map(cache: Path) -> Path:
    (kept,) = cache.glob("*.access")
    return kept


def told(reading: AccessReading) -> list[object]:
    return [accesses_in(name, reading.accesses) for name in ("f", "g")]


def test_what_is_read_is_what_was_kept_until_the_program_changes(cache: Path, elf: Path, tmp_path: Path) -> None:
    readings = [read_accesses(elf) for _ in range(2)]
    assert [one.cached for one in readings] == [False, True]
    assert told(readings[0]) == told(readings[1])
    assert sorted(one.suffix for one in cache.iterdir()) == [".access", ".index"]
    # Columns are views of the file.
    flags = readings[1].accesses.address.flags
    assert (flags.owndata, flags.writeable, flags.aligned) == (False, False, True)
    compiled(tmp_path, TWO_FUNCTIONS.replace("->count", "->guard.word"))
    assert shown(elf) == ["read struct node.guard", "read struct node.next"]


def test_an_empty_map_is_kept_too(tmp_path: Path) -> None:
    elf = compiled(tmp_path, "int f(void) { return 1; }")
    readings = [read_accesses(elf) for _ in range(2)]
    assert [(one.cached, len(one.accesses)) for one in readings] == [(False, 0), (True, 0)]


def test_a_map_of_another_program_under_its_name_is_stale(cache: Path, elf: Path, tmp_path: Path) -> None:
    expected = told(read_accesses(elf))
    own = only_map(cache)
    read_accesses(compiled(tmp_path, TWO_FUNCTIONS.replace("->count", "->guard.word"), name="other.o"))
    (other,) = set(cache.glob("*.access")) - {own}
    own.write_bytes(other.read_bytes())
    reading = read_accesses(elf)
    assert (reading.cached, told(reading)) == (False, expected)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    damage=st.sampled_from(("flip", "cut", "more", "length")),
    place=st.floats(0, 1, exclude_max=True),
    flip=st.integers(1, 255),
    more=st.binary(min_size=1, max_size=200),
)
def test_damage_is_never_believed(cache: Path, elf: Path, damage: str, place: float, flip: int, more: bytes) -> None:
    """A length out of all proportion is among what is not believed."""
    expected = told(read_accesses(elf))
    content = bytearray(only_map(cache).read_bytes())
    at = int(place * len(content))
    if damage == "flip":
        content[at] ^= flip
    if damage == "length":
        struct.pack_into("<I", content, 20, 0xFFFFFFFF)
    only_map(cache).write_bytes({"cut": content[:at], "more": content + more}.get(damage, content))
    reading = read_accesses(elf)
    assert (reading.cached, told(reading)) == (False, expected)
    assert read_accesses(elf).cached


def test_a_directory_in_the_place_of_the_map_is_no_map(cache: Path, elf: Path) -> None:
    read_accesses(elf)
    kept = only_map(cache)
    kept.unlink()
    kept.mkdir()
    assert not read_accesses(elf).cached
