# SPDX-License-Identifier: GPL-2.0-or-later
"""What the bits of a data source come to: kind, level, and what ``perf c2c`` counts them as."""

from __future__ import annotations

import pytest

from linesmith.plugins.profiles.data_source import AccessKind, DataSource, Level, decoded

LOAD, STORE, PREFETCH = 0x2, 0x4, 0x8
HIT, MISS, NO_LEVEL = 0x2 << 5, 0x4 << 5, 0x1 << 5
L1, LFB, L2, L3, LOCAL_RAM = (bit << 5 for bit in (0x8, 0x10, 0x20, 0x40, 0x80))
REMOTE_RAM, REMOTE_CACHE, UNCACHED = (bit << 5 for bit in (0x100, 0x400, 0x2000))
SNOOP_HIT, HITM = 0x4 << 19, 0x10 << 19
LOCKED = 0x2 << 24
REMOTE, PEER = 1 << 37, 2 << 38


def number(level: int) -> int:
    return level << 33


def hops(count: int) -> int:
    return count << 43


def counted(bits: int) -> dict[str, int]:
    """What is counted, without the zeros."""
    names = [name for name in DataSource.__slots__ if name not in ("kind", "level")]
    found = decoded(bits)
    return {name: value for name in names if (value := getattr(found, name))}


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        pytest.param(LOAD | HIT | L3 | HITM, {"loads": 1, "hitm_local": 1}, id="PEBS: another core of the socket"),
        pytest.param(LOAD | HIT | REMOTE_CACHE | HITM, {"loads": 1, "hitm_remote": 1}, id="PEBS: another socket"),
        pytest.param(LOAD | HIT | L3 | SNOOP_HIT, {"loads": 1}, id="a clean line of another core"),
        pytest.param(LOAD | L3 | HITM, {"loads": 1}, id="neither hit nor miss is told"),
        pytest.param(LOAD | HIT | REMOTE | number(3) | HITM, {"loads": 1, "hitm_remote": 1},
            id="Skylake: the remote bit alone"),
        pytest.param(LOAD | HIT | REMOTE | hops(1) | number(2) | HITM, {"loads": 1},
            id="PowerPC: another core of the own node"),
        pytest.param(LOAD | HIT | L3 | REMOTE_CACHE | SNOOP_HIT | HITM, {"loads": 1, "hitm_local": 1},
            id="hit and HITM: remote counts as a hit"),
        pytest.param(LOAD | HIT | L3 | PEER, {"loads": 1, "peer_local": 1}, id="SPE: another core of the cluster"),
        pytest.param(LOAD | HIT | L2 | L3 | PEER, {"loads": 1, "peer_local": 2}, id="two levels count twice"),
        pytest.param(LOAD | HIT | REMOTE_CACHE | PEER, {"loads": 1, "peer_remote": 1}, id="SPE: another socket"),
        pytest.param(STORE | HIT | L1, {"stores": 1, "stores_l1_hit": 1}, id="store into L1"),
        pytest.param(STORE | MISS | L1, {"stores": 1, "stores_l1_miss": 1}, id="store that missed L1"),
        pytest.param(STORE | NO_LEVEL, {"stores": 1, "stores_na": 1}, id="IBS: store of no known level"),
        pytest.param(STORE | HIT | L2, {"stores": 1, "stores_na": 1}, id="store of a level without a column"),
        pytest.param(LOAD | STORE | HIT | L3 | HITM, {"loads": 1, "hitm_local": 1}, id="load and store is a load"),
        pytest.param(PREFETCH | HIT | L3 | HITM, {}, id="a prefetch is no access"),
        pytest.param(0, {}, id="no data source"),
    ],
)  # fmt: skip
def test_what_is_counted(bits: int, expected: dict[str, int]) -> None:
    assert counted(bits) == expected


@pytest.mark.parametrize(
    ("bits", "kind"),
    [
        (LOAD | HIT | L1, AccessKind.LOAD),
        (STORE | HIT | L1, AccessKind.STORE),
        (LOAD | LOCKED | HIT | L1, AccessKind.ATOMIC),
        (STORE | LOCKED | HIT | L1, AccessKind.ATOMIC),
        (PREFETCH, AccessKind.OTHER),
    ],
)
def test_a_locked_access_is_atomic(bits: int, kind: AccessKind) -> None:
    assert decoded(bits).kind is kind


@pytest.mark.parametrize(
    ("bits", "level"),
    [
        (LOAD | HIT | L1, Level.L1),
        (LOAD | HIT | LFB, Level.FILL_BUFFER),
        (LOAD | HIT | L3, Level.L3),
        (LOAD | MISS | L3, Level.L3),
        (LOAD | HIT | LOCAL_RAM, Level.LOCAL_MEMORY),
        (LOAD | HIT | REMOTE_RAM, Level.REMOTE_MEMORY),
        (LOAD | HIT | REMOTE_CACHE, Level.REMOTE_CACHE),
        (LOAD | HIT | UNCACHED, Level.UNCACHED),
        (LOAD | number(3), Level.L3),
        (LOAD | number(3) | REMOTE, Level.REMOTE_CACHE),
        (LOAD | number(13) | REMOTE, Level.REMOTE_MEMORY),
        (LOAD | number(9), Level.LOCAL_MEMORY),
        (LOAD | number(15), Level.UNKNOWN),
    ],
)
def test_where_the_data_came_from(bits: int, level: Level) -> None:
    assert decoded(bits).level is level
