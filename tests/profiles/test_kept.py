# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of our own, compact and in JSON: all of them comes back, and what is damaged is refused in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from linesmith_command import linesmith
from perf_data import program_scenario
from perf_data.hardware import INTEL
from perf_data.image import Program
from perf_data.recording import write
from perf_data.write import program_recording
from profiles.example_files import PROFILES

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import Access, CacheLine, Conflict, CpuCounts, ObjectArea, ObjectKind, Profile, Recording
from linesmith.plugins.profiles import recorded
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


def compact(profile: Profile) -> bytes:
    return encode_for(profile, Path("kept"))


def kept(folder: Path, profile: Profile, name: str = "kept") -> Path:
    path = folder / name
    path.write_bytes(encode_for(profile, path))
    return path


def refused(path: Path) -> str:
    with pytest.raises(ProfileError) as caught:
        read_profiles(path)
    message = str(caught.value)
    assert message.isprintable()
    return message


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(PROFILES)
@pytest.mark.parametrize("name", ["kept", "kept.json"])
def test_whatever_was_kept_comes_back(name: str, tmp_path_factory: pytest.TempPathFactory, profile: Profile) -> None:
    path = kept(tmp_path_factory.mktemp("kept"), profile, name)
    assert read_profiles(path) == (replace(profile, source=str(path)),)


def test_the_name_decides_about_the_format(tmp_path: Path) -> None:
    assert encode_for(PROFILE, tmp_path / "x.profile").startswith(b"LSMPROF\x04")
    assert encode_for(PROFILE, tmp_path / "x.json") == encode(PROFILE)


def test_the_documented_fields_are_those_of_the_file() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "profiles.md").read_text()
    section = page.partition("## linesmith's own format")[2].partition("What there is once stands")[0]
    rows = re.findall(r"^\| (`.*)\|$", section, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([a-z_0-9]+)`", row)}
    assert told == set(_field_names(CacheLine))


def _field_names(kind: Any) -> Iterator[str]:
    """The names of all fields, those of records within included."""
    for name, hint in get_type_hints(kind).items():
        yield name
        for one in get_args(hint):
            if is_dataclass(one):
                yield from _field_names(one)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (compact(PROFILE)[:7] + b"\x09", "in version 9, but this linesmith reads version 1 (JSON) and 4 (compact)"),
        (compact(PROFILE)[:7], "in version 0, but"),
        (compact(PROFILE)[:60], "it is truncated"),
        (compact(PROFILE) + b"x", "has data after its end"),
        (compact(PROFILE)[:-1] + b"x", "incorrect data check"),
    ],
    ids=("version", "no version", "cut", "longer", "checksum"),
)
def test_a_damaged_file_is_refused(data: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "storm").write_bytes(data)
    assert told in refused(tmp_path / "storm")


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "storm").write_bytes(compact(PROFILE))
    monkeypatch.setattr(recorded, "_MOST_BYTES", 100)
    assert "larger than any recorder makes it" in refused(tmp_path / "storm")
    with pytest.raises(ProfileError, match="x cannot store a profile of more than"):
        encode_for(PROFILE, Path("x"))


HEAD = b'{"linesmith-profile":1,"profile":'
BENT = replace(PROFILE, lines=(replace(LINE, bytes=0),))
STILL, BELOW, ENDLESS = (
    replace(PROFILE, areas=(one,))
    for one in (replace(INODES, stride=0), replace(INODES, address=-64), replace(INODES, count=1 << 62))
)
NEGATIVE, HUGE = (
    replace(PROFILE, lines=(replace(LINE, accesses=(replace(ACCESS, records=n),)),)) for n in (-5, 10**30)
)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (encode(PROFILE)[:-40], r"is a damaged profile of linesmith .*; record it again"),
        (HEAD + b"[" * 100_000, "is a damaged profile of linesmith"),
        (b'{"linesmith-profile":9,"shape":"unheard of"}', "in version 9, but this linesmith reads version 1 "),
        (encode(BENT), "has a line that is not of 64, 128 or 256 bytes; record it again"),
        *((encode(one), "has an object of no size or beyond all addresses") for one in (STILL, BELOW, ENDLESS)),
        *((encode(one), "has a count below 0 or above 64 bits; record it again") for one in (NEGATIVE, HUGE)),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_damaged_document_is_refused(data: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "storm.json").write_bytes(data)
    assert re.search(told, refused(tmp_path / "storm.json"))


def test_a_command_that_names_perf_c2c_does_not_make_it_a_perf_report(tmp_path: Path) -> None:
    path = kept(tmp_path, replace(PROFILE, recording=replace(RECORDING, command=("perf c2c report",))), "storm.json")
    (profile,) = read_profiles(path)
    assert profile.recording is not None
    assert profile.recording.command == ("perf c2c report",)


def test_numbers_beyond_64_bits_are_refused() -> None:
    with pytest.raises(ProfileError, match=r"x cannot store this profile: .*; name a file that ends with \.json"):
        encode_for(replace(PROFILE, lines=(replace(LINE, rank=1 << 70),)), Path("x"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with the samples of it beside it."""
    program = program_scenario.compiled(tmp_path_factory.mktemp("server"))
    write(program.with_name("perf.data"), program_recording(Program(program), INTEL, 3000)[0])
    return program


def test_a_sampled_profile_that_was_saved_says_the_same(server: Path, tmp_path: Path) -> None:
    data, saved = server.with_name("perf.data"), tmp_path / "kept"
    saved.write_bytes(b"an older one")
    first = linesmith("hot", server, data, "--save", saved, "--full")
    again = linesmith("hot", server, saved, "--full")
    assert (first.returncode, first.stderr, again.returncode) == (0, f"profile: {saved}\n", 0)
    renamed = again.stdout.replace(str(saved), str(data)).replace("kept on ", "perf.data on ")
    assert renamed.split() == first.stdout.split()
    (before,), (after,) = read_profiles(data), read_profiles(saved)
    assert (after.lines, after.sampling, after.events) == (before.lines, before.sampling, before.events)


def test_an_input_is_not_replaced(server: Path) -> None:
    before = server.with_name("perf.data").read_bytes()
    done = linesmith("hot", server, "perf.data", "--save", "perf.data", cwd=server.parent)
    assert (done.returncode, "is an input of this command and is not replaced" in done.stderr) == (2, True)
    assert server.with_name("perf.data").read_bytes() == before
