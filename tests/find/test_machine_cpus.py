# SPDX-License-Identifier: GPL-2.0-or-later
"""For how many CPUs slabs are worked out: as many as the profile says, or at least those that were sampled."""

from __future__ import annotations

import pytest

from linesmith.analyzer.model import Access, Profile, Sampling, SharedLine
from linesmith.analyzer.sharing.machine_cpus import machine_cpus


def sampled_on(nodes: str) -> Profile:
    """A report with one row, and what it prints of nodes and CPUs."""
    return Profile("test", "", "hitm", (SharedLine(0, None, (Access(0, "take", hitm_local=5, nodes=nodes),)),))


@pytest.mark.parametrize(
    ("nodes", "cpus"),
    [("0{0-47,96-143}  1{48-95,144-159}", 160), ("0{0-3}  1{8}", 64), ("0 1", 64), ("", 64), ("0{999999}", 65536)],
)
def test_a_report_names_the_cpus_that_were_sampled(nodes: str, cpus: int) -> None:
    assert machine_cpus(sampled_on(nodes), 64) == cpus


@pytest.mark.parametrize(("said", "cpus"), [(12, 12), (256, 256), (0, 1), (10**9, 65536)])
def test_a_recording_says_how_many_there_are(said: int, cpus: int) -> None:
    assert machine_cpus(Profile("test", "", "hitm", (), sampling=Sampling(cpus=said)), 64) == cpus


@pytest.mark.parametrize(("counted", "cpus"), [(160, 160), (8, 64)])
def test_a_row_may_only_count_its_cpus(counted: int, cpus: int) -> None:
    rows = tuple(Access(8 * one, "take", hitm_local=5, cpus=counted - one, nodes="0 1") for one in range(3))
    assert machine_cpus(Profile("test", "", "hitm", (SharedLine(0, None, rows),)), 64) == cpus
