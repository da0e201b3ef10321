# SPDX-License-Identifier: GPL-2.0-or-later
"""A report rendered in any generation and then mangled is read back to the numbers that it was made of."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles.c2c_text import Generation, LineSpec, Options, ReportSpec, RowSpec, render
from profiles.posted import MANGLERS, read_one, without_headings

from linesmith.analyzer.model import Access, Profile

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
