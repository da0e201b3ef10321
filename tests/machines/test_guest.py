# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of QEMU with the real kernel: what they are made of, and each way in which they really fail."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from machines.places import Place, shell

from linesmith.analyzer.base.errors import GuestFailed, GuestNotBooted, GuestOutOfMemory, GuestPanicked
from linesmith.analyzer.model import Setting, Step

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("guests")]

NOTHING = (Step(("true",)),)


def with_settings(place: Place, **settings: Setting) -> Place:
    return replace(place, site=replace(place.site, settings=(*place.site.settings, *settings.items())))


def on_one_cpu(place: Place) -> Place:
    """The same, which boots sooner, with as little memory as the kernel needs."""
    return replace(place, site=replace(place.site, cpus=1, nodes=1, memory=128 << 20))


def test_want_of_memory_explains_all_else_and_a_panic_has_the_kernel_s_words(qemu: Place, tmp_path: Path) -> None:
    steps = (shell("echo kept; tail /dev/zero; true"), shell("echo c >/proc/sysrq-trigger"))
    with pytest.raises(GuestOutOfMemory, match=r"Out of memory: Killed process \d+ \(tail\).*more memory") as told:
        on_one_cpu(qemu).run(steps, tmp_path)
    panic = told.value.__cause__
    assert isinstance(panic, GuestPanicked)
    assert re.search(r"died while running step 2 \(sh -c .*: sysrq triggered crash; its last", str(panic))
    assert str(tmp_path / "console.log") in str(panic)
    assert "sysrq triggered crash" in (tmp_path / "console.log").read_text()
    assert (tmp_path / "step-1.output").read_text() == "kept\n"


@pytest.mark.study
def test_the_time_of_the_whole_session_is_limited_too(qemu: Place, tmp_path: Path) -> None:
    endless = shell("while :; do :; done")
    with pytest.raises(
        GuestFailed, match=r"still (booting|running step 1 .*while :; do :; done.*) after \d+ s \(its limit"
    ):
        qemu.within(12).run((endless,), tmp_path)


def test_a_kernel_that_is_garbage_never_gets_anywhere(qemu: Place, tmp_path: Path) -> None:
    whole = dict(qemu.products)["kernel"].read_bytes()
    (tmp_path / "garbage").write_bytes(whole[: 64 << 10] + bytes(len(whole) - (64 << 10)))
    broken = replace(with_settings(qemu, boot_seconds=1), products=(("kernel", tmp_path / "garbage"),))
    with pytest.raises(GuestNotBooted, match=r"still booting after 1 s|ended while booting"):
        broken.run(NOTHING, tmp_path)


def test_what_cannot_boot_is_refused(qemu: Place, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no kernel")
    (tmp_path / "large").write_bytes(bytes(100 << 20))
    large = (Step(("cat", str(tmp_path / "large"))),)
    refusals = (
        (replace(qemu, products=(("kernel", tmp_path / "text"),)), NOTHING, "is not a bootable kernel"),
        (replace(qemu, products=()), NOTHING, "the build build has no product called kernel; name one that boots"),
        (qemu, large, r"the guest's files take 10\d MiB, too much for 256 MiB of memory"),
        (replace(qemu, site=replace(qemu.site, cpus=4000)), NOTHING, "QEMU ended while the guest was booting: .*CPUs"),
    )
    for place, steps, why in refusals:
        with pytest.raises(GuestNotBooted, match=why):
            place.run(steps, tmp_path / "scratch")
