# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether anything here can record a profile: one way is enough.

perf samples where the PMU tells the addresses of data and what other caches say; QEMU with our plugin emulates. KVM is
tried by running a guest.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from linesmith.analyzer.base.errors import ToolMissing
from linesmith.analyzer.doctor.programs import Distribution, Tool, check, ended, release_in
from linesmith.analyzer.model import Check, Readiness
from linesmith.plugins.machines.system import kvm_obstacle
from linesmith.plugins.machines.user import plugin_file

AREA = "record"
PMU = "PMU"
_DEVICES = Path("/sys/bus/event_source/devices")
# A program may sample itself up to this value. See perf_event_open(2).
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_MOST_PARANOID = 2
_SECONDS = 20
# Which event gives c2c its samples, by the file that tells of it. See perf-c2c(1) and perf-mem(1).
_EVENTS = (
    ("cpu/events/mem-loads", "Intel's load latency event: loads that hit a modified line elsewhere (HITM)"),
    ("cpu_core/events/mem-loads", "Intel's load latency event: loads that hit a modified line elsewhere (HITM)"),
    ("ibs_op", "AMD's IBS: HITM if the processor reports it, otherwise which cache a load came from"),
    ("arm_spe_0", "Arm's SPE: loads that came from another CPU's cache"),
)
_PURPOSE_OF_PMU = "`record --on perf`, `perf c2c record`"
EMULATION_AREA = "emulate"
WHOLE = "QEMU, whole machines"
PROGRAMS_ONLY = "QEMU, programs"
PLUGIN = "plugin for QEMU"
_SYSTEMS = {"x86_64": "qemu-system-x86", "aarch64": "qemu-system-arm"}
# By the name that `record --on` takes: the parts that all have to be there.
_WAYS = {"perf": ("perf", PMU), "qemu-user": (PROGRAMS_ONLY, PLUGIN), "qemu": (WHOLE, PLUGIN, "busybox")}


def sampling_checks(distribution: Distribution) -> Iterator[Check]:
    """perf, and what it can sample here."""
    perf = shutil.which("perf")
    purpose = "records profiles on this machine, reads perf.data"
    if perf is None:
        remedy = distribution.install("linux-perf")
        yield Check(AREA, "perf", Readiness.MISSING, "not installed", purpose, remedy)
    else:
        yield Check(AREA, "perf", Readiness.READY, f"perf {release_in(ended(perf, '--version'))}".strip(), purpose)
    yield _pmu(perf, distribution)


def events(devices: Path) -> str:
    """The event of c2c that this machine has; empty where it has none."""
    return next((meaning for path, meaning in _EVENTS if (devices / path).exists()), "")


def _pmu(perf: str | None, distribution: Distribution) -> Check:
    event = events(_DEVICES)
    if not event:
        virtual = False
        with suppress(OSError):
            # The processor says that it is not a real one. See proc_cpuinfo(5).
            virtual = "hypervisor" in Path("/proc/cpuinfo").read_text("ascii", "replace").partition("\n\n")[0]
        place = "a virtual machine" if virtual else "this processor"
        said = f"no event with data addresses ({place}); `record` emulates instead"
        return Check(AREA, PMU, Readiness.MISSING, said, _PURPOSE_OF_PMU)
    if perf is None:
        return Check(AREA, PMU, Readiness.LIMITED, f"{event}, but no perf", _PURPOSE_OF_PMU)
    done = ended(perf, "c2c", "record", "-o", "/dev/null", "--", "true", seconds=_SECONDS)
    if done and done.status == 0:
        return Check(AREA, PMU, Readiness.READY, event, _PURPOSE_OF_PMU)
    forbidden = False
    with suppress(OSError, ValueError):
        forbidden = int(_PARANOID.read_text("ascii")) >= _MOST_PARANOID
    remedy = distribution.as_root("sysctl kernel.perf_event_paranoid=1") if forbidden else ""
    return Check(AREA, PMU, Readiness.LIMITED, f"{event}, but perf may not use it", _PURPOSE_OF_PMU, remedy)


def emulation_checks(distribution: Distribution) -> Iterator[Check]:
    """What emulates, what follows, what is in the guest, and KVM."""
    machine = os.uname().machine
    whole = Tool(
        EMULATION_AREA,
        WHOLE,
        (f"qemu-system-{machine}",),
        _SYSTEMS.get(machine, "qemu-system"),
        "records and boots kernels (`record --on qemu`, machine `qemu`)",
    )
    programs = Tool(
        EMULATION_AREA, PROGRAMS_ONLY, (f"qemu-{machine}",), "qemu-user", "records programs (`record --on qemu-user`)"
    )
    shell = Tool(EMULATION_AREA, "busybox", ("busybox",), "busybox-static", "userland of guests", (), "--help")
    yield check(whole, distribution)
    yield check(programs, distribution)
    yield _plugin()
    yield check(shell, distribution)
    yield _kvm(distribution)


def _plugin() -> Check:
    purpose = "counts the misses of simulated caches: needed by `record` without a PMU"
    try:
        plugin_file()
    except ToolMissing:
        return Check(
            EMULATION_AREA, PLUGIN, Readiness.MISSING, "not in this installation", purpose, "install linesmith again"
        )
    return Check(EMULATION_AREA, PLUGIN, Readiness.READY, "in this installation", purpose)


def _kvm(distribution: Distribution) -> Check:
    purpose = "runs guests of `tune` and `bench` at full speed; `record` emulates in any case"
    try:
        obstacle = kvm_obstacle()
    except ToolMissing as error:
        obstacle = str(error).partition(";")[0]
    if obstacle is None:
        return Check(EMULATION_AREA, "KVM", Readiness.READY, "ran a guest", purpose)
    denied = "may not be used" in obstacle
    remedy = distribution.as_root('usermod --append --groups kvm "$USER"') if denied else ""
    return Check(EMULATION_AREA, "KVM", Readiness.MISSING, f"{obstacle}; guests are emulated", purpose, remedy)


def recording_check(others: Sequence[Check]) -> Check:
    """What `record` can do by what the other checks found."""
    ready = {one.name for one in others if one.readiness is Readiness.READY}
    ways = [way for way, parts in _WAYS.items() if ready.issuperset(parts)]
    purpose = "`record`: a profile of what runs here"
    if ways:
        return Check("record", "recorder", Readiness.READY, f"--on {', '.join(ways)}", purpose, "", ("record",))
    remedy = next((one.remedy for one in others if one.name == PROGRAMS_ONLY), "")
    return Check("record", "recorder", Readiness.MISSING, "no recorder works", purpose, remedy, ("record",))
