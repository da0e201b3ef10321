# SPDX-License-Identifier: GPL-2.0-or-later
"""What a changed record was predicted to cost, beside recordings of the kernel that was rebuilt with it.

    python tests/bench/prediction_against_rebuilt.py address_space
        --before VMLINUX PROFILE... --after VMLINUX PROFILE...

Each recording before gives a prediction for the layout that the kernel after has; the recordings after have what it
came to. Misses are those of all lines that hold the record.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.layouts.placement import BYTE
from linesmith.analyzer.model import Layout, Member
from linesmith.analyzer.sharing.analysis import Explanation
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.kernel import machine_of, release_of
from linesmith.tuner.constraints.facts import Premises
from linesmith.tuner.cost.heat import contended_on
from linesmith.tuner.cost.layout_cost import layout_cost
from linesmith.tuner.cost.saving import saving
from linesmith.tuner.propose.subject import ContendedRecord, subject

LINES = 200


def main() -> None:
    """Read the command line, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("type")
    for when in ("--before", "--after"):
        parser.add_argument(when, nargs="+", type=Path, required=True, metavar="VMLINUX PROFILE")
    given = parser.parse_args()
    after = [_analysed(given.after[0], profile, given.type) for profile in given.after[1:]]
    wanted = after[0].reading.layouts.variants(given.type)[0]
    likely, before = [], []
    for profile in given.before[1:]:
        target = _subject(_analysed(given.before[0], profile, given.type), given.before[0])
        now, then = _predicted(target, wanted, profile.name)
        before.append(now)
        likely.append(then)
    rebuilt = [_misses(one) for one in after]
    print(f"mean before {mean(before):,.0f}, likely {mean(likely):,.0f}, rebuilt {mean(rebuilt):,.0f}: {rebuilt}")


def _analysed(vmlinux: Path, profile: Path, record: str) -> Explanation:
    return analyse(vmlinux, profile, 1, record, LINES)


def _misses(found: Explanation) -> int:
    return sum(contended_on(one) for one in found.findings)


def _subject(found: Explanation, vmlinux: Path) -> ContendedRecord:
    kernel = Kernel(machine_of(found.reading.identity.machine, release_of(vmlinux)))
    first = next(one for one in found.findings if one.triage.pairs)
    others = [one for one in found.findings if one is not first]
    return subject(first, found.reading.layouts, others, Premises(kernel=kernel, accesses=found.accesses))


def _predicted(target: ContendedRecord, wanted: Layout, name: str) -> tuple[float, float]:
    """Misses now and as predicted for the phases that objects have in this recording."""
    starts = tuple(_starts(target, wanted))
    granule = target.heat.granule
    found = saving(target, starts, wanted.size, granule)
    cost = layout_cost(target, starts, wanted.size, granule)
    print(
        f"{name}: {found.before:,.0f} -> {found.before - found.likely:,.0f} ({cost.here.least:,.0f} to "
        f"{cost.here.most:,.0f}), over all phases {cost.contended.least:,.0f} to {cost.contended.most:,.0f}"
    )
    return found.before, found.before - found.likely


def _starts(target: ContendedRecord, wanted: Layout) -> Iterator[int]:
    places = {_looks(member): member.first_bit // BYTE for member in wanted.members}
    for member in target.layout.members:
        yield places[_looks(member)]


def _looks(member: Member) -> tuple[str, str, str]:
    return member.name, member.type, member.declarator


if __name__ == "__main__":
    main()
