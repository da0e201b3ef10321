# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith record`` on a real kernel: Debian's, booted by QEMU. Each boot takes some seconds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from keeping import Keeper, product_digest
from kernel_index import index_of
from linesmith_command import linesmith
from record.programs import compile_c, functions_of, profile_of, recording_of

from linesmith.analyzer.attribution.variables import lines_apart

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("recorded kernels")]

FORKS = "i=0; while [ $i -lt 8 ]; do ls / >/dev/null & i=$((i+1)); done; wait; echo all done"
# What a recording is made by; one that they made before is as good.
RECORDERS = (
    *("analyzer/base", "analyzer/model", "analyzer/cli/record.py"),
    *("plugins/machines", "plugins/recording", "plugins/snapshots"),
)
# Boots in half of the time, where the order of accesses does not matter.
QUICKLY = ("--interleave", "turns")


def record(
    kernel: Path, profile: Path, *words: str | Path, command: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    return linesmith("record", "--on", "qemu", "--kernel", kernel, *words, "-o", profile, "--", *command)


@pytest.fixture(scope="module")
def recorded(kernel_image: Path, vmlinux: Path, kept: Keeper) -> Path:
    """The profile of eight forks on four CPUs and two nodes, with its log beside it."""

    def make(folder: Path) -> None:
        words = ("--vmlinux", vmlinux, "--numa", "2")
        done = record(kernel_image, folder / "profile", *words, command=("sh", "-c", FORKS))
        assert done.returncode == 0, done.stderr

    version = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout
    stamps = [f"{one} {one.stat().st_size} {one.stat().st_mtime_ns}" for one in (kernel_image, vmlinux)]
    return kept("recorded-kernel", f"{product_digest(*RECORDERS)} {stamps} {version} {FORKS}", make) / "profile"


def test_the_kernel_is_told_by_its_release_and_build(recorded: Path, vmlinux: Path) -> None:
    recording = recording_of(recorded)
    notes = subprocess.run(["readelf", "-n", vmlinux], capture_output=True, text=True, check=True).stdout
    assert f"Build ID: {recording.build_id}" in notes
    assert recording.kernel_release == vmlinux.name.removeprefix("vmlinux-")


def test_functions_are_named(recorded: Path) -> None:
    accesses = [access for line in profile_of(recorded).lines for access in line.accesses]
    unnamed = [access for access in accesses if access.function is None]
    assert len(unnamed) * 100 <= len(accesses)
    assert {"copy_process", "release_task"} <= functions_of(recorded)


def test_misses_on_the_same_and_on_another_node_are_told_apart(recorded: Path) -> None:
    lines = profile_of(recorded).lines
    assert sum(line.hitm_local or 0 for line in lines) > 0
    assert sum(line.hitm_remote or 0 for line in lines) > 0
    assert recording_of(recorded).nodes == (0, 0, 1, 1)


def test_the_tick_is_set_apart(recorded: Path) -> None:
    profile = profile_of(recorded)
    apart = lines_apart(profile)
    functions = {access.function for line in profile.lines if line.address in apart for access in line.accesses}
    assert any(name and name.startswith(("rcu_", "tick_", "ktime_", "hrtimer_")) for name in functions)
    assert not any(name and name.startswith("vma_") for name in functions)


def test_the_log_holds_what_the_command_said(recorded: Path) -> None:
    assert "all done" in recorded.with_name("profile.log").read_text()


def test_hot_reads_the_profile(recorded: Path, vmlinux: Path, kept: Keeper) -> None:
    done = linesmith("hot", vmlinux, recorded, cache=index_of(vmlinux, kept))
    assert done.returncode == 0, done.stderr
    assert "recorded on qemu, 4 CPUs on 2 nodes" in done.stdout


def test_without_vmlinux_functions_come_from_the_guest_with_its_files(kernel_image: Path, tmp_path: Path) -> None:
    (tmp_path / "own").write_text("from the initrd, ")
    packed = subprocess.run(
        ["/usr/bin/busybox", "cpio", "-o", "-H", "newc"], input=b"own\n", cwd=tmp_path, capture_output=True, check=True
    )
    (tmp_path / "initrd").write_bytes(packed.stdout)
    (tmp_path / "overlay/data").mkdir(parents=True)
    (tmp_path / "overlay/data/file").write_text("from the overlay")
    files = ("--initrd", tmp_path / "initrd", "--overlay", tmp_path / "overlay")
    command = ("sh", "-c", f"cat /own /data/file; {FORKS.replace('ls / >/dev/null', ':')}")
    done = record(kernel_image, tmp_path / "profile", *QUICKLY, "--smp", "2", *files, command=command)
    assert "note: no --vmlinux was given: functions are named by the guest's /proc/kallsyms" in done.stderr
    assert "copy_process" in functions_of(tmp_path / "profile")
    assert "from the initrd, from the overlay" in (tmp_path / "profile.log").read_text()


@pytest.mark.study
def test_a_vmlinux_of_another_build_is_refused(kernel_image: Path, tmp_path: Path) -> None:
    build_id = "0123456789abcdef0123456789abcdef01234567"
    other = compile_c("", tmp_path / "vmlinux", "-nostdlib", "-static", "-Wl,-e,0", f"-Wl,--build-id=0x{build_id}")
    done = record(kernel_image, tmp_path / "profile", "--vmlinux", other, "--smp", "2", command=("true",))
    assert done.returncode == 2
    assert f"--vmlinux has the build-id {build_id}, but the kernel that booted" in done.stderr


def test_a_panic_is_told_with_its_last_lines(kernel_image: Path, tmp_path: Path) -> None:
    words = ("--smp", "1", "--append", "rdinit=/absent root=/dev/none")
    done = record(kernel_image, tmp_path / "profile", *QUICKLY, *words, command=("true",))
    assert done.returncode == 2
    assert "the guest's kernel died while booting: VFS: Unable to mount root fs" in done.stderr
    assert f"all of them are in {tmp_path}/profile.log" in done.stderr
    assert not (tmp_path / "profile").exists()


@pytest.mark.study
@pytest.mark.parametrize(
    ("words", "command", "why"),
    [
        (("--interleave", "turns", "--timeout", "15"), ("sleep", "9999"), "running the command after 15 s (--timeout)"),
        ((), ("sh", "-c", "no-such-thing"), "the command was not found in the guest (status 127)"),
        ((), ("poweroff", "-f"), "the guest ended while running the command; its last lines: "),
    ],
)
def test_a_command_that_does_not_end_well_is_told(
    kernel_image: Path, tmp_path: Path, words: tuple[str, ...], command: tuple[str, ...], why: str
) -> None:
    done = record(kernel_image, tmp_path / "profile", "--smp", "1", *words, command=command)
    assert done.returncode == 2
    assert why in done.stderr


def test_a_dry_run_shows_how_qemu_would_be_called(kernel_image: Path, tmp_path: Path) -> None:
    words = ("--dry-run", "--smp", "8", "--numa", "2", "--append", "quiet memcg")
    shown = record(kernel_image, tmp_path / "profile", *words, command=("true",)).stdout
    assert "-smp 8,sockets=2,cores=4,threads=1" in shown
    assert f"-kernel {os.path.realpath(kernel_image)} -initrd initramfs.cpio" in shown
    assert "rdinit=/linesmith/init" in shown
