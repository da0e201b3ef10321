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

on_disk = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)


def same(one: AccessMap, other: AccessMap) -> bool:
    ours, theirs = as_arrays(one), as_arrays(other)
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


def path_in(directory: Path) -> Path:
    return directory / "key.access"


def test_what_is_read_is_what_was_kept(tmp_path: Path) -> None:
    kept.save(tmp_path, "key", STAMP, MAP)
    found = kept.load(tmp_path, "key", STAMP)
    assert found is not None
    assert same(found, MAP)
    assert list(found.functions) == ["füllen", "main"]
    assert [one.name for one in tmp_path.iterdir()] == ["key.access"]


def test_an_empty_map_can_be_kept(tmp_path: Path) -> None:
    empty = build(raw((), CODE), LAYOUTS)
    kept.save(tmp_path, "key", STAMP, empty)
    found = kept.load(tmp_path, "key", STAMP)
    assert found is not None
    assert same(found, empty)


def test_columns_are_views_of_the_file(tmp_path: Path) -> None:
    kept.save(tmp_path, "key", STAMP, MAP)
    found = kept.load(tmp_path, "key", STAMP)
    assert found is not None
    assert not found.address.flags.owndata
    assert not found.address.flags.writeable
    assert found.address.flags.aligned


@pytest.mark.parametrize("change", [{"size": 101}, {"mtime_ns": 8}, {"core": "other"}])
def test_a_map_of_other_bytes_or_by_another_core_is_stale(tmp_path: Path, change: dict[str, str]) -> None:
    kept.save(tmp_path, "key", STAMP, MAP)
    fields = {name: getattr(STAMP, name) for name in ("path", "size", "mtime_ns", "core")}
    assert kept.load(tmp_path, "key", store.Stamp(**(fields | change))) is None


def test_nothing_there_is_nothing(tmp_path: Path) -> None:
    assert kept.load(tmp_path, "key", STAMP) is None
    path_in(tmp_path).mkdir()
    assert kept.load(tmp_path, "key", STAMP) is None


@on_disk
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_no_flipped_byte_is_ever_believed(tmp_path: Path, place: float, flip: int) -> None:
    kept.save(tmp_path, "key", STAMP, MAP)
    content = bytearray(path_in(tmp_path).read_bytes())
    content[int(place * len(content))] ^= flip
    path_in(tmp_path).write_bytes(content)
    assert kept.load(tmp_path, "key", STAMP) is None


@on_disk
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_cut_map_is_none(tmp_path: Path, share: float) -> None:
    kept.save(tmp_path, "key", STAMP, MAP)
    os.truncate(path_in(tmp_path), int(share * path_in(tmp_path).stat().st_size))
    assert kept.load(tmp_path, "key", STAMP) is None


@on_disk
@given(more=st.binary(min_size=1, max_size=200))
def test_a_map_with_something_behind_it_is_none(tmp_path: Path, more: bytes) -> None:
    kept.save(tmp_path, "key", STAMP, MAP)
    with path_in(tmp_path).open("ab") as file:
        file.write(more)
    assert kept.load(tmp_path, "key", STAMP) is None


def test_a_length_out_of_all_proportion_is_none(tmp_path: Path) -> None:
    kept.save(tmp_path, "key", STAMP, MAP)
    content = bytearray(path_in(tmp_path).read_bytes())
    struct.pack_into("<I", content, 20, 0xFFFFFFFF)
    path_in(tmp_path).write_bytes(content)
    assert kept.load(tmp_path, "key", STAMP) is None


def test_another_format_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.save(tmp_path, "key", STAMP, MAP)
    monkeypatch.setattr(kept, "FORMAT", b"linesmith-map-99")
    assert kept.load(tmp_path, "key", STAMP) is None


def test_a_map_that_lacks_a_column_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = {name: array for name, array in as_arrays(MAP).items() if name != "kind"}
    monkeypatch.setattr(kept, "as_arrays", lambda _: fewer)
    kept.save(tmp_path, "key", STAMP, MAP)
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
    kept.save(tmp_path, "key", STAMP, build(odd, LAYOUTS))
    found = kept.load(tmp_path, "key", STAMP)
    assert found is not None
    assert list(found.functions) == ["", "a\ufffdb"]
    assert found.functions.called("") == [0]
