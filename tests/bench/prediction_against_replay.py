# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs reconstructed from a profile say of candidates, beside the trace of the same recording.

Each PROFILE is a recording of the kernel in VMLINUX whose trace lies beside it as PROFILE.trace, or PROFILE with the
suffix .trace. What is recommended is so without the trace.

    python tests/bench/prediction_against_replay.py VMLINUX PROFILE...
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from linesmith.analyzer.base.errors import NotSimulated
from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.cli.suggest import offered
from linesmith.analyzer.model import Candidate, Judgement
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.kernel import machine_of, release_of
from linesmith.tuner.constraints.facts import Premises
from linesmith.tuner.replay.judged import traced


class Row(NamedTuple):
    """A candidate as judged without the trace, and what the trace says."""

    profile: str
    candidate: Candidate
    truth: Judgement

    @property
    def apart(self) -> float:
        """By how much the expected change is above the true one, as a share of the misses."""
        return self.candidate.judgement.change - self.truth.change

    @property
    def held(self) -> bool:
        """Whether the interval holds the truth."""
        interval = self.candidate.judgement.interval
        return interval.low <= self.truth.change <= interval.high


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
        print(_summed(name, chosen))


def _rows(vmlinux: Path, profile: Path) -> Iterator[Row]:
    found = analyse(vmlinux, profile, 1)
    kernel = Kernel(machine_of(found.reading.identity.machine, release_of(vmlinux)))
    answers = offered(found, Premises(kernel=kernel), None)
    candidates = [one for answer in answers for one in answer.candidates if one.judgement.before]
    beside = profile.with_name(f"{profile.name}.trace")
    trace = beside if beside.exists() else profile.with_suffix(".trace")
    runs = traced((one.before for one in candidates), found.profile, found.reading.layouts, trace)
    for one in candidates:
        judge = runs[one.before.id]
        if isinstance(judge, str) or not judge.now.total:
            continue
        try:
            yield Row(profile.name, replace(one), judge.judgement(judge.under_candidate(one)))
        except NotSimulated:
            continue


def _told(row: Row) -> str:
    moves = "; ".join(f"{one.kind.value} {one.member}" for one in row.candidate.moves)
    said = row.candidate.judgement
    marks = f"{'' if row.held else 'not held '}{'recommended' if row.candidate.recommended else ''}"
    return (
        f"{row.profile} {row.candidate.before.title:22.22} {said.change:+7.1%} ({said.interval.low:+7.1%} to "
        f"{said.interval.high:+7.1%}), replayed {row.truth.change:+7.1%} {marks:20} {moves:.60}"
    )


def _summed(name: str, found: Sequence[Row]) -> str:
    if not found:
        return f"{name}: none"
    apart = [abs(one.apart) for one in found]
    widths = [one.candidate.judgement.interval.high - one.candidate.judgement.interval.low for one in found]
    signs = sum((one.candidate.judgement.change < 0) == (one.truth.change < 0) for one in found)
    return (
        f"{name}: {len(found)}, sign right {signs}, better by replay {sum(one.truth.change < 0 for one in found)}, "
        f"intervals hold {sum(one.held for one in found)}, width {median(widths):.1%} (median), apart "
        f"{mean(apart):.1%} on average (median {median(apart):.1%}), bias {mean(one.apart for one in found):+.1%}"
    )


if __name__ == "__main__":
    main()
