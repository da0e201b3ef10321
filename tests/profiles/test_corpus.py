# SPDX-License-Identifier: GPL-2.0-or-later
"""Hard facts of reports that people published: row counts, offsets, raw totals, titles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linesmith.analyzer.model import Access, Profile, SharedLine
from linesmith.plugins.profiles.c2c import reports_in

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


def profiles_of(folder: str, prefix: str) -> tuple[Profile, ...]:
    found = sorted((SHARED / folder).glob(f"{prefix}*"))
    if not found:
        pytest.skip(f"no {folder}/{prefix}* beside the repository")
    return reports_in(found[0].read_text(encoding="utf-8", errors="replace"), "report.txt")


def case(number: str) -> tuple[Profile, ...]:
    return profiles_of("corpus/c2c", number)


def offsets(line: SharedLine) -> list[int | None]:
    return [access.offset for access in line.accesses]


def without_places(profile: Profile) -> Profile:
    """The profile without line numbers, which differ between a text and its collapsed form."""

    def bare(line: SharedLine) -> SharedLine:
        accesses: tuple[Access, ...] = tuple(replace(access, text_line=None) for access in line.accesses)
        return replace(line, accesses=accesses, text_line=None)

    remarks = tuple(replace(remark, text_line=None) for remark in profile.remarks)
    return replace(profile, lines=tuple(bare(line) for line in profile.lines), remarks=remarks)


def test_one_line_of_text_reads_like_the_report_with_its_line_ends() -> None:
    collapsed = profiles_of("seeds", "000")
    printed = case("002")
    assert [profile.title for profile in collapsed] == ["Baseline", "With this change"]
    assert [without_places(profile) for profile in collapsed] == [without_places(profile) for profile in printed]


def test_counts_of_the_baseline_add_up_to_what_perf_counted() -> None:
    before, after = case("002")
    (line,) = before.lines
    assert (line.address, line.hitm_remote, line.hitm_local) == (0xFF19B3818445C740, 3729, 5791)
    assert offsets(line) == [0x18, 0x20, *(0x28,) * 6, *(0x30,) * 3]
    assert line.accesses[0].function == "vma_interval_tree_insert"
    assert line.accesses[0].source == "vma_interval_tree_insert+75"
    assert line.accesses[0].nodes == "0 1"
    assert not before.has_stores
    assert len(after.lines[0].accesses) == 9


def test_stores_of_two_levels_and_none_without_a_level() -> None:
    before, after = case("004")
    assert [len(profile.lines[0].accesses) for profile in (before, after)] == [10, 6]
    line = before.lines[0]
    assert (line.stores_l1_hit, line.stores_l1_miss, line.stores_na) == (3322, 50, 0)
    assert sum(access.stores_l1_hit or 0 for access in line.accesses) == 3322
    assert sum(access.hitm_local or 0 for access in line.accesses) == 3927
    assert set(offsets(line)) == {0x0, 0x8, 0x10}


def test_whole_report_with_summary_table_and_part_of_the_distribution() -> None:
    (profile,) = case("010")
    assert len(profile.lines) == 29
    assert sum(bool(line.accesses) for line in profile.lines) == 17
    assert sum(len(line.accesses) for line in profile.lines) == 102
    assert dict(profile.totals)["Load Local HITM"] == 18470
    hottest = profile.lines[0]
    assert (hottest.contended, hottest.stores, hottest.records, hottest.share) == (2036, 0, 23172, 0.1041)
    user = next(line for line in profile.lines if line.rank == 23)
    assert [access.function for access in user.accesses] == [None] * 3
    assert {access.kernel for access in user.accesses} == {False}


def test_reads_only_with_a_hash_in_front_of_the_rules() -> None:
    (profile,) = case("013")
    (line,) = profile.lines
    assert (line.rank, line.hitm_local, profile.title) == (4, 2374, "perf reports something like")
    assert sum(access.hitm_local or 0 for access in line.accesses[:4]) < 2374
    assert line.share == pytest.approx(2374 / (92117 + 139))


def test_peers_of_arm() -> None:
    (profile,) = case("015")
    assert profile.display == "peer"
    first, second, third = profile.lines[:3]
    assert (first.peer_remote, first.peer_local, first.stores_na, first.hitm_local) == (6, 131, 3038, None)
    assert [access.stores_na for access in first.accesses] == [1598, 1440, 0, 0]
    assert [access.peer_local for access in first.accesses] == [0, 0, 99, 32]
    assert [access.symbol_cut for access in second.accesses] == [False, True, True]
    assert (third.contended, len(profile.lines)) == (4, 5)


def test_numbered_lines_and_lists_of_cpus() -> None:
    (profile,) = case("020")
    assert [len(line.accesses) for line in profile.lines] == [6, 3, 5, 3, 11]
    access = profile.lines[0].accesses[0]
    assert (access.process, access.records, access.cpus) == ("14604", None, 9)
    assert access.nodes == "0{0-1,4} 1{24-25,120} 2{48,54} 3{169}"
    assert access.text_line == 82


def test_go_symbols_are_cut() -> None:
    (profile,) = case("022")
    assert {access.symbol_cut for access in profile.lines[0].accesses} == {True}
    assert [access.hitm_local for access in profile.lines[0].accesses] == [1038, 1054]


def test_unresolved_symbols_and_one_address_twice() -> None:
    (profile,) = case("026")
    accesses = [access for line in profile.lines for access in line.accesses]
    assert len(accesses) == 12
    assert {access.function for access in accesses} == {None}
    assert sum(line.address == 0x7FFD81430700 for line in profile.lines) == 2
    assert "12 of 12 kernel rows" in profile.remarks[0].text


def test_one_table_in_two_formats_reads_equal() -> None:
    before, after = case("028")
    assert (before.title, after.title) == ("Before", "After")
    assert without_places(replace(before, title="")) == without_places(replace(after, title=""))
    assert not before.has_offsets
    assert [line.hitm_local for line in before.lines] == [3170, 1884, 1014]
    assert "members cannot be named" in before.remarks[0].text


def test_addresses_of_a_program_and_its_library() -> None:
    (profile,) = case("031")
    accesses = profile.lines[0].accesses
    assert len(accesses) == 29
    assert (accesses[0].function, accesses[0].object_file) == ("maps__find_by_time", "perf.old")
    assert (accesses[-1].function, accesses[-1].source) == ("__pthread_rwlock_rdlock", ".:0")
    assert sum(access.stores_l1_hit or 0 for access in accesses) == 3607172


def test_two_lines_without_a_blank_line_between() -> None:
    (profile,) = case("032")
    assert [len(line.accesses) for line in profile.lines] == [27, 19]
    assert [line.hitm_local for line in profile.lines] == [62887, 4366]


@pytest.mark.parametrize("prefix", ["001", "002"])
def test_mails_without_a_report_are_refused(prefix: str) -> None:
    with pytest.raises(Exception, match="holds no cache line"):
        profiles_of("seeds", prefix)
