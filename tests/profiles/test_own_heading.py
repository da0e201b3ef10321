# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables whose columns an author chose and headed himself."""

from __future__ import annotations

import pytest
from profiles.posted import read, read_one, values

DASHES = "-------  -------  -------  ------  ------  -------  ----------\n"
UPPER = " Rmt      Lcl     Store    Data    Load    Total    Symbol\n"
LOWER = "Hitm%    Hitm%   L1 Hit%   offset  cycles  records\n"
HEAD = " 40       400      30     0xffff888100000040\n" + DASHES
ROWS = (
    "75.00%   50.00%  100.00%   0x8     300     900      take_ticket\n"
    "25.00%   50.00%    0.00%   0x10    310     800      give_ticket\n"
)
TABLE = DASHES + UPPER + LOWER + DASHES + HEAD + ROWS
LAYOUT = "struct pool {\n    int ticket;    /*   0   4 */\n    /* --- cacheline 1 boundary (64 bytes) --- */\n};\n"


def quoted(marks: str) -> str:
    return "".join(f"{marks} {line}\n" for line in TABLE.splitlines())


@pytest.mark.parametrize(
    "text",
    [TABLE, UPPER + LOWER + HEAD + ROWS, " ".join(TABLE.split()), quoted(">"), quoted("> >"), LAYOUT + TABLE],
    ids=["printed", "without rules", "line ends lost", "quoted", "quoted twice", "below a layout"],
)
def test_columns_are_those_that_the_heading_names(text: str) -> None:
    line = {"address": 0xFFFF888100000040, "hitm_remote": 40, "hitm_local": 400, "stores_l1_hit": 30}
    first = {"offset": 8, "function": "take_ticket", "hitm_remote": 30, "hitm_local": 200, "stores_l1_hit": 30}
    first |= {"cycles_load": 300, "records": 900}
    second = {"offset": 16, "function": "give_ticket", "stores_l1_hit": 0}
    found = values(read_one(text))
    for part, expected in (("line", line), ("first", first), ("second", second)):
        assert {name: found[f"{part} {name}"] for name in expected} == expected
    assert found["remarks"] == ""


def test_several_tables_are_lines_of_one_report() -> None:
    second = TABLE.replace("0040\n", "0080\n").replace(" 40  ", " 4  ")
    (profile,) = read(f"1. The first line:\n{TABLE}\n2. The second line:\n{second}")
    assert [line.address for line in profile.lines] == [0xFFFF888100000040, 0xFFFF888100000080]
    assert profile.title == "The first line"


def test_rows_that_the_heading_does_not_fit_are_read_by_their_shape() -> None:
    found = values(read_one(TABLE.replace("300     900", "300     900   64")))
    assert (found["first offset"], found["second offset"]) == (8, 16)
    assert "cannot be told" in found["remarks"]


def test_a_head_of_two_counts_without_an_address() -> None:
    """Shares of contended loads, symbol, object and source are left of each row."""
    rule = "  " + "-" * 25 + "\n"
    heading = "#   Num  RmtHitm  LclHitm    Symbol            Object         Source:Line  Node\n"
    row = "     75.00%   50.00%  [k] take_ticket   [kernel.vmlinux]  ticket.h:39     0  1\n"
    profile = read_one(f"{heading}{rule}      0       40      400\n{rule}{row}")
    (line,) = profile.lines
    assert (line.rank, line.address, line.hitm_remote, line.hitm_local) == (0, None, 40, 400)
    assert (line.accesses[0].function, line.accesses[0].hitm_remote) == ("take_ticket", 30)
    assert not profile.has_offsets
