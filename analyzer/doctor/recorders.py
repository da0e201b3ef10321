# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether anything here can record a profile: one way is enough."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.doctor import emulation, sampling
from linesmith.analyzer.model import Check, Readiness

# By the name that `record --on` takes: the parts that all have to be there.
_WAYS = {
    "perf": ("perf", sampling.PMU),
    "qemu-user": (emulation.PROGRAMS_ONLY, emulation.PLUGIN),
    "qemu": (emulation.WHOLE, emulation.PLUGIN, "busybox"),
}


def check(others: Sequence[Check]) -> Check:
    """What `record` can do by what the other checks found."""
    ready = {one.name for one in others if one.readiness is Readiness.READY}
    ways = [way for way, parts in _WAYS.items() if ready.issuperset(parts)]
    purpose = "`record`: a profile of what runs here"
    if ways:
        return Check("record", "recorder", Readiness.READY, f"--on {', '.join(ways)}", purpose, "", ("record",))
    remedy = next((one.remedy for one in others if one.name == emulation.PROGRAMS_ONLY), "")
    return Check("record", "recorder", Readiness.MISSING, "nothing can record", purpose, remedy, ("record",))
