# SPDX-License-Identifier: GPL-2.0-or-later
"""Collected reports of many releases of perf, as people posted them, are read in full."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from profiles.posted import read, values

from linesmith.analyzer.model import CacheLine, Profile


def collected(corpus: Path, number: str) -> tuple[Profile, ...]:
    """``002`` is a report, ``seed 000`` a mail."""
    seed = number.partition("seed ")[2]
    found = sorted(corpus.parent.glob(f"seeds/{seed}*") if seed else corpus.glob(f"c2c/{number}*"))
    return read(found[0].read_text(encoding="utf-8", errors="replace"))


def without_places(profile: Profile) -> Profile:
    """The profile without line numbers, which differ between a text and its collapsed form."""

    def bare(line: CacheLine) -> CacheLine:
        accesses = tuple(replace(access, text_line=None) for access in line.accesses)
        return replace(line, accesses=accesses, text_line=None)

    remarks = tuple(replace(remark, text_line=None) for remark in profile.remarks)
    return replace(profile, lines=tuple(bare(line) for line in profile.lines), remarks=remarks)


def summary(profiles: tuple[Profile, ...]) -> dict[str, Any]:
    """What an expectation may say: of all reports, of the first one's lines, of its first line and its rows."""
    before, hottest = profiles[0], profiles[0].lines[0]
    rows = hottest.accesses
    return values(before) | {
        "titles": [profile.title for profile in profiles],
        "rows of each report": [sum(len(line.accesses) for line in profile.lines) for profile in profiles],
        "rows of each line": [len(line.accesses) for line in before.lines],
        "local": [line.hitm_local for line in before.lines],
        "offsets": [access.offset for access in rows],
        "distinct offsets": {access.offset for access in rows},
        "hits of rows": sum(access.stores_l1_hit or 0 for access in rows),
        "local of rows": sum(access.hitm_local or 0 for access in rows),
        "stores by row": [access.stores_na for access in rows],
        "peers by row": [access.peer_local for access in rows],
        "local by row": [access.hitm_local for access in rows],
        "functions": {access.function for line in before.lines for access in line.accesses},
        "cut": [access.symbol_cut for line in before.lines[:2] for access in line.accesses],
        "last row": (rows[-1].function, rows[-1].source) if rows else None,
        "offsets known": before.has_offsets,
    }


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("002", {"line address": 0xFF19B3818445C740, "line hitm_remote": 3729, "line hitm_local": 5791}),
        ("002", {"offsets": [0x18, 0x20, *(0x28,) * 6, *(0x30,) * 3], "rows of each report": [11, 9], "stores": False}),
        ("002", {"first function": "vma_interval_tree_insert", "first source": "vma_interval_tree_insert+75"}),
        ("002", {"first nodes": "0 1"}),
        ("004", {"rows of each report": [10, 6], "line stores_l1_hit": 3322, "line stores_l1_miss": 50}),
        ("004", {"line stores_na": 0, "hits of rows": 3322, "local of rows": 3927}),
        ("004", {"distinct offsets": {0, 8, 16}}),
        ("010", {"line hitm_local": 2036, "line stores_l1_hit": 0}),
        ("010", {"lines": 29, "line share": 0.1041, "line records": 23172, "rows of each report": [102]}),
        ("013", {"line rank": 4, "line hitm_local": 2374, "title": "perf reports something like"}),
        ("013", {"line share": 2374 / (92117 + 139)}),
        ("015", {"display": "peer", "line peer_remote": 6, "line peer_local": 131, "line stores_na": 3038}),
        ("015", {"line hitm_local": None, "stores by row": [1598, 1440, 0, 0], "peers by row": [0, 0, 99, 32]}),
        ("015", {"cut": [False] * 5 + [True, True], "lines": 5}),
        ("020", {"rows of each line": [6, 3, 5, 3, 11], "first process": "14604", "first records": None}),
        ("020", {"first cpus": 9, "first nodes": "0{0-1,4} 1{24-25,120} 2{48,54} 3{169}"}),
        ("022", {"local by row": [1038, 1054], "cut": [True, True]}),
        ("026", {"functions": {None}, "rows of each report": [12]}),
        ("028", {"titles": ["Before", "After"], "local": [3170, 1884, 1014], "offsets known": False}),
        ("031", {"first function": "maps__find_by_time", "first object_file": "perf.old", "hits of rows": 3607172}),
        ("031", {"last row": ("__pthread_rwlock_rdlock", ".:0")}),
        ("032", {"rows of each line": [27, 19], "local": [62887, 4366]}),
    ],
)
def test_what_is_read_of_a_report(number: str, expected: dict[str, Any], corpus: Path) -> None:
    found = summary(collected(corpus, number))
    assert {name: found[name] for name in expected} == expected


def test_one_line_of_text_reads_like_the_report_with_its_line_ends(corpus: Path) -> None:
    collapsed, printed = collected(corpus, "seed 000"), collected(corpus, "002")
    assert [profile.title for profile in collapsed] == ["Baseline", "With this change"]
    assert list(map(without_places, collapsed)) == list(map(without_places, printed))


def test_one_table_in_two_formats_reads_equal(corpus: Path) -> None:
    before, after = (without_places(replace(one, title="")) for one in collected(corpus, "028"))
    assert before == after
    assert "members cannot be named" in before.remarks[0].text


def test_lines_of_a_whole_report_with_summary_table_and_part_of_the_distribution(corpus: Path) -> None:
    (profile,) = collected(corpus, "010")
    assert sum(bool(line.accesses) for line in profile.lines) == 17
    assert dict(profile.totals)["Load Local HITM"] == 18470
    (user,) = (line for line in profile.lines if line.rank == 23)
    assert [(access.function, access.kernel) for access in user.accesses] == [(None, False)] * 3


def test_places_in_the_text_and_addresses_that_are_there_twice(corpus: Path) -> None:
    assert collected(corpus, "020")[0].lines[0].accesses[0].text_line == 82
    (unresolved,) = collected(corpus, "026")
    assert sum(line.address == 0x7FFD81430700 for line in unresolved.lines) == 2
    assert "12 of 12 kernel rows" in unresolved.remarks[0].text
