# SPDX-License-Identifier: GPL-2.0-or-later
"""The map on disk: what is read is what was kept; anything else is as good as absent."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from access.programs import compiled, shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.access.store import AccessReading, read_accesses
from linesmith.analyzer.layouts import store

SOURCE = "int f(struct node *n) { return n->next->count; } int g(struct outer *o) { return o->many[2].count; }"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(directory))
    return directory


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    return compiled(tmp_path, SOURCE)


def only_map(cache: Path) -> Path:
    (kept,) = cache.glob("*.access")
    return kept


def told(reading: AccessReading) -> list[object]:
    return [accesses_in(name, reading.accesses) for name in ("f", "g")]


def test_what_is_read_is_what_was_kept_until_the_program_changes(cache: Path, elf: Path, tmp_path: Path) -> None:
    readings = [read_accesses(elf) for _ in range(2)]
    assert [one.cached for one in readings] == [False, True]
    assert told(readings[0]) == told(readings[1])
    assert sorted(one.suffix for one in cache.iterdir()) == [".access", ".index"]
    # Columns are views of the file.
    flags = readings[1].accesses.address.flags
    assert (flags.owndata, flags.writeable, flags.aligned) == (False, False, True)
    compiled(tmp_path, SOURCE.replace("->count", "->guard.word"))
    assert shown(elf) == ["read struct node.guard", "read struct node.next"]


def test_an_empty_map_is_kept_too(tmp_path: Path) -> None:
    elf = compiled(tmp_path, "int f(void) { return 1; }")
    readings = [read_accesses(elf) for _ in range(2)]
    assert [(one.cached, len(one.accesses)) for one in readings] == [(False, 0), (True, 0)]


def test_a_map_of_another_program_under_its_name_is_stale(cache: Path, elf: Path, tmp_path: Path) -> None:
    expected = told(read_accesses(elf))
    own = only_map(cache)
    read_accesses(compiled(tmp_path, SOURCE.replace("->count", "->guard.word"), name="other.o"))
    (other,) = set(cache.glob("*.access")) - {own}
    own.write_bytes(other.read_bytes())
    reading = read_accesses(elf)
    assert (reading.cached, told(reading)) == (False, expected)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    damage=st.sampled_from(("flip", "cut", "more", "length")),
    place=st.floats(0, 1, exclude_max=True),
    flip=st.integers(1, 255),
    more=st.binary(min_size=1, max_size=200),
)
def test_damage_is_never_believed(cache: Path, elf: Path, damage: str, place: float, flip: int, more: bytes) -> None:
    """A length out of all proportion is among what is not believed."""
    expected = told(read_accesses(elf))
    content = bytearray(only_map(cache).read_bytes())
    at = int(place * len(content))
    if damage == "flip":
        content[at] ^= flip
    if damage == "length":
        struct.pack_into("<I", content, 20, 0xFFFFFFFF)
    only_map(cache).write_bytes({"cut": content[:at], "more": content + more}.get(damage, content))
    reading = read_accesses(elf)
    assert (reading.cached, told(reading)) == (False, expected)
    assert read_accesses(elf).cached


def test_a_directory_in_the_place_of_the_map_is_no_map(cache: Path, elf: Path) -> None:
    read_accesses(elf)
    kept = only_map(cache)
    kept.unlink()
    kept.mkdir()
    assert not read_accesses(elf).cached


def test_indices_and_maps_share_the_room_there_is(cache: Path, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir()
    index = cache / "old.index"
    index.write_bytes(b"long ago")
    os.utime(index, (1, 1))
    monkeypatch.setattr(store, "MOST_CACHED_BYTES", 1)
    read_accesses(elf)
    assert [one.suffix for one in cache.iterdir()] == [".access"]
