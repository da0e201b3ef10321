# SPDX-License-Identifier: GPL-2.0-or-later
"""How QEMU is called for a whole machine, its first file system, and how kernels say that they died."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from record.programs import TWO_THREADS, compile_c
from text_cases import TextCase, text_cases

from linesmith.analyzer.base.errors import ElfError, ToolMissing
from linesmith.analyzer.model import Emulation, Guest
from linesmith.plugins.machines.elf_image import read_elf
from linesmith.plugins.machines.guest_files import Contents, initramfs, plan, recording_init
from linesmith.plugins.machines.system import BOARDS, recording_command
from linesmith.plugins.machines.talk import Console, death
from linesmith.plugins.machines.user import Border, marker_program


def words(guest: Guest, emulation: Emulation | None = None, machine: str = "x86_64") -> str:
    """The command line, joined by blanks."""
    board = BOARDS[machine]
    return " ".join(recording_command("qemu", guest, board, emulation or Emulation(), "plugin", Path("/a,b/log"), 3))


KERNEL = Guest(Path("kernel"))
UNEVEN = Guest(Path("kernel"), cpus=4, nodes=2, memory=513 << 20)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        # Exact turns count instructions on one thread, others have a thread for each CPU.
        (words(KERNEL, Emulation(seed=5)), "-icount shift=0,sleep=off -rtc base=2020-01-01,clock=vm -seed 5"),
        (words(KERNEL, Emulation(interleave="turns")), "-accel tcg,thread=multi -m"),
        (words(KERNEL), "path=/a,,b/log"),
        (words(KERNEL), "rdinit=/linesmith/init random.trust_cpu=on nokaslr tsc=reliable"),
        # Words of the user come last.
        (words(Guest(Path("kernel"), words=("quiet", "rdinit=/other"))), "quiet rdinit=/other -nodefaults"),
        (words(KERNEL, machine="aarch64"), "-device pci-serial,chardev=talk"),
        # Nodes share all of the memory.
        *((words(UNEVEN), shown) for shown in ("-m 513M", "id=node0,size=256M", "id=node1,size=257M")),
    ],
)
def test_the_command_of_qemu(line: str, shown: str) -> None:
    assert shown in line


@pytest.mark.parametrize(
    ("machine", "border", "code"),
    [
        ("x86_64", Border.START, "0f1f80014d534c b83c000000 31ff 0f05"),
        ("x86_64", Border.STOP, "0f1f80004d534c b83c000000 31ff 0f05"),
        ("aarch64", Border.START, "3f80a9d2 a80b80d2 000080d2 010000d4"),
        ("aarch64", Border.STOP, "1f80a9d2 a80b80d2 000080d2 010000d4"),
    ],
)
def test_a_marker_is_one_instruction_and_an_exit(machine: str, border: Border, code: str) -> None:
    assert marker_program(machine, border).endswith(bytes.fromhex(code))


def test_other_machines_are_refused() -> None:
    with pytest.raises(ToolMissing, match="the machine riscv64 is not supported; record an x86_64 or aarch64 guest"):
        marker_program("riscv64", Border.START)


@text_cases(Path(__file__).with_name("consoles.txt"))
def test_a_console_tells_why_the_kernel_died_and_its_last_lines(tmp_path: Path, case: TextCase) -> None:
    text = "".join(f"{line}\r\n" for line in case.lines)
    (tmp_path / "log").write_text(f"\x1b[2J{text}\x1b[0m" if text else "")
    console = Console(tmp_path / "log")
    assert death(text) == case.words("why")
    assert (console.last_lines(), console.starved()) == (case.words("last"), case.words("starved"))


# The first file system of a guest, read back with the system's own cpio

MACHINE = os.uname().machine
BUSYBOX = "/usr/bin/busybox"


def unpack(archive: bytes, folder: Path) -> Path:
    """The archive's files below ``folder``; devices need root and are left out elsewhere."""
    folder.mkdir()
    subprocess.run([BUSYBOX, "cpio", "-idm"], input=archive, cwd=folder, capture_output=True, check=os.getuid() == 0)
    return folder


def files_of(contents: Contents, folder: Path) -> Path:
    """What the guest's init makes of the files inside."""
    outer = unpack(initramfs(contents, {"init": b""}, "ttyS1"), folder / "outer")
    return unpack((outer / "linesmith/files.cpio").read_bytes(), folder / "inner")


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


def test_a_line_for_the_shell_may_be_longer_than_any_name(tmp_path: Path) -> None:
    line = "true;" * 100 + "/usr/bin/git --version"
    assert Path("/usr/bin/git") in plan((("sh", "-c", line),), MACHINE, None, tmp_path).programs


def test_init_runs_the_command_between_the_markers() -> None:
    init = recording_init(("sh", "-c", "echo 'a  b' $HOME"), "/", "ttyS1").decode()
    begin = init.index("/linesmith/start\n")
    assert init[begin:].startswith(
        "/linesmith/start\nsh -c 'echo '\"'\"'a  b'\"'\"' $HOME' 3>&-\nstatus=$?\n/linesmith/stop\n"
    )


def test_programs_are_found_in_path_or_from_where_the_user_is_and_come_once(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    contents = plan((("git", "--version"), ("seq", "3"), ("git", "status"), ("./run",)), MACHINE, None, tmp_path)
    git = "/usr/bin/git"
    assert contents.commands == ((git, "--version"), ("seq", "3"), (git, "status"), (str(tmp_path / "run"),))
    assert contents.programs.count(Path(git)) == 1


def test_a_program_comes_with_its_loader_and_an_applet_of_busybox_with_nothing(tmp_path: Path) -> None:
    assert names(files_of(plan((("seq", "3"),), MACHINE, None, tmp_path), tmp_path)) == set()
    (tmp_path / "other").mkdir()
    found = names(files_of(plan((("/usr/bin/gcc", "--version"),), MACHINE, None, tmp_path), tmp_path / "other"))
    assert {"usr/bin/gcc", str(Path("/usr/bin/gcc").resolve())[1:]} <= found
    assert any(name.startswith(("lib64/ld-", "lib/ld-")) for name in found)


def test_files_that_a_line_for_the_shell_names_come_along(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("content")
    contents = plan(
        (("sh", "-c", f"/usr/bin/git --version;cat <{tmp_path}/input >/dev/null"),), MACHINE, None, tmp_path
    )
    folder = tmp_path / "inside"
    folder.mkdir()
    inner = files_of(contents, folder)
    assert (inner / "usr/bin/git").is_file()
    assert (inner / str(tmp_path / "input")[1:]).read_text() == "content"


def test_the_overlay_stands_in_for_what_would_be_taken_from_here(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    (overlay / "usr/bin").mkdir(parents=True)
    (overlay / "bin").symlink_to("usr/bin")
    (overlay / "usr/bin/git").write_text("#!/bin/sh\n")
    (overlay / "usr/bin/git").chmod(0o750)
    inner = files_of(plan((("/usr/bin/git",),), MACHINE, overlay, tmp_path), tmp_path)
    assert names(inner) == {"bin", "usr/bin/git"}
    assert (inner / "usr/bin/git").stat().st_mode & 0o777 == 0o750
    assert (inner / "bin").readlink() == Path("usr/bin")


@pytest.mark.parametrize(
    ("command", "machine", "why"),
    [
        ("no-such-thing", MACHINE, "no-such-thing is neither in PATH nor an applet of busybox; name its path"),
        ("./text", MACHINE, r"\./text cannot be run here; name a program"),
        ("true", "aarch64", "a static busybox for aarch64; put one at bin/busybox into a folder"),
    ],
)
def test_a_command_that_cannot_be_run_in_the_guest(tmp_path: Path, command: str, machine: str, why: str) -> None:
    (tmp_path / "text").write_text("no program")
    with pytest.raises(ToolMissing, match=why):
        plan(((command,),), machine, None, tmp_path)


def programs_of(program: Path) -> tuple[Path, ...]:
    """The files that a guest needs to run ``program``."""
    return plan(((str(program),),), MACHINE, None, Path("/")).programs


def libraries_of_ldd(program: Path) -> set[Path]:
    """Files that the system's own tool names, links followed."""
    shown = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {Path(path).resolve() for path in re.findall(r"(/\S+) \(0x", shown)}


@pytest.mark.parametrize("program", ["/usr/bin/git", "/usr/bin/python3"])
def test_the_libraries_are_those_of_ldd(program: str) -> None:
    found = {path.resolve() for path in programs_of(Path(program))}
    expected = libraries_of_ldd(Path(program)) | {Path(program).resolve(), Path("/etc/ld.so.cache")}
    assert found == expected


def test_a_static_program_needs_itself_only(tmp_path: Path) -> None:
    program = compile_c(TWO_THREADS, tmp_path / "two", "-static")
    assert programs_of(program) == (program,)


def test_a_library_beside_the_program_is_found_by_origin_or_missed_by_name(tmp_path: Path) -> None:
    library = compile_c("int five(void) { return 5; }", tmp_path / "libfive.so", "-shared", "-fPIC")
    source, words = "int five(void); int main(void) { return five(); }", (f"-L{tmp_path}", "-l:libfive.so")
    program = compile_c(source, tmp_path / "program", "-Wl,-rpath,$ORIGIN", *words)
    assert library in programs_of(program)
    program = compile_c(source, tmp_path / "program", *words)
    library.unlink()
    with pytest.raises(ToolMissing, match=r"program needs the library libfive\.so, which is not found"):
        programs_of(program)


def test_a_script_needs_its_interpreter_and_what_env_looks_for(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/bash -e\necho hello\n")
    script.chmod(0o755)
    assert Path("/bin/bash") in programs_of(script)
    script.write_text("#!/usr/bin/env -S A=1 bash -e\n")
    assert {"env", "bash"} <= {path.name for path in programs_of(script)}
    script.write_text("#!/opt/absent/interpreter\n")
    with pytest.raises(ToolMissing, match="script needs /opt/absent/interpreter, which is not installed; install it"):
        programs_of(script)


def test_a_program_of_another_machine_is_refused(tmp_path: Path) -> None:
    other, machine = ("aarch64", 183) if MACHINE == "x86_64" else ("x86_64", 62)
    overlay = tmp_path / "overlay"
    (overlay / "bin").mkdir(parents=True)
    (overlay / "bin/busybox").write_bytes(
        Path(BUSYBOX).read_bytes()[:18] + bytes([machine, 0]) + Path(BUSYBOX).read_bytes()[20:]
    )
    program = compile_c(TWO_THREADS, tmp_path / "two")
    with pytest.raises(ToolMissing, match=f"two is for {MACHINE}, the machine is {other}"):
        plan(((str(program),),), other, overlay, tmp_path)


@pytest.mark.parametrize("length", [4, 20, 63, 64, 100, 700])
def test_a_cut_off_program_is_one_sentence(tmp_path: Path, length: int) -> None:
    program = tmp_path / "cut"
    program.write_bytes(Path("/usr/bin/git").read_bytes()[:length])
    with pytest.raises(ElfError, match="cut is"):
        read_elf(program)
