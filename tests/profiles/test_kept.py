# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles in Parquet: whatever was kept comes back; what is damaged or of others is refused with a sentence."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from profiles.profile_values import PROFILES

from linesmith.analyzer.errors import LinesmithError, ProfileError, ToolMissing
from linesmith.analyzer.model import Access, CpuCounts, Profile, SharedLine
from linesmith.plugins.profiles import parquet_profile
from linesmith.plugins.profiles.parquet_profile import encode_parquet
from linesmith.plugins.profiles.recorded import RecordedProfile, encode, encode_for
from linesmith.plugins.registry import read_profiles

ACCESS = Access(0x10, "unlink_file_vma", hitm_local=7, records=9, width=8, by_cpu=(CpuCounts(3, 1, loads=9),))
LINE = SharedLine(1, 0xFFFF888003C0A000, (ACCESS, replace(ACCESS, offset=0x18)), hitm_local=14)
PROFILE = Profile("kept by its path", "", "hitm", (LINE,))


def kept(folder: Path, profile: Profile) -> Path:
    path = folder / "kept.parquet"
    path.write_bytes(encode_for(profile, path))
    return path


def refused(path: Path) -> str:
    with pytest.raises(ProfileError) as caught:
        read_profiles(path)
    return str(caught.value)


def changed(folder: Path, change: str, column: str = "") -> Path:
    """The file with one thing wrong, written by the library itself."""
    table = pq.read_table(BytesIO(encode_parquet(PROFILE)))
    metadata = dict(table.schema.metadata)
    match change:
        case "version":
            metadata[b"linesmith-profile"] = b"9"
        case "unmarked":
            metadata = {b"pandas": b"{}"}
        case "rest":
            metadata[b"profile"] = b"{]"
        case "dropped":
            table = table.drop_columns([column])
        case "type":
            table = table.set_column(table.schema.get_field_index(column), column, pa.array(["64"]))
        case "null":
            table = table.set_column(table.schema.get_field_index(column), column, pa.array([None], pa.int64()))
        case "added":
            table = table.append_column("colour", pa.array(["red"]))
    path = folder / "changed.parquet"
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


@settings(max_examples=60)
@given(PROFILES)
@pytest.mark.parametrize("name", ["kept.parquet", "kept.json"])
def test_whatever_was_kept_comes_back(name: str, tmp_path_factory: pytest.TempPathFactory, profile: Profile) -> None:
    path = tmp_path_factory.mktemp("kept") / name
    path.write_bytes(encode_for(profile, path))

    assert RecordedProfile().read(path, "here") == (replace(profile, source="here"),)


def test_the_name_decides_about_the_format(tmp_path: Path) -> None:
    assert encode_for(PROFILE, tmp_path / "x.parquet").startswith(b"PAR1")
    assert encode_for(PROFILE, tmp_path / "x.profile") == encode(PROFILE)


def test_lines_of_many_accesses_come_back_from_several_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_profile, "_GROUP", 100)
    accesses = tuple(replace(ACCESS, offset=number % 64, code_address=number) for number in range(40))
    many = replace(PROFILE, lines=tuple(replace(LINE, rank=rank, accesses=accesses) for rank in range(1, 8)))

    path = kept(tmp_path, many)

    assert pq.ParquetFile(path).num_row_groups == 3
    assert read_profiles(path)[0].lines == many.lines


def test_any_parquet_reader_sees_a_line_a_row_with_its_accesses(tmp_path: Path) -> None:
    table = pq.read_table(kept(tmp_path, PROFILE))

    assert table.num_rows == 1
    (accesses,) = table.column("accesses").to_pylist()
    assert [(one["offset"], one["function"], one["hitm_local"]) for one in accesses] == [
        (16, "unlink_file_vma", 7),
        (24, "unlink_file_vma", 7),
    ]
    assert accesses[0]["by_cpu"][0]["cpu"] == 3
    assert table.column("address").to_pylist() == [0xFFFF888003C0A000]


def test_a_column_that_an_older_linesmith_had_not_is_at_its_default(tmp_path: Path) -> None:
    (profile,) = read_profiles(changed(tmp_path, "dropped", "misses"))

    assert profile.lines == PROFILE.lines


@pytest.mark.parametrize(
    ("change", "column", "told"),
    [
        ("version", "", "is a profile of linesmith in version 9, but this linesmith reads version 1 (JSON) and 2"),
        ("unmarked", "", "is a Parquet file, but no profile of linesmith; give another file"),
        ("rest", "", "is a damaged profile of linesmith ("),
        ("dropped", "rank", "its columns are not those of a SharedLine"),
        ("added", "", "its columns are not those of a SharedLine"),
        ("type", "bytes", "its column bytes has the type string, not int64"),
        ("null", "rank", "its column rank lacks a value"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(change: str, column: str, told: str, tmp_path: Path) -> None:
    message = refused(changed(tmp_path, change, column))

    assert told in message
    assert message.isprintable()


def test_numbers_that_no_column_holds_are_refused() -> None:
    with pytest.raises(ProfileError, match=r"x\.parquet cannot hold this profile .*; name one without \.parquet"):
        encode_for(replace(PROFILE, lines=(replace(LINE, rank=1 << 70),)), Path("x.parquet"))


def test_every_cut_and_scattered_damage_is_refused_or_read(tmp_path: Path) -> None:
    whole = encode_parquet(replace(PROFILE, lines=tuple(replace(LINE, rank=rank) for rank in range(200))))
    chosen = np.random.default_rng(1)
    path = tmp_path / "hostile.parquet"
    outcomes = []
    for number in range(300):
        content = bytearray(whole)
        if number % 3:
            for _ in range(1 + number % 8):
                content[chosen.integers(4, len(content))] = chosen.integers(256)
        else:
            content = content[: chosen.integers(4, len(content))]
        path.write_bytes(content)
        try:
            read_profiles(path)
            outcomes.append("")
        except LinesmithError as error:
            outcomes.append(str(error))
    assert all(one.isprintable() for one in outcomes)
    assert sum(map(bool, outcomes)) > 200


def test_a_count_below_nothing_is_refused(tmp_path: Path) -> None:
    message = refused(kept(tmp_path, replace(PROFILE, lines=(replace(LINE, accesses=(replace(ACCESS, records=-5),)),))))

    assert "has a count below 0 or above 64 bits; record it again" in message


def test_a_changed_byte_of_the_data_is_found_by_its_checksum(tmp_path: Path) -> None:
    path = kept(tmp_path, PROFILE)
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    content = bytearray(path.read_bytes())
    content[column.dictionary_page_offset + column.total_compressed_size - 3] ^= 0x10
    path.write_bytes(content)

    assert "CRC" in refused(path)


def test_without_pyarrow_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = kept(tmp_path, PROFILE)
    monkeypatch.setitem(sys.modules, "linesmith.plugins.profiles.parquet_profile", None)

    with pytest.raises(
        ToolMissing, match=r"need pyarrow, which is not installed; run: .*pip install 'linesmith\[parquet"
    ):
        read_profiles(path)
