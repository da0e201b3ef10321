# SPDX-License-Identifier: GPL-2.0-or-later
"""What candidates were predicted to save, beside what replaying the trace of the same recording says.

Each PROFILE is a recording of the kernel in VMLINUX whose trace lies beside it as PROFILE.trace. Shares are of all
contended accesses of the record. What is recommended is so without the trace.

    python tests/bench/prediction_against_replay.py VMLINUX PROFILE...
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.cli.suggest import offered
from linesmith.analyzer.model import Candidate, ReplayedSaving
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.kernel import machine_of, release_of
from linesmith.tuner.constraints.facts import Premises
from linesmith.tuner.cost.saving import replayed_saving
from linesmith.tuner.replay.simulated import simulate


class Row(NamedTuple):
    """A candidate and both answers."""

    profile: str
    candidate: Candidate
    found: ReplayedSaving


def main() -> None:
    """Read the command line, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vmlinux", type=Path)
    parser.add_argument("profiles", nargs="+", type=Path)
    given = parser.parse_args()
    rows = [row for profile in given.profiles for row in _rows(given.vmlinux, profile)]
    for row in rows:
        print(_told(row))
    for name, chosen in (("all", rows), ("recommended", [row for row in rows if row.candidate.recommended])):
        print(_summed(name, [row.found for row in chosen]))


def _rows(vmlinux: Path, profile: Path) -> Iterator[Row]:
    found = analyse(vmlinux, profile, 1)
    kernel = Kernel(machine_of(found.reading.identity.machine, release_of(vmlinux)))
    answers = offered(found, Premises(kernel=kernel), None).answers
    trace = profile.with_name(f"{profile.name}.trace")
    simulations = simulate(answers, found.profile.areas, found.reading.layouts, trace)
    candidates = [one for answer in answers for one in answer.candidates]
    for number, candidate in enumerate(candidates, start=1):
        compared = replayed_saving(candidate.saving, simulations[number])
        if compared is not None:
            yield Row(profile.name, candidate, compared)


def _told(row: Row) -> str:
    moves = "; ".join(f"{one.kind.value} {one.member}" for one in row.candidate.moves)
    limits = f"{row.found.predicted.least:+7.1%} to {row.found.predicted.most:+7.1%}"
    marks = f"{'' if row.found.holds else 'not held '}{'recommended' if row.candidate.recommended else ''}"
    return (
        f"{row.profile} {row.candidate.before.title:22.22} {row.found.likely:+7.1%} ({limits}), "
        f"replayed {row.found.replayed:+7.1%} {marks:20} {moves:.60}"
    )


def _summed(name: str, found: Sequence[ReplayedSaving]) -> str:
    if not found:
        return f"{name}: none"
    apart = [abs(one.apart) for one in found]
    held = sum(one.holds for one in found)
    better = sum(one.replayed > 0 for one in found)
    return (
        f"{name}: {len(found)}, limits hold {held}, replayed better {better}, apart {mean(apart):.1%} on average "
        f"(median {median(apart):.1%}), bias {mean(one.apart for one in found):+.1%}"
    )


if __name__ == "__main__":
    main()
