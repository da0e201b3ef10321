# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of our own: what is written is what is read, and anything else is refused with a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import Access, Conflict, ObjectArea, ObjectKind, Profile, Recording, SharedLine
from linesmith.plugins.profiles.recorded import encode
from linesmith.plugins.registry import read_profiles

CONFLICT = Conflict(0x10, 8, "unlink_file_vma", 0x18, 4, "down_write", true_sharing=False, local=7, remote=2)
ACCESS = Access(0x10, "unlink_file_vma", hitm_local=7, hitm_remote=2, stores_l1_hit=3, width=8, taken=1)
LINE = SharedLine(1, 0xFFFF888003C0A000, (ACCESS,), hitm_local=7, hitm_remote=2, taken=1, conflicts=(CONFLICT,))
INODES = ObjectArea(ObjectKind.SLAB, "inode_cache", 0xFFFF888003C09E80, 600, 608, 13, types=("inode",))
RECORDING = Recording("qemu", ("./exec_storm", "8"), (0, 0, 1, 1), "x86_64", seed=1, counts=(("dropped_lines", 0),))
PROFILE = Profile("kept by its path", "", "hitm", (LINE,), recording=RECORDING, areas=(INODES,))


def written(directory: Path, data: bytes) -> Path:
    path = directory / "storm.json"
    path.write_bytes(data)
    return path


def test_what_was_written_is_read_back_under_the_files_name(tmp_path: Path) -> None:
    path = written(tmp_path, encode(PROFILE))
    (profile,) = read_profiles(path)
    assert profile.source == str(path)
    assert profile.lines == PROFILE.lines
    assert profile.recording == RECORDING
    assert profile.areas == (INODES,)


def test_a_command_that_names_perf_c2c_does_not_make_it_a_perf_report(tmp_path: Path) -> None:
    data = encode(PROFILE).replace(b"./exec_storm", b"perf c2c report")
    (profile,) = read_profiles(written(tmp_path, data))
    assert profile.recording is not None
    assert profile.recording.command[0] == "perf c2c report"


def test_a_cut_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"is a damaged profile of linesmith .*; record it again"):
        read_profiles(written(tmp_path, encode(PROFILE)[:-40]))


def test_a_document_without_bottom_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="is a damaged profile of linesmith"):
        read_profiles(written(tmp_path, b'{"linesmith-profile":1,"profile":' + b"[" * 100_000))


def test_a_line_without_bytes_is_refused(tmp_path: Path) -> None:
    nothing = replace(PROFILE, lines=(replace(LINE, bytes=0),))
    with pytest.raises(ProfileError, match="has a line that is not of 64, 128 or 256 bytes; record it again"):
        read_profiles(written(tmp_path, encode(nothing)))


@pytest.mark.parametrize("change", [{"stride": 0}, {"address": -64}, {"count": 1 << 62}])
def test_an_object_that_no_memory_holds_is_refused(tmp_path: Path, change: dict[str, int]) -> None:
    nowhere = replace(PROFILE, areas=(replace(INODES, **change),))  # type: ignore[arg-type]
    with pytest.raises(ProfileError, match="has an object of no size or beyond all addresses; record it again"):
        read_profiles(written(tmp_path, encode(nowhere)))


def test_a_later_version_is_refused_before_its_content_is_read(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="in version 9, but this linesmith reads version 1 "):
        read_profiles(written(tmp_path, b'{"linesmith-profile":9,"shape":"unheard of"}'))


def test_stores_that_took_the_line_count_as_contended() -> None:
    assert ACCESS.contended == 10
    assert LINE.contended == 10


@pytest.mark.parametrize("count", [-5, 10**30])
def test_a_count_that_counts_nothing_is_refused(tmp_path: Path, count: int) -> None:
    lines = (replace(LINE, accesses=(replace(ACCESS, records=count),)),)
    with pytest.raises(ProfileError, match="has a count below 0 or above 64 bits; record it again"):
        read_profiles(written(tmp_path, encode(replace(PROFILE, lines=lines))))


@pytest.mark.parametrize("share", [1.1754943508222875e-38, 0.1 + 0.2])
def test_a_share_may_have_an_exponent_or_many_digits(tmp_path: Path, share: float) -> None:
    shared = replace(PROFILE, lines=(replace(LINE, share=share),))
    assert read_profiles(written(tmp_path, encode(shared)))[0].lines[0].share == share


def test_numbers_in_names_are_no_counts(tmp_path: Path) -> None:
    named = replace(PROFILE, lines=(replace(LINE, accesses=(replace(ACCESS, function=f'"f-5{"1" * 30}'),)),))
    assert read_profiles(written(tmp_path, encode(named)))[0].lines[0].accesses[0].function == f'"f-5{"1" * 30}'
