# SPDX-License-Identifier: GPL-2.0-or-later
"""How QEMU is called for a whole machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.model import Emulation, Guest
from linesmith.plugins.machines.system_command import BOARDS, nodes_of_cpus, recording_command


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


def test_exact_turns_count_instructions_on_one_thread() -> None:
    shown = words(Guest(Path("kernel")), Emulation(seed=5))
    assert "-accel tcg,thread=single -icount shift=0,sleep=off -rtc base=2020-01-01,clock=vm -seed 5" in shown


def test_turns_have_a_thread_for_each_cpu() -> None:
    assert "-accel tcg,thread=multi -m" in words(Guest(Path("kernel")), Emulation(interleave="turns"))


def test_a_comma_in_the_log_s_name_is_doubled() -> None:
    assert "path=/a,,b/log" in words(Guest(Path("kernel")))


def test_words_of_the_user_come_last() -> None:
    shown = words(Guest(Path("kernel"), words=("quiet", "rdinit=/other")))
    assert "rdinit=/linesmith/init random.trust_cpu=on nokaslr tsc=reliable" in shown
    assert "no_timer_check quiet rdinit=/other -nodefaults" in shown


def test_aarch64_has_its_second_port_on_a_card() -> None:
    assert "-device pci-serial,chardev=talk" in words(Guest(Path("kernel")), machine="aarch64")
