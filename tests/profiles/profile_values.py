# SPDX-License-Identifier: GPL-2.0-or-later
"""Any profile that the model can say, for property tests of the formats that keep it."""

from __future__ import annotations

from hypothesis import strategies as st

from linesmith.analyzer.model import (
    Access,
    Conflict,
    CpuCounts,
    Misses,
    ObjectArea,
    ObjectBuild,
    ObjectKind,
    Profile,
    Recording,
    Remark,
    SampleOutcome,
    Sampling,
    SharedLine,
)

_COUNT = st.integers(0, (1 << 63) - 1)
_MAYBE = st.none() | _COUNT
_ADDRESS = st.integers(0, (1 << 64) - 1)
# Control characters and odd blanks do not come back: readers leave nothing in names that a terminal would obey.
_TEXT = st.text(st.characters(exclude_categories=("C", "Z")), max_size=20)
_BYTE = st.integers(0, 255)

_BY_CPU = st.builds(CpuCounts, _BYTE, st.none() | _BYTE, _COUNT, _COUNT, _COUNT, _COUNT, _COUNT)
_ACCESSES = st.builds(
    Access,
    st.none() | _BYTE,
    st.none() | _TEXT,
    hitm_remote=_MAYBE,
    hitm_local=_MAYBE,
    peer_remote=_MAYBE,
    stores_l1_hit=_MAYBE,
    stores_na=_MAYBE,
    records=_MAYBE,
    cycles_load=_MAYBE,
    code_address=st.none() | _ADDRESS,
    object_file=st.none() | _TEXT,
    kernel=st.none() | st.booleans(),
    symbol_cut=st.booleans(),
    callers=st.lists(_TEXT, max_size=3).map(tuple),
    width=st.none() | st.sampled_from((1, 2, 4, 8, 64)),
    taken=_MAYBE,
    by_cpu=st.lists(_BY_CPU, max_size=3).map(tuple),
)
_CONFLICTS = st.builds(
    Conflict,
    _BYTE,
    _BYTE,
    st.none() | _TEXT,
    _BYTE,
    _BYTE,
    st.none() | _TEXT,
    st.booleans(),
    _COUNT,
    stores=st.booleans(),
    code_address=st.none() | _ADDRESS,
    writer_code_address=st.none() | _ADDRESS,
)
_LINES = st.builds(
    SharedLine,
    _COUNT,
    st.none() | _ADDRESS,
    st.lists(_ACCESSES, max_size=3).map(tuple),
    bytes=st.sampled_from((64, 128, 256)),
    hitm_local=_MAYBE,
    share=st.none() | st.floats(0, 1),
    nominal=st.booleans(),
    taken=_MAYBE,
    conflicts=st.lists(_CONFLICTS, max_size=2).map(tuple),
    apart=st.sampled_from(("", "scheduler")),
    misses=st.none() | st.builds(Misses, _COUNT, _COUNT, _COUNT, cold=_COUNT),
)
_SAMPLINGS = st.builds(
    Sampling,
    outcomes=st.lists(st.tuples(st.sampled_from(SampleOutcome), _COUNT), max_size=3).map(tuple),
    builds=st.lists(st.builds(ObjectBuild, _TEXT, _TEXT), max_size=2).map(tuple),
    anchor=st.none() | st.tuples(_TEXT, _ADDRESS),
    release=st.none() | _TEXT,
    cpus=_MAYBE,
    command=_TEXT,
)
_RECORDINGS = st.builds(
    Recording,
    st.sampled_from(("qemu", "qemu-user")),
    st.lists(_TEXT, max_size=3).map(tuple),
    st.lists(_BYTE, max_size=4).map(tuple),
    st.just("x86_64"),
    seed=_MAYBE,
    counts=st.lists(st.tuples(_TEXT, _COUNT), max_size=2).map(tuple),
)
_AREAS = st.builds(
    ObjectArea,
    st.sampled_from(ObjectKind),
    _TEXT,
    st.integers(0, 1 << 62),
    st.integers(1, 1 << 20),
    st.integers(1, 1 << 20),
    st.integers(1, 1 << 10),
    types=st.lists(_TEXT, max_size=2).map(tuple),
)
PROFILES = st.builds(
    Profile,
    st.just("under another name"),
    _TEXT,
    st.sampled_from(("hitm", "peer")),
    st.lists(_LINES, max_size=4).map(tuple),
    remarks=st.lists(st.builds(Remark, _TEXT, st.none() | _COUNT), max_size=2).map(tuple),
    totals=st.lists(st.tuples(_TEXT, _COUNT), max_size=2).map(tuple),
    events=st.lists(_TEXT, max_size=2).map(tuple),
    recording=st.none() | _RECORDINGS,
    areas=st.lists(_AREAS, max_size=2).map(tuple),
    sampling=st.none() | _SAMPLINGS,
)
