# SPDX-License-Identifier: GPL-2.0-or-later
"""An option that is wrong keeps QEMU from starting, with one sentence that says what to write instead."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from qemu.guest_programs import compiled, emulated

from linesmith.plugins.machines.user import plugin_file

LISTED = "docs/simulation.md lists them"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("refused"), 'int main(void) { puts("ran"); }')


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("quantm=5", f'there is no option "quantm"; {LISTED}'),
        ("quantum", "the option quantum=on must be a number of instructions from 1 on"),
        ("quantum=0", "the option quantum=0 must be a number of instructions from 1 on"),
        ("quantum=-1", "the option quantum=-1 must be a number of instructions from 1 on"),
        ("quantum=99999999999999999999", "the option quantum=99999999999999999999 must be a number of instructions"),
        ("quantum=5x", "the option quantum=5x must be a number of instructions from 1 on"),
        ("line_bytes=96", "a cache line has 64, 128 or 256 bytes"),
        ("line_bytes=32", "the option line_bytes=32 must be 64, 128 or 256"),
        ("nodes=0:1:", "the option nodes=0:1: must be the node of each CPU, 0 to 255, separated by colons"),
        ("nodes=0:256", "the option nodes=0:256 must be the node of each CPU"),
        ("cache_bytes=1000", "the bytes of a private cache must be its ways times the line size"),
        ("ring=kernel", "a program has no kernel to follow: leave ring= away or say ring=user"),
        ("ring=outer", "the option ring=outer must be kernel, user or both"),
        ("interleave=exact", "interleave=exact needs a whole machine on one thread: for a program say turns or host"),
        ("region=symbol", "region=symbol needs start=ADDRESS"),
        ("start=1000", "start= and stop= go with region=symbol only"),
        ("trace=/nowhere/at/all", "the trace /nowhere/at/all cannot be written: No such file or directory"),
    ],
)
def test_what_an_option_must_be_is_said(program: Path, option: str, sentence: str) -> None:
    done = emulated(program, [option])
    assert f"linesmith: {sentence}" in done.stderr
    assert done.returncode != 0
    assert "ran" not in done.stdout


def test_where_the_recording_goes_must_be_said(program: Path) -> None:
    words = ["qemu-x86_64", "-plugin", str(plugin_file()), str(program)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert "linesmith: the option out=FILE is missing: it names the recording to write" in done.stderr


def test_a_guest_of_another_architecture_is_refused(program: Path) -> None:
    done = emulated(program, qemu="qemu-arm")
    assert "linesmith: guests of x86_64 and aarch64 can be followed, not of arm" in done.stderr


def test_more_cpus_than_can_be_followed_are_refused(tmp_path: Path) -> None:
    plugin = f"{plugin_file()},out={tmp_path / 'recording'}"
    words = ["qemu-system-x86_64", "-M", "q35", "-smp", "65", "-display", "none", "-plugin", plugin]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert "linesmith: at most 64 virtual CPUs can be followed, not 65" in done.stderr


def test_each_cpu_of_a_machine_needs_its_node(tmp_path: Path) -> None:
    plugin = f"{plugin_file()},out={tmp_path / 'recording'},nodes=0:1"
    words = ["qemu-system-x86_64", "-M", "q35", "-smp", "4", "-display", "none", "-plugin", plugin]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert "linesmith: nodes= must name the node of every virtual CPU" in done.stderr
