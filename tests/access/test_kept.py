# SPDX-License-Identifier: GPL-2.0-or-later
"""The map on disk: what is read is what was kept; anything else is as good as absent."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from access.hand_written import LAYOUTS, Code, Row, raw
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linesmith.analyzer import store
from linesmith.analyzer.access import AccessMap, kept
from linesmith.analyzer.access.access_map import as_arrays
from linesmith.analyzer.access.building import build

STAMP = store.Stamp("/usr/lib/debug/program", 100, 7, "core")
CODE = (Code("füllen", 0x100, 0x140), Code("main", 0x140, 0x180))
MAP = build(raw((Row(0x100, 0, 1), Row(0x140, 1, 2, 24, 4, chain=1)), CODE, ((), ("inner",))), LAYOUTS)


def path_in(directory: Path) -> Path:
    return directory / "key.access"


def read_back(directory: Path, kept_map: AccessMap, stamp: store.Stamp = STAMP) -> AccessMap | None:
    """What is read where a map was kept."""
    kept.save(directory, "key", STAMP, kept_map)
    return kept.load(directory, "key", stamp)


@pytest.mark.parametrize("original", [MAP, build(raw((), CODE), LAYOUTS)], ids=["two accesses", "an empty map"])
def test_what_is_read_is_what_was_kept(tmp_path: Path, original: AccessMap) -> None:
    found = read_back(tmp_path, original)
    assert found is not None
    ours, theirs = as_arrays(original), as_arrays(found)
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert list(found.functions) == ["füllen", "main"]
    assert [one.name for one in tmp_path.iterdir()] == ["key.access"]
    # Columns are views of the file.
    flags = found.address.flags
    assert (flags.owndata, flags.writeable, flags.aligned) == (False, False, True)


@pytest.mark.parametrize("change", [{"size": 101}, {"mtime_ns": 8}, {"core": "other"}])
def test_a_map_of_other_bytes_or_by_another_core_is_stale(tmp_path: Path, change: dict[str, str]) -> None:
    fields = {name: getattr(STAMP, name) for name in ("path", "size", "mtime_ns", "core")}
    assert read_back(tmp_path, MAP, store.Stamp(**(fields | change))) is None


def test_nothing_there_is_nothing(tmp_path: Path) -> None:
    assert kept.load(tmp_path, "key", STAMP) is None
    path_in(tmp_path).mkdir()
    assert kept.load(tmp_path, "key", STAMP) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=75)
@given(
    damage=st.sampled_from(("flip", "cut", "more")),
    place=st.floats(0, 1, exclude_max=True),
    flip=st.integers(1, 255),
    more=st.binary(min_size=1, max_size=200),
)
def test_damage_is_never_believed(tmp_path: Path, damage: str, place: float, flip: int, more: bytes) -> None:
    kept.save(tmp_path, "key", STAMP, MAP)
    content = bytearray(path_in(tmp_path).read_bytes())
    at = int(place * len(content))
    if damage == "flip":
        content[at] ^= flip
    path_in(tmp_path).write_bytes({"flip": content, "cut": content[:at], "more": content + more}[damage])
    assert kept.load(tmp_path, "key", STAMP) is None


def test_a_length_out_of_all_proportion_is_not_believed(tmp_path: Path) -> None:
    kept.save(tmp_path, "key", STAMP, MAP)
    content = bytearray(path_in(tmp_path).read_bytes())
    struct.pack_into("<I", content, 20, 0xFFFFFFFF)
    path_in(tmp_path).write_bytes(content)
    assert kept.load(tmp_path, "key", STAMP) is None


def test_another_format_or_fewer_columns_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = {name: array for name, array in as_arrays(MAP).items() if name != "kind"}
    with monkeypatch.context() as patched:
        patched.setattr(kept, "as_arrays", lambda _: fewer)
        assert read_back(tmp_path, MAP) is None
    assert read_back(tmp_path, MAP) is not None
    monkeypatch.setattr(kept, "FORMAT", b"linesmith-map-99")
    assert kept.load(tmp_path, "key", STAMP) is None


def test_indices_and_maps_share_the_room_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "old.index"
    index.write_bytes(b"long ago")
    os.utime(index, (1, 1))
    monkeypatch.setattr(store, "MOST_CACHED_BYTES", 1)
    kept.save(tmp_path, "key", STAMP, MAP)
    assert [one.name for one in tmp_path.iterdir()] == ["key.access"]


def test_names_may_hold_anything(tmp_path: Path) -> None:
    odd = replace(raw((Row(0x100, 0, 1),), CODE), functions=["", "a\0b"])
    found = read_back(tmp_path, build(odd, LAYOUTS))
    assert found is not None
    assert list(found.functions) == ["", "a\ufffdb"]
    assert found.functions.called("") == [0]
