# SPDX-License-Identifier: GPL-2.0-or-later
"""How QEMU is called for a whole machine, what marks the region inside, and how kernels say that they died."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from linesmith.analyzer.base.errors import ToolMissing
from linesmith.analyzer.model import Emulation, Guest
from linesmith.plugins.machines.system import BOARDS, nodes_of_cpus, recording_command
from linesmith.plugins.machines.talk import Console, death
from linesmith.plugins.machines.user import Border, marker_program


def words(guest: Guest, emulation: Emulation | None = None, machine: str = "x86_64") -> str:
    """The command line, joined by blanks."""
    board = BOARDS[machine]
    return " ".join(recording_command("qemu", guest, board, emulation or Emulation(), "plugin", Path("/a,b/log"), 3))


@pytest.mark.parametrize(("memory", "sizes"), [(512, [256, 256]), (513, [256, 257])])
def test_nodes_share_all_of_the_memory(memory: int, sizes: list[int]) -> None:
    shown = words(Guest(Path("kernel"), cpus=4, nodes=2, memory=memory << 20))
    assert f"-m {memory}M" in shown
    for node, size in enumerate(sizes):
        assert f"id=node{node},size={size}M" in shown


def test_cpus_belong_to_nodes_in_blocks() -> None:
    assert nodes_of_cpus(Guest(Path("kernel"), cpus=6, nodes=3)) == (0, 0, 1, 1, 2, 2)


KERNEL = Guest(Path("kernel"))


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        # Exact turns count instructions on one thread, others have a thread for each CPU.
        (
            words(KERNEL, Emulation(seed=5)),
            "-accel tcg,thread=single -icount shift=0,sleep=off -rtc base=2020-01-01,clock=vm -seed 5",
        ),
        (words(KERNEL, Emulation(interleave="turns")), "-accel tcg,thread=multi -m"),
        (words(KERNEL), "path=/a,,b/log"),
        (words(KERNEL), "rdinit=/linesmith/init random.trust_cpu=on nokaslr tsc=reliable"),
        # Words of the user come last.
        (
            words(Guest(Path("kernel"), words=("quiet", "rdinit=/other"))),
            "no_timer_check quiet rdinit=/other -nodefaults",
        ),
        (words(KERNEL, machine="aarch64"), "-device pci-serial,chardev=talk"),
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


@pytest.mark.parametrize("border", Border)
def test_a_marker_runs_on_this_machine(tmp_path: Path, border: Border) -> None:
    program = tmp_path / "marker"
    program.write_bytes(marker_program(os.uname().machine, border))
    program.chmod(0o755)
    done = subprocess.run([program], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_other_machines_are_refused() -> None:
    with pytest.raises(ToolMissing, match="the machine riscv64 is not supported; record an x86_64 or aarch64 guest"):
        marker_program("riscv64", Border.START)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "[    1.2] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\n[    1.2] CPU",
            "VFS: Unable to mount root fs on unknown-block(0,0)",
        ),
        (
            "[    7.1] BUG: kernel NULL pointer dereference, address: 018\n[    7.2] Kernel panic - not syncing: Fatal",
            "BUG: kernel NULL pointer dereference, address: 018",
        ),
        *(
            (f"[    3.0] {report}\n", report)
            for report in (
                "kernel BUG at mm/slub.c:4362!",
                "Unable to handle kernel paging request at virtual address ffff8000",
                "general protection fault, probably for non-canonical address 0x1: 0000 [#1]",
                "Internal error: Oops - BUG: 0 [#1] SMP",
            )
        ),
        # A program that crashes, and a program's own words, do not end the guest.
        ("[    3.0] prog[71]: segfault at 0 ip 0000 sp 0000 error 4 in prog[400000+1000]\nSegmentation fault\n", None),
        ("Internal error: no such table\n", None),
    ],
)
def test_the_first_report_of_a_dying_kernel_tells_why(text: str, why: str | None) -> None:
    assert death(text) == why


@pytest.mark.parametrize(
    ("text", "lines", "starved"),
    [
        (None, "nothing was printed", None),
        (
            "\x1b[2J\r\n" + "".join(f"[    0.{i}] line {i}\r\n" for i in range(9)) + "\x1b[0m\r\n",
            "line 4 | line 5 | line 6 | line 7 | line 8",
            None,
        ),
        (
            "[    0.1] before\n[    0.2] Kernel panic - not syncing: gone\n[    0.2] Call Trace:\n[    0.2]  f+0x1\n",
            "before | Kernel panic - not syncing: gone",
            None,
        ),
        (
            "[    9.1] prog invoked oom-killer: order=0\n[    9.2] Out of memory: Killed process 71 (prog) UID:0\n",
            "prog invoked oom-killer: order=0 | Out of memory: Killed process 71 (prog) UID:0",
            "Out of memory: Killed process 71 (prog) UID:0",
        ),
        (
            "[    9.2] Kernel panic - not syncing: System is deadlocked on memory\n",
            "Kernel panic - not syncing: System is deadlocked on memory",
            "Kernel panic - not syncing: System is deadlocked on memory",
        ),
        ("[    0.1] Memory: 260916K/523764K available\n", "Memory: 260916K/523764K available", None),
    ],
)
def test_the_last_lines_of_a_console_and_whom_the_kernel_killed_for_memory(
    tmp_path: Path, text: str | None, lines: str, starved: str | None
) -> None:
    if text is not None:
        (tmp_path / "log").write_bytes(text.encode())
    console = Console(tmp_path / "log")
    assert (console.last_lines(), console.starved()) == (lines, starved)
