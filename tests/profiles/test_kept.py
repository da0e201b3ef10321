# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of our own, in Parquet and in JSON: all of them comes back, and what is damaged is refused in a sentence."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from linesmith_command import linesmith
from perf_data import program_scenario
from perf_data.hardware import INTEL
from perf_data.program import Program
from perf_data.recording import write
from perf_data.write import program_recording
from profiles.profile_values import PROFILES

from linesmith.analyzer.base.errors import LinesmithError, ProfileError, ToolMissing
from linesmith.analyzer.model import Access, CacheLine, Conflict, CpuCounts, ObjectArea, ObjectKind, Profile, Recording
from linesmith.plugins.profiles import parquet as parquet_profile
from linesmith.plugins.profiles.parquet import array_of
from linesmith.plugins.profiles.recorded import encode, encode_for
from linesmith.plugins.registry import read_profiles

CONFLICT = Conflict(0x10, 8, "unlink_file_vma", 0x18, 4, "down_write", true_sharing=False, local=7, remote=2)
ACCESS = Access(
    0x10, "unlink_file_vma", 2, 7, stores_l1_hit=3, records=9, width=8, taken=1, by_cpu=(CpuCounts(3, 1, loads=9),)
)
LINE = CacheLine(
    1, 0xFFFF888003C0A000, (ACCESS, replace(ACCESS, offset=0x18)), hitm_local=14, taken=1, conflicts=(CONFLICT,)
)
INODES = ObjectArea(ObjectKind.SLAB, "inode_cache", 0xFFFF888003C09E80, 600, 608, 13, types=("inode",))
RECORDING = Recording("qemu", ("./exec_storm", "8"), (0, 0, 1, 1), "x86_64", seed=1, counts=(("dropped_lines", 0),))
PROFILE = Profile("kept by its path", "", "hitm", (LINE,), recording=RECORDING, areas=(INODES,))


def parquet(profile: Profile) -> bytes:
    return encode_for(profile, Path("kept.parquet"))


def kept(folder: Path, profile: Profile, name: str = "kept.parquet") -> Path:
    path = folder / name
    path.write_bytes(encode_for(profile, path))
    return path


def refused(path: Path) -> str:
    with pytest.raises(ProfileError) as caught:
        read_profiles(path)
    message = str(caught.value)
    assert message.isprintable()
    return message


def changed(folder: Path, change: str) -> Path:
    """The file with one thing wrong, written by the library itself."""
    table = pq.read_table(BytesIO(parquet(PROFILE)))
    metadata = dict(table.schema.metadata)
    what, _, column = change.partition(" ")
    match what:
        case "version":
            metadata[b"linesmith-profile"] = b"9"
        case "unmarked":
            metadata = {b"pandas": b"{}"}
        case "rest":
            metadata[b"profile"] = b"{]"
        case "without":
            table = table.drop_columns([column])
        case "text":
            table = table.set_column(table.schema.get_field_index(column), column, pa.array(["64"]))
        case "null":
            table = table.set_column(table.schema.get_field_index(column), column, pa.array([None], pa.int64()))
        case "another":
            table = table.append_column(column, pa.array(["red"]))
    path = folder / "changed.parquet"
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(PROFILES)
@pytest.mark.parametrize("name", ["kept.parquet", "kept.json"])
def test_whatever_was_kept_comes_back(name: str, tmp_path_factory: pytest.TempPathFactory, profile: Profile) -> None:
    path = kept(tmp_path_factory.mktemp("kept"), profile, name)
    assert read_profiles(path) == (replace(profile, source=str(path)),)


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
    assert table.column("address").to_pylist() == [0xFFFF888003C0A000]
    (accesses,) = table.column("accesses").to_pylist()
    found = [(one["offset"], one["function"], one["hitm_local"]) for one in accesses]
    assert found == [(16, "unlink_file_vma", 7), (24, "unlink_file_vma", 7)]
    assert accesses[0]["by_cpu"][0]["cpu"] == 3


def test_the_documented_columns_are_the_schema() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "profiles.md").read_text()
    section = page.partition("## linesmith's own format")[2].partition("The metadata of the file")[0]
    rows = re.findall(r"^\| (`.*)\|$", section, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([a-z_0-9]+)`", row)}
    assert told == set(_columns(array_of(CacheLine, ()).type))


def _columns(kind: pa.DataType) -> Iterator[str]:
    """The names of all columns, those within lists included."""
    for field in kind:
        yield field.name
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(inner):
            yield from _columns(inner)


@pytest.mark.parametrize("change", ["without misses", "another apart"])
def test_the_columns_of_an_older_linesmith_are_read(change: str, tmp_path: Path) -> None:
    (profile,) = read_profiles(changed(tmp_path, change))
    assert profile.lines == PROFILE.lines


def test_the_mark_of_an_older_document_is_left_aside(tmp_path: Path) -> None:
    old = encode(PROFILE).replace(b'"rank":1,', b'"rank":1,"apart":"scheduler",', 1)
    assert b"apart" in old
    (tmp_path / "kept.json").write_bytes(old)
    (profile,) = read_profiles(tmp_path / "kept.json")
    assert profile.lines == PROFILE.lines


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("version", "is a profile of linesmith in version 9, but this linesmith reads version 1 (JSON) and 2"),
        ("unmarked", "is a Parquet file, but no profile of linesmith; give another file"),
        ("rest", "is a damaged profile of linesmith ("),
        ("without rank", "its columns are not those of a CacheLine"),
        ("another colour", "its columns are not those of a CacheLine"),
        ("text bytes", "its column bytes has the type string, not int64"),
        ("null rank", "its column rank lacks a value"),
    ],
)
def test_a_changed_parquet_file_is_refused(change: str, told: str, tmp_path: Path) -> None:
    assert told in refused(changed(tmp_path, change))


HEAD = b'{"linesmith-profile":1,"profile":'
NEGATIVE, HUGE = (
    replace(PROFILE, lines=(replace(LINE, accesses=(replace(ACCESS, records=n),)),)) for n in (-5, 10**30)
)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (encode(PROFILE)[:-40], r"is a damaged profile of linesmith .*; record it again"),
        (HEAD + b"[" * 100_000, "is a damaged profile of linesmith"),
        (b'{"linesmith-profile":9,"shape":"unheard of"}', "in version 9, but this linesmith reads version 1 "),
        (encode(replace(PROFILE, lines=(replace(LINE, bytes=0),))),
            "has a line that is not of 64, 128 or 256 bytes; record it again"),
        *(
            (
                encode(replace(PROFILE, areas=(replace(INODES, **change),))),  # type: ignore[arg-type]
                "has an object of no size or beyond all addresses; record it again",
            )
            for change in ({"stride": 0}, {"address": -64}, {"count": 1 << 62})
        ),
        *((encode(one), "has a count below 0 or above 64 bits; record it again") for one in (NEGATIVE, HUGE)),
        (parquet(NEGATIVE), "has a count below 0 or above 64 bits; record it again"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)  # fmt: skip
def test_a_damaged_document_is_refused(data: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "storm.json").write_bytes(data)
    assert re.search(told, refused(tmp_path / "storm.json"))


@pytest.mark.parametrize(
    "change",
    [{"share": 1.1754943508222875e-38}, {"share": 0.1 + 0.2}, {"accesses": (Access(0, f'"f-5{"1" * 30}'),)}],
    ids=["exponent", "digits", "a number in a name is no count"],
)
def test_odd_numbers_of_a_document_come_back(change: dict[str, object], tmp_path: Path) -> None:
    line = replace(LINE, **change)  # type: ignore[arg-type]
    path = kept(tmp_path, replace(PROFILE, lines=(line,)), "storm.json")
    (profile,) = read_profiles(path)
    assert (profile.source, profile.lines) == (str(path), (line,))


def test_a_command_that_names_perf_c2c_does_not_make_it_a_perf_report(tmp_path: Path) -> None:
    path = kept(tmp_path, replace(PROFILE, recording=replace(RECORDING, command=("perf c2c report",))), "storm.json")
    (profile,) = read_profiles(path)
    assert profile.recording is not None
    assert profile.recording.command == ("perf c2c report",)


def test_numbers_that_no_column_holds_are_refused() -> None:
    with pytest.raises(ProfileError, match=r"x\.parquet cannot hold this profile .*; name one without \.parquet"):
        encode_for(replace(PROFILE, lines=(replace(LINE, rank=1 << 70),)), Path("x.parquet"))


def test_every_cut_and_scattered_damage_is_refused_or_read(tmp_path: Path) -> None:
    whole = parquet(replace(PROFILE, lines=tuple(replace(LINE, rank=rank) for rank in range(200))))
    chosen = np.random.default_rng(1)
    path, outcomes = tmp_path / "hostile.parquet", []
    for number in range(150):
        content = bytearray(whole)
        if number % 3:
            for _ in range(1 + number % 8):
                content[chosen.integers(4, len(content))] = chosen.integers(256)
        else:
            content = content[: chosen.integers(4, len(content))]
        path.write_bytes(content)
        try:
            read_profiles(path)
        except LinesmithError as error:
            outcomes.append(str(error))
    assert all(one.isprintable() for one in outcomes)
    assert len(outcomes) > 100


def test_a_changed_byte_of_the_data_is_found_by_its_checksum(tmp_path: Path) -> None:
    path = kept(tmp_path, PROFILE)
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    content = bytearray(path.read_bytes())
    content[column.dictionary_page_offset + column.total_compressed_size - 3] ^= 0x10
    path.write_bytes(content)
    assert "CRC" in refused(path)


def test_without_pyarrow_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = kept(tmp_path, PROFILE)
    monkeypatch.setitem(sys.modules, "linesmith.plugins.profiles.parquet", None)
    remedy = r"need pyarrow, which is not installed; run: .*pip install 'linesmith\[parquet"
    with pytest.raises(ToolMissing, match=remedy):
        read_profiles(path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with the samples of it beside it."""
    program = program_scenario.compiled(tmp_path_factory.mktemp("server"))
    write(program.with_name("perf.data"), program_recording(Program(program), INTEL, 3000)[0])
    return program


@pytest.mark.parametrize("name", ["kept.parquet", "kept.json"])
def test_a_sampled_profile_that_was_saved_says_the_same(name: str, server: Path, tmp_path: Path) -> None:
    recorded, saved = server.with_name("perf.data"), tmp_path / name
    saved.write_bytes(b"an older one")
    first = linesmith("hot", server, recorded, "--save", saved)
    again = linesmith("hot", server, saved)
    assert (first.returncode, first.stderr, again.returncode) == (0, f"profile: {saved}\n", 0)
    assert again.stdout.replace(str(saved), str(recorded)) == first.stdout
    (before,), (after,) = read_profiles(recorded), read_profiles(saved)
    assert (after.lines, after.sampling, after.events) == (before.lines, before.sampling, before.events)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (("--save", "perf.data"), "is what this command reads and stays as it is"),
        (("--save", "x", "-o", "x"), "would be written twice; name different files"),
    ],
)
def test_what_cannot_be_saved_there(files: tuple[str, ...], told: str, server: Path) -> None:
    before = server.with_name("perf.data").read_bytes()
    done = linesmith("hot", server, "perf.data", *files, cwd=server.parent)
    assert (done.returncode, told in done.stderr) == (2, True)
    assert server.with_name("perf.data").read_bytes() == before
