# SPDX-License-Identifier: GPL-2.0-or-later
"""A report rendered in any generation and then mangled is read back to the numbers that it was made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles.c2c_text import Generation, LineSpec, Options, ReportSpec, RowSpec, render
from profiles.posted import MANGLERS, read, read_one, values, without_headings

from linesmith.analyzer.model import Access, CacheLine, Profile

KERNEL = (
    ("down_write", "[kernel.kallsyms]", "down_write+28"),
    ("update_cfs_group", "[kernel.kallsyms]", "fair.c:3481"),
    ("__mod_node_page_state", "[kernel.vmlinux]", "vmstat.c:345"),
    ("nf_conntrack_tcp_packet", "[nf_conntrack]", "nf_conntrack_tcp_packet+1034"),
    ("0xffffffff9a0b12c4", "[unknown]", "??:0"),
    ("a_name_that_perf_cuts_at_the_width", "[kernel.kallsyms]", "a_name_that_perf_cuts_at_the_width+7"),
    ("another_name_that_is_far_too_long", "[kernel.kallsyms]", "vmscan.c:77"),
)
USER = (
    ("reader", "demo", "demo.c:44"),
    ("main.(*Pool).take", "service", "pool.go:31"),
    ("std::map<int, int>::at", "libquery.so.1.2", "map.h:12"),
    ("0x00000000003f257a", "perf", "perf[3f257a]"),
)
GRAPHS = (
    "",
    "",
    "            |\n            ---serve\n               run_queue\n",
    "            |          \n            |--70.00%--serve\n            |          run\n             --30.00%--steal\n",
    "            |\n            |--12--std::map<int, int>::at(int const&) (inlined)\n            |          main\n",
    "   12.50% serve;run_queue\n",
    "    12.50%\n                serve\n                run_queue\n",
)
COALESCED = st.one_of(
    st.just(frozenset({"iaddr"})), st.sets(st.sampled_from(("pid", "tid", "iaddr", "dso")), min_size=1).map(frozenset)
)
OPTIONS = st.builds(
    Options,
    *(st.sampled_from(Generation), COALESCED),
    nodes=st.sampled_from((0, 1, 2)),
    display=st.sampled_from(("Rmt", "Lcl", "Tot")),
    **dict.fromkeys(("source", "full", "double", "window"), st.booleans()),
)


@st.composite
def rows(draw: st.DrawFn) -> RowSpec:
    kernel = draw(st.booleans())
    symbol, dso, source = draw(st.sampled_from(KERNEL if kernel else USER))
    return RowSpec(
        draw(st.integers(0, 15)) * 4,
        tuple(draw(st.lists(st.integers(0, 300), min_size=5, max_size=5))),
        draw(st.integers(0xFFFFFFFF81000000, 0xFFFFFFFF81FFFFFF) if kernel else st.integers(0x400000, 0x4FFFFF)),
        symbol,
        dso,
        source,
        "k" if kernel else ".",
        draw(st.tuples(*(st.integers(0, 40000),) * 3)),
        draw(st.integers(1, 9000)),
        draw(st.integers(1, 224)),
        tuple(sorted(draw(st.sets(st.integers(0, 3), min_size=1)))),
        draw(st.integers(1, 99999)),
        draw(st.sampled_from(("worker", "kworker/u8:2", "web server"))),
        draw(st.sampled_from((("0", 1), ("0-1", 9), ("0,2-3", 12), ("N/A", 0)))),
        draw(st.sampled_from(GRAPHS)),
    )


LINES = st.builds(
    LineSpec, st.integers(1, 2**57).map(lambda number: number << 6), st.lists(rows(), min_size=1, max_size=5).map(tuple)
)
# Without a heading a report whose counts are all 0 cannot tell peers from HITM, and perf prints no such line.
REPORTS = st.builds(
    ReportSpec, st.lists(LINES.filter(lambda line: any(line.totals(2))), min_size=1, max_size=3).map(tuple), OPTIONS
)


def contended(access: Access, display: str) -> tuple[int | None, int | None]:
    if display == "peer":
        return access.peer_remote, access.peer_local
    return access.hitm_remote, access.hitm_local


def assert_same(profile: Profile, report: ReportSpec) -> None:
    options = report.options
    assert profile.display == ("peer" if options.generation is Generation.F5 else "hitm")
    assert [line.address for line in profile.lines] == [line.address for line in report.lines]
    assert [line.rank for line in profile.lines] == list(range(len(report.lines)))
    for line, wanted in zip(profile.lines, report.lines, strict=True):
        assert [access.offset for access in line.accesses] == [row.offset for row in wanted.rows]
        for access, row in zip(line.accesses, wanted.rows, strict=True):
            assert_same_row(access, row, profile.display, options)


def assert_same_row(access: Access, row: RowSpec, display: str, options: Options) -> None:
    stores = (access.stores_l1_hit, access.stores_l1_miss, access.stores_na)[: options.shares - 2]
    assert (*contended(access, display), *stores) == row.counts[: options.shares]
    assert (access.cycles_remote, access.cycles_local, access.cycles_load) == row.cycles
    assert access.records == (None if options.generation is Generation.F1 else row.records)
    assert access.cpus == row.cpus
    assert access.nodes is not None
    assert access.nodes[0] == str(row.nodes[0])
    assert_same_code(access, row, options)
    if options.coalesced & {"pid", "tid"}:
        assert access.process is not None
        assert access.process.startswith(str(row.pid))


def assert_same_code(access: Access, row: RowSpec, options: Options) -> None:
    """Code address, function and object, as far as the rows were told apart by them."""
    by_code = "iaddr" in options.coalesced
    assert access.code_address == (row.code if by_code else None)
    assert access.object_file == (row.object_file if options.coalesced & {"iaddr", "dso"} else None)
    assert access.kernel == (row.mode == "k" if by_code else None)
    resolved = None if row.symbol.startswith("0x") or not by_code else row.symbol
    if access.symbol_cut and resolved is not None:
        assert resolved[:26] == access.function
    else:
        assert access.function == resolved
    source = row.source if options.full else row.source[:30]
    assert access.source == (source if options.source and by_code else None)


FEW = settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])


# Rows without the code address that are told apart by process have numbers that only their heading names.
def tells_itself(report: ReportSpec) -> bool:
    return "iaddr" in report.options.coalesced or report.options.coalesced == {"dso"}


@pytest.mark.parametrize("mangle", [str, *MANGLERS], ids=lambda mangle: mangle.__name__)
@FEW
@given(report=REPORTS, headings=st.booleans())
def test_mangled_report(mangle: Callable[[str], str], report: ReportSpec, headings: bool) -> None:
    text = render(report)
    assert_same(read_one(mangle(text if headings or not tells_itself(report) else without_headings(text))), report)


# Collected reports of many releases of perf, as people posted them, are read in full


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
