# SPDX-License-Identifier: GPL-2.0-or-later
"""Saved indices that no build gave: what they say is checked before anything is done with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile.forged_index import forged, member, record
from hostile.limited import limited

MANY = 300_000


def refused(file: Path, *arguments: str) -> str:
    """What is wrong with the index."""
    done = limited("layout", file, *arguments, cache=file.parent / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    before, _, behind = done.stderr.partition(" is a saved index that is damaged: ")
    assert before == f"linesmith: {file}"
    return behind.removesuffix("; make it again with `linesmith index -o`\n")


def test_a_sound_one_is_read(tmp_path: Path) -> None:
    file = forged(tmp_path / "file", [record(0, member()), record(1, member(held=0))])
    assert limited("layout", file, "r1", "--expand", cache=tmp_path / "cache").returncode == 0


@pytest.mark.parametrize("options", [("--expand",), ("--format", "json")])
def test_a_saved_index_whose_record_holds_itself_is_refused(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = forged(tmp_path / "file", [record(0, member(held=0))])
    assert refused(file, "r0", *options) == "a record holds itself by value"


def test_a_saved_index_whose_records_hold_each_other_is_refused(tmp_path: Path) -> None:
    file = forged(tmp_path / "file", [record(0, member(held=1)), record(1, member(held=2)), record(2, member(held=0))])
    assert refused(file, "r0", "--expand") == "a record holds itself by value"


def test_a_member_of_a_record_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file = forged(tmp_path / "file", [record(0, member(held=1))])
    assert refused(file) == "record 0 has a member of a record that is not there"


def test_a_member_that_ends_behind_its_record_is_refused(tmp_path: Path) -> None:
    file = forged(tmp_path / "file", [record(0, member(offset=4))])
    assert refused(file) == "member 0 of record 0 ends behind the record"


def test_a_bit_field_that_ends_behind_its_record_is_refused(tmp_path: Path) -> None:
    file = forged(tmp_path / "file", [record(0, member(more=',"bit_offset":60,"bit_size":5'))])
    assert refused(file) == "member 0 of record 0 ends behind the record"


def test_the_storage_unit_of_a_packed_bit_field_may_end_behind_the_record(tmp_path: Path) -> None:
    file = forged(tmp_path / "file", [record(0, member(more=',"bit_offset":8,"bit_size":9'), size=3)])
    assert limited("layout", file, cache=tmp_path / "cache").returncode == 0


def test_an_open_array_ends_where_its_record_does(tmp_path: Path) -> None:
    open_array = member(offset=8, size=0, more=',"dimensions":[0],"flexible":true')
    file = forged(tmp_path / "file", [record(0, member(), open_array)])
    assert limited("layout", file, cache=tmp_path / "cache").returncode == 0


def test_many_records_one_in_the_other_are_checked_in_linear_time(tmp_path: Path) -> None:
    nested = (record(number, member(held=number - 1)) for number in range(1, MANY))
    file = forged(tmp_path / "file", [record(0, member()), *nested])
    assert limited("layout", file, f"r{MANY - 1}", "--expand", cache=tmp_path / "cache").returncode == 0


def test_many_records_in_a_ring_are_refused_in_linear_time(tmp_path: Path) -> None:
    ring = (record(number, member(held=(number + 1) % MANY)) for number in range(MANY))
    assert refused(forged(tmp_path / "file", ring), "r0") == "a record holds itself by value"
