# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of file with code, and those that are refused in one sentence."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from access.programs import CLANG, compiled, shown

from linesmith.analyzer.access import read_accesses
from linesmith.analyzer.errors import CodeMissing, DebugInfoMissing, ElfError

SOURCE = "int f(struct node *n) { return n->next->count; } int main(void) { return 0; }"
EXPECTED = ["read struct node.count", "read struct node.next"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(directory))
    return directory


@pytest.mark.parametrize(
    "flags",
    [("-O2", "-c"), ("-O2", "-pie", "-fPIE"), ("-O2", "-no-pie"), ("-O2", "-shared", "-fPIC"), ("-O2", "-gdwarf-4")],
    ids=" ".join,
)
def test_objects_programs_and_libraries(tmp_path: Path, flags: tuple[str, ...]) -> None:
    assert shown(compiled(tmp_path, SOURCE, *flags, name="made")) == EXPECTED


def test_code_for_arm64(tmp_path: Path) -> None:
    made = compiled(tmp_path, SOURCE, "-O2", "-c", "--target=aarch64-linux-gnu", compiler=CLANG)
    assert shown(made) == EXPECTED


def test_a_stripped_program_with_its_debug_file_beside_it(tmp_path: Path) -> None:
    made = compiled(tmp_path, SOURCE, "-O2", name="program")
    commands = (
        ["objcopy", "--only-keep-debug", "program", "program.debug"],
        ["objcopy", "--strip-all", "--add-gnu-debuglink=program.debug", "program"],
    )
    for command in commands:
        subprocess.run(command, cwd=tmp_path, check=True)
    assert shown(made) == EXPECTED


def test_functions_without_debug_information_have_an_outcome(tmp_path: Path) -> None:
    compiled(tmp_path, "int g(struct node *n) { return n->count; }", "-O2", "-c", name="with.o")
    (tmp_path / "without.s").write_text(".globl f\n.type f,@function\nf: mov 8(%rdi),%rax\nret\n.size f,.-f\n")
    command = ["gcc", "-shared", "-o", "both.so", "with.o", "without.s"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert shown(tmp_path / "both.so") == ["read no type information"]
    assert shown(tmp_path / "both.so", "g") == ["read struct node.count"]


def test_the_second_reading_comes_from_the_file_kept(tmp_path: Path, cache: Path) -> None:
    made = compiled(tmp_path, SOURCE)
    readings = [read_accesses(made) for _ in range(2)]
    assert [one.cached for one in readings] == [False, True]
    assert sorted(one.suffix for one in cache.iterdir()) == [".access", ".index"]
    assert shown(made) == EXPECTED


def test_a_changed_program_is_read_again(tmp_path: Path) -> None:
    shown(compiled(tmp_path, SOURCE))
    assert shown(compiled(tmp_path, SOURCE.replace("->count", "->guard.word"))) == [
        "read struct node.guard",
        "read struct node.next",
    ]


def test_a_map_that_cannot_be_kept_is_a_remark(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file where the directory should be")
    reading = read_accesses(compiled(tmp_path, SOURCE))
    assert len(reading.accesses) > 0
    assert [str(cache) in remark for remark in reading.remarks] == [True]


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    read_accesses(compiled(tmp_path, SOURCE), lambda done, total: told.append((done, total)))
    assert told
    assert all(0 <= done <= total for done, total in told)


def test_an_interrupt_ends_the_mapping_and_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    def interrupted(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_accesses(compiled(tmp_path, SOURCE), interrupted)
    assert not cache.exists() or not list(cache.glob("*.access"))


def test_no_debug_information_is_refused(tmp_path: Path) -> None:
    made = compiled(tmp_path, SOURCE, "-O2", "-g0", name="program")
    with pytest.raises(DebugInfoMissing, match="program"):
        read_accesses(made)


def test_btf_alone_is_refused(tmp_path: Path) -> None:
    made = compiled(tmp_path, SOURCE, "-O2", "-c", "-g")
    subprocess.run(["pahole", "-J", made], check=True)
    subprocess.run(["objcopy", "--strip-debug", made], check=True)
    with pytest.raises(DebugInfoMissing, match="there is BTF but no DWARF"):
        read_accesses(made)


def test_another_machine_is_refused(tmp_path: Path) -> None:
    made = compiled(tmp_path, SOURCE, "-O2", "-c", "--target=riscv64-linux-gnu", compiler=CLANG)
    with pytest.raises(CodeMissing, match="cannot be followed, only that for x86-64 and aarch64"):
        read_accesses(made)


def test_a_debug_file_alone_is_refused(tmp_path: Path) -> None:
    compiled(tmp_path, SOURCE, "-O2", name="program")
    subprocess.run(["objcopy", "--only-keep-debug", "program", "program.debug"], cwd=tmp_path, check=True)
    with pytest.raises(CodeMissing, match="give the file that runs rather than its debug file"):
        read_accesses(tmp_path / "program.debug")


def test_what_is_no_elf_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no code here")
    with pytest.raises(ElfError):
        read_accesses(tmp_path / "text")
