# SPDX-License-Identifier: GPL-2.0-or-later
"""perf and the PMU: whether loads are sampled with the addresses of their data, and what they say of other caches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linesmith.analyzer.doctor.distribution import Distribution
from linesmith.analyzer.doctor.running import ended, found, release
from linesmith.analyzer.model import Check, Readiness

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
    ("ibs_op", "AMD's IBS: HITM where the processor tells it, otherwise which cache a load came from"),
    ("arm_spe_0", "Arm's SPE: loads that came from another CPU's cache"),
)
_PURPOSE_OF_PMU = "`record --on perf`, `perf c2c record`"


def checks(distribution: Distribution) -> Iterator[Check]:
    """perf, and what it can sample here."""
    perf = found("perf")
    purpose = "records profiles on this machine, reads perf.data"
    if perf is None:
        remedy = distribution.install("linux-perf")
        yield Check(AREA, "perf", Readiness.MISSING, "not installed", purpose, remedy)
    else:
        yield Check(AREA, "perf", Readiness.READY, f"perf {release(str(perf))}".strip(), purpose)
    yield _pmu(perf, distribution)


def events(devices: Path) -> str:
    """The event of c2c that this machine has; empty where it has none."""
    return next((meaning for path, meaning in _EVENTS if (devices / path).exists()), "")


def _pmu(perf: Path | None, distribution: Distribution) -> Check:
    event = events(_DEVICES)
    if not event:
        place = "a virtual machine" if _virtual() else "this processor"
        said = f"no event with addresses of data ({place}); `record` emulates instead"
        return Check(AREA, PMU, Readiness.MISSING, said, _PURPOSE_OF_PMU)
    if perf is None:
        return Check(AREA, PMU, Readiness.LIMITED, f"{event}, but no perf", _PURPOSE_OF_PMU)
    done = ended(str(perf), "c2c", "record", "-o", "/dev/null", "--", "true", seconds=_SECONDS)
    if done and done.status == 0:
        return Check(AREA, PMU, Readiness.READY, event, _PURPOSE_OF_PMU)
    remedy = distribution.as_root("sysctl kernel.perf_event_paranoid=1") if _forbidden() else ""
    return Check(AREA, PMU, Readiness.LIMITED, f"{event}, but perf may not use it", _PURPOSE_OF_PMU, remedy)


def _virtual() -> bool:
    """Whether the processor says that it is not a real one. See proc_cpuinfo(5)."""
    try:
        return "hypervisor" in Path("/proc/cpuinfo").read_text("ascii", "replace").partition("\n\n")[0]
    except OSError:
        return False


def _forbidden() -> bool:
    try:
        return int(_PARANOID.read_text("ascii")) >= _MOST_PARANOID
    except (OSError, ValueError):
        return False
