# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables that authors made of a report: columns of their choice under their own headings. The figures are made up."""

from __future__ import annotations

import pytest

from linesmith.analyzer.model import Access, Profile
from linesmith.plugins.profiles.c2c import reports_in

DASHES = "-------  -------  -------  ------  ------  -------  ----------\n"
UPPER = " Rmt      Lcl     Store    Data    Load    Total    Symbol\n"
LOWER = "Hitm%    Hitm%   L1 Hit%   offset  cycles  records\n"
HEADING = DASHES + UPPER + LOWER + DASHES
HEAD = " 40       400      30     0xffff888100000040\n" + DASHES
ROWS = (
    "75.00%   50.00%  100.00%   0x8     300     900      take_ticket\n"
    "25.00%   50.00%    0.00%   0x10    310     800      give_ticket\n"
)
TABLE = HEADING + HEAD + ROWS


def read(text: str) -> tuple[Profile, ...]:
    return reports_in(text, "mail.txt")


def accesses(text: str) -> tuple[Access, ...]:
    (profile,) = read(text)
    assert not profile.remarks
    return profile.lines[0].accesses


def test_columns_are_those_that_the_heading_names() -> None:
    first, second = accesses(TABLE)
    assert (first.offset, first.function) == (8, "take_ticket")
    assert (first.hitm_remote, first.hitm_local, first.stores_l1_hit) == (30, 200, 30)
    assert (first.cycles_load, first.records) == (300, 900)
    assert (second.offset, second.function, second.stores) == (16, "give_ticket", 0)


def test_the_counts_above_the_rows_are_those_of_the_line() -> None:
    (profile,) = read(TABLE)
    (line,) = profile.lines
    assert (line.address, line.hitm_remote, line.hitm_local, line.stores_l1_hit) == (0xFFFF888100000040, 40, 400, 30)


def test_several_tables_are_lines_of_one_report() -> None:
    second = TABLE.replace("0040\n", "0080\n").replace(" 40  ", " 4  ")
    (profile,) = read(f"1. The first line:\n{TABLE}\n2. The second line:\n{second}")
    assert [line.address for line in profile.lines] == [0xFFFF888100000040, 0xFFFF888100000080]
    assert profile.title == "The first line"


def test_a_heading_without_rules() -> None:
    assert [one.hitm_local for one in accesses(UPPER + LOWER + HEAD + ROWS)] == [200, 200]


def test_line_ends_may_be_lost() -> None:
    flat = accesses(" ".join(TABLE.split()))
    assert [(one.offset, one.function) for one in flat] == [(8, "take_ticket"), (16, "give_ticket")]


@pytest.mark.parametrize("quoted", [">", "> > "])
def test_it_may_be_quoted(quoted: str) -> None:
    text = "".join(f"{quoted} {line}\n" for line in TABLE.splitlines())
    assert [one.hitm_local for one in accesses(text)] == [200, 200]


def test_rows_that_the_heading_does_not_fit_are_read_by_their_shape() -> None:
    (profile,) = read(TABLE.replace("300     900", "300     900   64"))
    assert [one.offset for one in profile.lines[0].accesses] == [8, 16]
    assert any("cannot be told" in remark.text for remark in profile.remarks)


def test_a_layout_above_the_table_does_no_harm() -> None:
    layout = "struct pool {\n    int ticket;    /*   0   4 */\n    /* --- cacheline 1 boundary (64 bytes) --- */\n};\n"
    assert [one.function for one in accesses(layout + TABLE)] == ["take_ticket", "give_ticket"]


def test_a_head_of_two_counts_without_an_address() -> None:
    """Shares of contended loads, symbol, object and source are left of each row."""
    rule = "  " + "-" * 25 + "\n"
    heading = "#   Num  RmtHitm  LclHitm    Symbol            Object         Source:Line  Node\n"
    row = "     75.00%   50.00%  [k] take_ticket   [kernel.vmlinux]  ticket.h:39     0  1\n"
    (profile,) = read(f"{heading}{rule}      0       40      400\n{rule}{row}")
    (line,) = profile.lines
    assert (line.rank, line.address, line.hitm_remote, line.hitm_local) == (0, None, 40, 400)
    assert (line.accesses[0].function, line.accesses[0].hitm_remote) == ("take_ticket", 30)
    assert not profile.has_offsets
