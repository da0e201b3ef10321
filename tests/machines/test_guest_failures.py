# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that really fail: each way has its class, its log, and the kernel's own words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from machines.places import Place, shell

from linesmith.analyzer.errors import GuestFailed, GuestNotBooted, GuestOutOfMemory, GuestPanicked
from linesmith.analyzer.model import Setting, Step

pytestmark = pytest.mark.real

NOTHING = (Step(("true",)),)


def with_settings(place: Place, **settings: Setting) -> Place:
    return replace(place, site=replace(place.site, settings=(*place.site.settings, *settings.items())))


def test_a_panic_is_told_with_the_kernel_s_words_and_the_log(qemu: Place, tmp_path: Path) -> None:
    with pytest.raises(
        GuestPanicked, match=r"died while running step 2 \(sh -c .*: sysrq triggered crash; its last"
    ) as told:
        qemu.run((shell("echo kept"), shell("echo c >/proc/sysrq-trigger")), tmp_path)
    assert str(tmp_path / "console.log") in str(told.value)
    assert "sysrq triggered crash" in (tmp_path / "console.log").read_text()
    assert (tmp_path / "step-1.output").read_text() == "kept\n"


def test_a_process_that_is_killed_for_want_of_memory(qemu: Place, tmp_path: Path) -> None:
    with pytest.raises(
        GuestOutOfMemory, match=r"Out of memory: Killed process \d+ \(tail\).*give the machine more memory"
    ):
        qemu.run((shell("tail /dev/zero; true"),), tmp_path)


def test_the_time_of_the_whole_session_is_limited_too(qemu: Place, tmp_path: Path) -> None:
    endless = shell("while :; do :; done")
    with pytest.raises(
        GuestFailed, match=r"still (booting|running step 1 .*while :; do :; done.*) after \d+ s \(its limit"
    ):
        qemu.within(12).run((endless,), tmp_path)


def test_a_kernel_that_panics_before_its_first_program_did_not_boot(qemu: Place, tmp_path: Path) -> None:
    absent = with_settings(qemu, words="rdinit=/absent root=/dev/none")
    with pytest.raises(GuestNotBooted, match="died while booting: VFS: Unable to mount root fs"):
        absent.run(NOTHING, tmp_path)


def test_a_kernel_that_is_garbage_never_gets_anywhere(qemu: Place, tmp_path: Path) -> None:
    whole = dict(qemu.products)["kernel"].read_bytes()
    (tmp_path / "garbage").write_bytes(whole[: 64 << 10] + bytes(len(whole) - (64 << 10)))
    broken = replace(with_settings(qemu, boot_seconds=5), products=(("kernel", tmp_path / "garbage"),))
    with pytest.raises(GuestNotBooted, match=r"still booting after 5 s.*it was booted twice|ended while booting"):
        broken.run(NOTHING, tmp_path)


def test_a_file_that_is_no_kernel_is_refused(qemu: Place, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no kernel")
    with pytest.raises(GuestNotBooted, match="is no kernel that can be booted"):
        replace(qemu, products=(("kernel", tmp_path / "text"),)).run(NOTHING, tmp_path)


def test_a_build_without_a_kernel_is_refused(qemu: Place, tmp_path: Path) -> None:
    with pytest.raises(GuestNotBooted, match="the build build has no product called kernel; name one that boots"):
        replace(qemu, products=()).run(NOTHING, tmp_path)


def test_a_guest_that_powers_off_in_mid_step_failed(qemu: Place, tmp_path: Path) -> None:
    with pytest.raises(GuestFailed, match="the guest ended while running step 1") as told:
        qemu.run((Step(("poweroff", "-f")),), tmp_path)
    assert "reboot: Power down" in str(told.value)


def test_files_that_do_not_fit_into_the_guest_are_told(qemu: Place, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(100 << 20))
    with pytest.raises(GuestNotBooted, match=r"the guest's files take 10\d MiB, too much for 256 MiB of memory"):
        qemu.run((Step(("cat", str(tmp_path / "large"))),), tmp_path)


def test_words_that_qemu_does_not_know_are_told_as_it_says(qemu: Place, tmp_path: Path) -> None:
    unsound = replace(qemu, site=replace(qemu.site, cpus=4000))
    with pytest.raises(GuestNotBooted, match=r"QEMU ended while the guest was booting: .*CPUs"):
        unsound.run(NOTHING, tmp_path)
