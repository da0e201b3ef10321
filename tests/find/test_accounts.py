# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever a profile holds, its samples come out again, each under one outcome."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.findings import findings
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Access, Profile, SampleOutcome, Sampling, SharedLine
from linesmith.analyzer.sharing.accounts import LEFT_OUT, NO_LINE, NO_ROW, accounts

COUNTS = st.integers(0, 1 << 40)
ROWS = st.builds(
    Access,
    st.none() | st.integers(0, 127),
    st.sampled_from(["read", "write", None]),
    hitm_remote=st.none() | COUNTS,
    hitm_local=st.none() | COUNTS,
    stores_l1_hit=st.none() | COUNTS,
    records=st.none() | COUNTS,
    kernel=st.none() | st.booleans(),
)
LINES = st.builds(
    SharedLine,
    st.integers(0, 9),
    st.none() | st.integers(0, 1 << 64).map(lambda address: address & ~63),
    st.lists(ROWS, max_size=4).map(tuple),
    hitm_local=st.none() | COUNTS,
    stores_l1_hit=st.none() | COUNTS,
    records=st.none() | COUNTS,
)
SAMPLINGS = st.dictionaries(st.sampled_from(list(SampleOutcome)), COUNTS).map(
    lambda them: Sampling(tuple(them.items()))
)


@given(st.lists(LINES, max_size=5).map(tuple), st.none() | SAMPLINGS, st.integers(0, 5))
def test_samples_in_are_samples_out(lines: tuple[SharedLine, ...], sampling: Sampling | None, top: int) -> None:
    profile = Profile("test", "", "hitm", lines, sampling=sampling)
    found = findings(profile, LayoutTable([]), (), lines=lines[:top])
    ended = accounts(profile, found, lines[top:])
    assert ended.samples == sum(count for _, count in ended.outcomes)
    assert all(count > 0 for _, count in ended.outcomes)
    assert ended.samples >= sum(access.records or 0 for line in lines for access in line.accesses)
    if sampling:
        assert ended.samples >= sampling.samples


def test_every_way_out_has_its_name() -> None:
    shown = SharedLine(0, 0x1000, (Access(0, "read", hitm_local=6, records=10),), hitm_local=6, records=12)
    below = SharedLine(1, 0x2000, (Access(0, "read", hitm_local=5),), hitm_local=5)
    sampling = Sampling(((SampleOutcome.SHARED_LINE, 20), (SampleOutcome.LOST, 7)))
    profile = Profile("test", "", "hitm", (shown, below), sampling=sampling)
    ended = accounts(profile, findings(profile, LayoutTable([]), (), lines=(shown,)), (below,))
    assert dict(ended.outcomes) == {"no evidence": 10, NO_ROW: 2, LEFT_OUT: 5, NO_LINE: 3, "lost while recording": 7}
