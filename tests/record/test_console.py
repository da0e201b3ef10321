# SPDX-License-Identifier: GPL-2.0-or-later
"""How kernels say that they died, in their own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.plugins.machines.console import Console, death


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
        ("[    3.0] kernel BUG at mm/slub.c:4362!\n", "kernel BUG at mm/slub.c:4362!"),
        (
            "[    3.0] Unable to handle kernel paging request at virtual address ffff8000\n",
            "Unable to handle kernel paging request at virtual address ffff8000",
        ),
        ("[    3.0] general protection fault, probably for non-canonical address 0x1: 0000 [#1]\n", None),
    ],
)
def test_the_first_report_tells_why(text: str, why: str | None) -> None:
    found = death(text)
    assert found == (why or "general protection fault, probably for non-canonical address 0x1: 0000 [#1]")


def test_a_program_that_crashes_does_not_end_the_guest() -> None:
    assert (
        death("[    3.0] prog[71]: segfault at 0 ip 0000 sp 0000 error 4 in prog[400000+1000]\nSegmentation fault\n")
        is None
    )


def test_a_program_s_own_words_do_not_end_the_guest() -> None:
    assert death("Internal error: no such table\n") is None


def test_an_oops_of_arm64_ends_the_guest() -> None:
    assert death("[    3.0] Internal error: Oops - BUG: 0 [#1] SMP\n") == "Internal error: Oops - BUG: 0 [#1] SMP"


def test_the_last_lines_come_without_stamps_and_colours(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\x1b[2J\r\n" + b"".join(b"[    0.%d] line %d\r\n" % (i, i) for i in range(9)) + b"\x1b[0m\r\n")
    assert Console(log).last_lines() == "line 4 | line 5 | line 6 | line 7 | line 8"


def test_a_console_without_output_says_so(tmp_path: Path) -> None:
    assert Console(tmp_path / "absent").last_lines() == "nothing was printed"


def test_a_dead_guest_s_last_lines_end_with_its_death(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "[    0.1] before\n[    0.2] Kernel panic - not syncing: gone\n[    0.2] Call Trace:\n[    0.2]  f+0x1\n"
    )
    assert Console(log).last_lines() == "before | Kernel panic - not syncing: gone"


def test_whom_the_kernel_kills_for_want_of_memory(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "[    9.1] prog invoked oom-killer: order=0\n[    9.2] Out of memory: Killed process 71 (prog) UID:0\n"
    )
    assert Console(log).starved() == "Out of memory: Killed process 71 (prog) UID:0"


def test_a_kernel_that_has_nobody_left_to_kill(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("[    9.2] Kernel panic - not syncing: System is deadlocked on memory\n")
    assert Console(log).starved() == "Kernel panic - not syncing: System is deadlocked on memory"


def test_a_kernel_with_enough_memory_starves_nobody(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("[    0.1] Memory: 260916K/523764K available\n")
    assert Console(tmp_path / "log").starved() is None
