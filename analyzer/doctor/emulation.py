# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU, the plugin that follows its accesses, and whether KVM really runs guests."""

from __future__ import annotations

import os
from collections.abc import Iterator

from linesmith.analyzer.doctor.distribution import Distribution
from linesmith.analyzer.doctor.programs import Program, check
from linesmith.analyzer.errors import ToolMissing
from linesmith.analyzer.model import Check, Readiness
from linesmith.plugins.machines.kvm import kvm_obstacle
from linesmith.plugins.machines.tcg_plugin import plugin_file

AREA = "emulate"
WHOLE = "QEMU, whole machines"
PROGRAMS_ONLY = "QEMU, programs"
PLUGIN = "plugin for QEMU"
_SYSTEMS = {"x86_64": "qemu-system-x86", "aarch64": "qemu-system-arm"}


def checks(distribution: Distribution) -> Iterator[Check]:
    """What emulates, what follows, what is in the guest, and KVM."""
    machine = os.uname().machine
    whole = Program(
        AREA,
        WHOLE,
        (f"qemu-system-{machine}",),
        _SYSTEMS.get(machine, "qemu-system"),
        "records and boots kernels (`record --on qemu`, machine `qemu`)",
    )
    programs = Program(
        AREA, PROGRAMS_ONLY, (f"qemu-{machine}",), "qemu-user", "records programs (`record --on qemu-user`)"
    )
    shell = Program(AREA, "busybox", ("busybox",), "busybox-static", "is the userland of guests", (), "--help")
    yield check(whole, distribution)
    yield check(programs, distribution)
    yield _plugin()
    yield check(shell, distribution)
    yield _kvm(distribution)


def _plugin() -> Check:
    purpose = "counts the misses of emulated caches: what `record` needs without a PMU"
    try:
        plugin_file()
    except ToolMissing:
        return Check(AREA, PLUGIN, Readiness.MISSING, "not in this installation", purpose, "install linesmith again")
    return Check(AREA, PLUGIN, Readiness.READY, "in this installation", purpose)


def _kvm(distribution: Distribution) -> Check:
    purpose = "runs guests of `tune` and `bench` at full speed; `record` emulates in any case"
    try:
        obstacle = kvm_obstacle()
    except ToolMissing as error:
        obstacle = str(error).partition(";")[0]
    if obstacle is None:
        return Check(AREA, "KVM", Readiness.READY, "ran a guest", purpose)
    denied = "may not be used" in obstacle
    remedy = distribution.as_root('usermod --append --groups kvm "$USER"') if denied else ""
    return Check(AREA, "KVM", Readiness.MISSING, f"{obstacle}; guests are emulated", purpose, remedy)
