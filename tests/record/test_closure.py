# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program needs to run elsewhere, read from its files without running any."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from record.programs import TWO_THREADS, compile_c

from linesmith.analyzer.errors import ElfError, ToolMissing
from linesmith.plugins.machines.closure import closure
from linesmith.plugins.machines.elf_image import read_elf

MACHINE = os.uname().machine


def libraries_of_ldd(program: Path) -> set[Path]:
    """Files that the system's own tool names, links followed."""
    shown = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {Path(path).resolve() for path in re.findall(r"(/\S+) \(0x", shown)}


@pytest.mark.parametrize("program", ["/usr/bin/git", "/usr/bin/python3"])
def test_the_libraries_are_those_of_ldd(program: str) -> None:
    found = {path.resolve() for path in closure(Path(program), MACHINE)}
    expected = libraries_of_ldd(Path(program)) | {Path(program).resolve(), Path("/etc/ld.so.cache")}
    assert found == expected


def test_a_static_program_needs_itself_only(tmp_path: Path) -> None:
    program = compile_c(TWO_THREADS, tmp_path / "two", "-static")
    assert closure(program, MACHINE) == (program,)


def test_a_library_beside_the_program_is_found_by_origin_or_missed_by_name(tmp_path: Path) -> None:
    library = compile_c("int five(void) { return 5; }", tmp_path / "libfive.so", "-shared", "-fPIC")
    source, words = "int five(void); int main(void) { return five(); }", (f"-L{tmp_path}", "-l:libfive.so")
    program = compile_c(source, tmp_path / "program", "-Wl,-rpath,$ORIGIN", *words)
    assert library in closure(program, MACHINE)
    program = compile_c(source, tmp_path / "program", *words)
    library.unlink()
    with pytest.raises(ToolMissing, match=r"program needs the library libfive\.so, which is not found"):
        closure(program, MACHINE)


def test_a_script_needs_its_interpreter_and_what_env_looks_for(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/bash -e\necho hello\n")
    assert Path("/bin/bash") in closure(script, MACHINE)
    script.write_text("#!/usr/bin/env -S A=1 bash -e\n")
    assert {"env", "bash"} <= {path.name for path in closure(script, MACHINE)}
    script.write_text("#!/opt/absent/interpreter\n")
    with pytest.raises(ToolMissing, match="script needs /opt/absent/interpreter, which is not here; install it"):
        closure(script, MACHINE)


def test_a_program_of_another_machine_is_refused(tmp_path: Path) -> None:
    other = "aarch64" if MACHINE == "x86_64" else "x86_64"
    program = compile_c(TWO_THREADS, tmp_path / "two")
    with pytest.raises(ToolMissing, match=f"two is for {MACHINE}, the machine is {other}"):
        closure(program, other)


@pytest.mark.parametrize("length", [4, 20, 63, 64, 100, 700])
def test_a_cut_off_program_is_one_sentence(tmp_path: Path, length: int) -> None:
    program = tmp_path / "cut"
    program.write_bytes(Path("/usr/bin/git").read_bytes()[:length])
    with pytest.raises(ElfError, match="cut is"):
        read_elf(program)
