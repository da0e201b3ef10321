# SPDX-License-Identifier: GPL-2.0-or-later
"""A real kernel under the plugin: shells that start at once on two virtual CPUs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from linesmith.plugins.machines.guest_files import archive, file, folder
from linesmith.plugins.machines.user import Border, marker_program, plugin_file
from linesmith.plugins.recording.text import read_recording

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("bare guests")]

SOURCES = Path(__file__).with_name("sources")
INIT = (SOURCES / "init.sh").read_bytes()
EXACT = (
    *("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"),
    *("-rtc", "base=2020-01-01,clock=vm", "-seed", "1"),
)
TURNS = ("-accel", "tcg,thread=multi")


@pytest.fixture(scope="module")
def initramfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    busybox = shutil.which("busybox")
    assert busybox, "install busybox-static"
    place = tmp_path_factory.mktemp("guest") / "initramfs"
    files = (
        file("init", INIT, 0o755),
        file("bin/busybox", Path(busybox).read_bytes(), 0o755),
        file("bin/start", marker_program("x86_64", Border.START), 0o755),
        file("bin/stop", marker_program("x86_64", Border.STOP), 0o755),
    )
    place.write_bytes(archive((folder("bin"), *files)))
    return place


def booted(
    kernel: Path, initramfs: Path, timing: Sequence[str], plugin: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Boot to the end of the guest; what the plugin says is on the error output."""
    words = (
        *("qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-smp", "2", "-m", "512M", *timing),
        *("-kernel", str(kernel), "-initrd", str(initramfs), "-append", "nokaslr quiet panic=-1 console=ttyS0"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"),
        *("-plugin", ",".join((str(plugin_file()), *plugin))),
    )
    return subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False, errors="replace"
    )


@pytest.mark.study
def test_the_same_seed_gives_the_same_recording_and_trace(tmp_path: Path, kernel_image: Path, initramfs: Path) -> None:
    for name in ("one", "two"):
        booted(kernel_image, initramfs, EXACT, [f"out={tmp_path / name}", f"trace={tmp_path / name}.trace"])
    recording = read_recording(tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one.trace").read_bytes() == (tmp_path / "two.trace").read_bytes()
    assert recording.counts["regions"] == 1
    assert {row.space for row in recording.lines} == {"k"}
    assert len(recording.lines) > 100
    check_no_devices(row.address for row in recording.lines)


def check_no_devices(addresses: Iterable[int]) -> None:
    """No line of the kernel is a device's."""
    assert not any(0xFFFFFFFFFF5FC000 <= address < 0xFFFFFFFFFF600000 for address in addresses)


def test_threads_take_turns_and_user_data_has_a_physical_address(
    tmp_path: Path, kernel_image: Path, initramfs: Path
) -> None:
    booted(kernel_image, initramfs, TURNS, [f"out={tmp_path / 'recording'}", "interleave=turns", "ring=both"])
    recording = read_recording(tmp_path / "recording")
    assert (recording.settings["interleave"], recording.counts["regions"]) == ("turns", 1)
    assert recording.counts["forced_passes"] < recording.counts["slices"] / 100
    kernel, physical = ([row.address for row in recording.lines if row.space == space] for space in "kp")
    assert {row.space for row in recording.lines} == {"k", "p"}
    check_no_devices(kernel)
    assert len(kernel) > 100
    assert max(physical) < 3 << 30


def test_exact_interleaving_refuses_threads_of_their_own(tmp_path: Path, kernel_image: Path, initramfs: Path) -> None:
    done = booted(kernel_image, initramfs, TURNS, [f"out={tmp_path / 'recording'}"])
    assert "linesmith: interleave=exact needs all virtual CPUs on one thread" in done.stderr
    assert done.returncode == 1
