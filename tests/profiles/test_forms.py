# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms in which people post the text of ``perf c2c report``, and tables whose columns an author headed himself."""

from __future__ import annotations

from typing import Any

import pytest
from profiles.posted import FIRST, HEAD, REPORT, RULE, SECOND, differences, read, read_one, values

from linesmith.analyzer.base.errors import ProfileError

SYMBOL = "[k] take_ticket   [kernel.kallsyms]  take_ticket+16"
CODE = "  0xffffffff81200010"
NUMBERS = "#   Num  RmtHitm  LclHitm   L1 Hit  L1 Miss      N/A    Offset  Node  PA cnt"
COUNTS = "  rmt hitm  lcl hitm      load  records       cnt"
PEERS = (
    "#   Num      Rmt      Lcl   L1 Hit  L1 Miss      N/A    Offset  Node  PA cnt        Code address"
    "  rmt peer  lcl peer      load  records       cnt  Symbol  Object  Source:Line  Node\n"
)
LOADS = (
    "#   Num  {:>7}  {:>7}   L1 Hit  L1 Miss    Offset  Node  PA cnt        Code address"
    "  rmt hitm  lcl hitm      load  records       cnt  Symbol  Object  Source:Line  Node\n"
)
CANNOT_BE_TOLD = "column cannot be told"


def changed(*pairs: str, text: str = REPORT) -> str:
    """The report with each first text replaced by the second one."""
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


def joined(text: str) -> str:
    return " ".join(text.split())


GRAPH = "            |\n            ---take_ticket\n               |\n               |--70.00%--serve\n"
GRAPH += "               |          run_queue\n               |\n                --30.00%--steal\n\n"
COUNTED = "            |\n            |--12--std::map<int, int>::at(int const&) (inlined)\n"
COUNTED += "            |          main shop.c:12\n            |\n             --3--steal\n\n   one more word\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HEAD + FIRST + GRAPH + SECOND, id="a call graph below a row"),
        pytest.param(HEAD + FIRST + COUNTED + SECOND, id="callers that were counted and inlined"),
        pytest.param(HEAD + FIRST + "   ^--- it hurts \ufffd (12 CPUs!)\n [snip]\n" + SECOND, id="notes between rows"),
        pytest.param(HEAD + "+ " + FIRST.lstrip() + "- " + SECOND.lstrip(),
            id="marks of a window in front of the rows"),
        pytest.param("\ufeff" + changed("  75.00%", " \x1b[31m 75.00%\x1b[0m", "[k] take", "[k]\u00a0take"),
            id="a mark of the byte order, codes of a terminal and odd bytes"),
    ],
)  # fmt: skip
def test_what_reads_as_the_plain_report(text: str) -> None:
    assert differences(text) == {}


VERBOSE = changed("[k] take_ticket", "0xffffffff81200010 k [k] take_", "take_ticket+16", "till.c:1")
LONG = "a_name_of_twenty_six_chars"
GO = "example.org/shop/till.(*Till).Take"
OF_A_PROGRAM = {"first kernel": False}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(changed("[k] give", "0xffffffff81200020 ! [k] give", text=VERBOSE),
            {"first function": "take_", "first source": "till.c:1"},
            id="address and symbol table in front of the symbol"),
        pytest.param(changed("<int, int", "<int,\nint",
            text=changed("[k] take_ticket ", "[.] std::map<int, int>::at ")),
            {"first function": "std::map<int, int>::at"} | OF_A_PROGRAM,
            id="a name that ends in a quotation mark at the beginning of a line"),
        pytest.param(changed("[k] take_ticket", f"[.] {GO}", "[kernel.kallsyms]", "till"),
            {"first function": GO, "first object_file": "till", "second object_file": "till"} | OF_A_PROGRAM,
            id="a name of a Go package"),
        pytest.param(joined(changed("take_ticket ", "std::pair<int, long> f<int>(int) ")),
            {"first function": "std::pair<int, long> f<int>(int)"}, id="a name of a template"),
        pytest.param(changed("take_ticket   ", LONG + "  ", "take_ticket+16", "queue.c:12"),
            {"first function": LONG, "first source": "queue.c:12", "first symbol_cut": True},
            id="a symbol of the cutting width may be cut"),
        pytest.param(changed("take_ticket   ", LONG + " ", "take_ticket+16", f"{LONG}_more+16"),
            {"first function": f"{LONG}_more", "first source": f"{LONG}_more+16"}, id="the source says how it goes on"),
        pytest.param(changed("take_ticket   ", f"{LONG} ", "give_ticket   ", f"{LONG}_more ", "take_ticket+16",
            "queue.c:12"), {"first function": LONG, "second function": f"{LONG}_more", "first source": "queue.c:12"},
            id="full symbols are not cut"),
        pytest.param("#   ------- Double-Cacheline -------\n"
            "# Index   Address  Node  PA cnt  Hitm    Total  LclHitm  RmtHitm\n" + REPORT, {"line bytes": 128},
            id="the heading of double lines"),
        pytest.param(changed("       30       20       10  0x", "        0        0        0  0x"),
            {"line stores_l1_hit": 0, "line stores_l1_miss": 0, "line stores_na": 0, "first stores_l1_hit": 0,
            "second stores_l1_miss": 0, "second stores_na": 0, "stores": False}, id="loads only"),
        pytest.param(joined(REPORT) + " 12 more lines follow.", {"second nodes": "0 12"},
            id="of words behind a collapsed row a number may be a node"),
        pytest.param(HEAD + FIRST, {"rows": 1}, id="a line whose rows were cut short is not filled up"),
    ],
)  # fmt: skip
def test_what_is_read_otherwise(text: str, expected: dict[str, Any]) -> None:
    found = differences(text)
    if expected.get("rows") == 1:
        found = {name: value for name, value in found.items() if not name.startswith("second")}
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected", "remark"),
    [
        pytest.param(changed(CODE, "", SYMBOL, "bench"),
            {"first function": None, "first object_file": "bench", "first code_address": None, "first records": 900},
            "", id="rows coalesced by object"),
        pytest.param(changed(" 0x10 ", " 0x50 "), {"line bytes": 128}, "128 bytes", id="a row of another line size"),
        pytest.param(changed("0xffffffff8120", "0xffff80000120"),
            {"display": "peer", "line peer_local": 400, "line hitm_local": None}, "peer snoops are assumed",
            id="an Arm kernel without headings"),
        pytest.param(changed("0xffffffff8120", "0x4020", "[k]", "[.]"), {"display": "hitm"}, "HITM is assumed",
            id="user space without headings"),
        pytest.param(FIRST + SECOND,
            {"first records": 900, "line nominal": True, "line hitm_local": 10_000, "first hitm_local": 5_000},
            "without the raw counts", id="rows without raw counts count as of ten thousand samples"),
        pytest.param("Cacheline 0xffff888100000040\n" + FIRST + SECOND,
            {"line address": 0xFFFF888100000040, "line nominal": True, "first hitm_local": 5_000},
            "without the raw counts", id="a copied window without the table"),
        pytest.param(
            "  0  0xffff888100000040  0  9  88.00%  440  400  40  1000  940  60  30  20  10  1 2 3 4 400 5 40 6 7\n"
            "Cacheline 0xffff888100000040\n" + FIRST + SECOND,
            {"line share": 0.88, "line records": 1000, "line loads": 940, "first hitm_local": 200},
            "",
            id="raw counts come from the table where the rows have none",
        ),
        pytest.param("Index             Address  Node  PA cnt     Hitm    Total  LclHitm  RmtHitm\n"
            "    0  0xffff888100000040     0      12   48.52%      440      400       40\n"
            f"...\nCacheline 0xffff888100000040\n{FIRST}{SECOND}", {"first hitm_remote": 30, "second hitm_local": 200,
            "first stores_l1_hit": 10_000, "second stores_l1_hit": 0},
            "the table has no stores: those of its rows are counted as of 10,000 samples a column",
            id="the table was cut before the stores"),
        pytest.param(HEAD + FIRST + FIRST,
            {"first hitm_remote": None, "second hitm_remote": None, "first hitm_local": 200, "second hitm_local": 200},
            "more than 100 %", id="shares beyond the whole are not counted"),
        pytest.param(changed("       300       200", " ", "       310       210", " "),
            {"first offset": 8, "first function": "take_ticket", "first records": None, "first cpus": None},
            CANNOT_BE_TOLD, id="an unknown number of cells is not guessed"),
        pytest.param(changed("900        64  [k]", "N/A        0x40  [k]"),
            {"first records": None, "first cpus": None, "first cycles_load": 100, "first function": "take_ticket"},
            CANNOT_BE_TOLD, id="a cell of the wrong kind is unknown"),
        pytest.param(f"{NUMBERS}      Pid{COUNTS}  Node\n{HEAD}"
            "   100.00%  100.00%  100.00%  100.00%  100.00%   0x8   0   1   4711   300   200   100   900   64   0  1\n",
            {"first process": "4711", "first records": 900, "first cpus": 64, "first nodes": "0 1"}, "",
            id="rows coalesced by process"),
        pytest.param(f"{HEAD}"
            "   100.00%  100.00%  100.00%  100.00%  100.00%   0x8   0   1   4711   300   200   100   900   64   0  1\n",
            {"first records": None}, CANNOT_BE_TOLD, id="which need their heading"),
        pytest.param("     Rmt      Lcl   L1 Hit   Offset      load  records       Symbol\n"
            f"{RULE}\n      0     100     200    50  0xffff888100000040\n{RULE}\n"
            "   47.00%    80.00%  100.00%   0x8   123   456 [k] take_ticket\n"
            "   53.00%    20.00%    0.00%  0x10   124   457 [k] give_ticket\n", {"first hitm_remote": 47,
            "first hitm_local": 160, "first stores_l1_hit": 50, "first records": 456, "second cycles_load": 124,
            "second cpus": None, "second function": "give_ticket"}, "",
            id="columns that an author chose are read by their heading"),
        pytest.param(f"{LOADS.format('LclHit', 'LclHitm')}{RULE}\n      0     90     10    7    3  0x406040\n{RULE}\n"
            "   40.00%   70.00%  100.00%  0.00%  0x8  0  1  0x401234  0  90  80  70  4  [.] sell  shop  shop.c:3  0\n",
            {"first hitm_local": 7, "line hitm_local": 10, "line hitm_remote": None, "line stores_l1_hit": 7}, "",
            id="loads that hit are no remote HITM"),
    ],
)  # fmt: skip
def test_columns_and_counts(text: str, expected: dict[str, Any], remark: str) -> None:
    profile = read_one(text)
    found = values(profile)
    assert {name: found[name] for name in expected} == expected
    assert remark in found["remarks"]
    assert (CANNOT_BE_TOLD in found["remarks"]) == (remark == CANNOT_BE_TOLD)


def test_a_report_that_counts_loads_and_no_contention_is_refused() -> None:
    text = f"{LOADS.format('Hit', 'Miss')}{RULE}\n      0     90     10    7    3  0x406040\n{RULE}\n"
    row = "   40.00%   70.00%  100.00%  0.00%  0x8  0  1  0x401234  0  90  80  70  4  [.] sell  shop  shop.c:3  0\n"
    with pytest.raises(ProfileError, match="no HITM or peer snoop; give the text"):
        read(text + row)


def test_row_that_cannot_be_read_is_named_with_its_line() -> None:
    profile = read_one(HEAD + FIRST + "     1.00%   2.00%   3.00%   4.00%   5.00%   0x40000  what is this\n")
    (unread,) = [remark for remark in profile.remarks if remark.text.startswith("not read")]
    assert unread.text_line == 5


def test_stores_in_the_totals_alone_are_stores_too() -> None:
    silent = changed("       30       20       10  0x", "        0        0        0  0x")
    assert read_one("  Store Operations                  :        120\n" + silent).has_stores


def test_rows_that_end_behind_the_symbol() -> None:
    cut = changed("   [kernel.kallsyms]  take_ticket+16   0  1", "  <-- here!")
    explained = "\n\nThe offset 0x8 is hot, as queue.c:12 explains"
    cut = changed("   [kernel.kallsyms]  give_ticket+32   0", explained, text=cut)
    rows = read_one(cut).lines[0].accesses
    assert [(one.function, one.object_file, one.source) for one in rows] == [
        ("take_ticket", None, None),
        ("give_ticket", None, None),
    ]


def test_the_events_of_the_details_are_kept() -> None:
    details = "  Events        : cpu_core/mem-loads,ldlat=30/P\n                : cpu_core/mem-stores/P\n"
    assert read_one(details + REPORT).events == ("cpu_core/mem-loads,ldlat=30/P", "cpu_core/mem-stores/P")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("    12.50%    12.50%  [k] do_idle\n", "none of its 1 lines"),
        ("Shared Cache Line: Cacheline 0x40 is the second one.\n", "none of its 1 lines"),
        ("a\n 1.00%  2.00%  3.00%  4.00%  nothing here\n", "line 2 begins with shares"),
    ],
)
def test_a_text_that_looks_like_a_report_and_has_no_line_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(ProfileError, match=words) as refusal:
        read(text)
    assert "perf c2c report --stdio" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("heading", "row", "stores"),
    [
        ("Index  Cacheline  records  Hitm  Total  Lcl  Rmt", "0  0x7f10c0  3242  53.67%  440  400  40", None),
        ("Index  Address  Node  PA cnt  records  Hitm  Total  Lcl  Rmt  Total  L1Hit  L1Miss  Lc",
            "0  0x7f10c0  0  114  3242  94.23%  440  400  40  60  35  25  7", 35),
        ("Index  Address  Node  PA cnt  Hitm  Total  LclHitm  RmtHitm  records  Loads  Stores",
            "0  0x7f10c0  0  114  94.23%  440  400  40  3242  3182  60", None),
    ],
)  # fmt: skip
def test_a_table_that_a_window_cut_keeps_what_its_sums_prove(heading: str, row: str, stores: int | None) -> None:
    (line,) = read_one(f"Shared Data Cache Line Table     (2 entries)\n{heading}\n  {row}\n").lines
    assert (line.hitm_local, line.hitm_remote, line.records, line.stores_l1_hit) == (400, 40, 3242, stores)


def titles(text: str) -> list[str]:
    return [profile.title for profile in read(text)]


def test_reports_before_and_after_take_the_words_above() -> None:
    text = f"Some words.\nWithout the patch:\n{REPORT}\nWith it applied:\n\n{REPORT}"
    assert titles(text) == ["Without the patch", "With it applied"]
    flat = joined(f"It is slow. See below. Before the change: {REPORT} And after it: {REPORT}")
    assert titles(flat) == ["Before the change", "And after it"]
    assert len(read(REPORT + REPORT)) == 2, "numbers start over"


@pytest.mark.parametrize(
    ("first", "second", "reports"),
    [("Baseline", "with this change", 2), ("Without the patch", "Patched", 2), ("The first line", "The second", 1)],
)
def test_numbers_that_go_on_are_of_a_new_report_where_words_say_so(first: str, second: str, reports: int) -> None:
    """Authors show the same object's line before and after, whatever its number was."""
    assert len(read(f"{first}:\n{REPORT}\n{second}:\n{changed('      0       40', '    360       40')}")) == reports


def test_heading_of_the_first_report_holds_for_the_second() -> None:
    assert [profile.display for profile in read(f"Before:\n{PEERS}{REPORT}After:\n{REPORT}")] == ["peer", "peer"]


DASHES = "-------  -------  -------  ------  ------  -------  ----------\n"
UPPER = " Rmt      Lcl     Store    Data    Load    Total    Symbol\n"
LOWER = "Hitm%    Hitm%   L1 Hit%   offset  cycles  records\n"
OWN_HEAD = " 40       400      30     0xffff888100000040\n" + DASHES
ROWS = (
    "75.00%   50.00%  100.00%   0x8     300     900      take_ticket\n"
    "25.00%   50.00%    0.00%   0x10    310     800      give_ticket\n"
)
TABLE = DASHES + UPPER + LOWER + DASHES + OWN_HEAD + ROWS
LAYOUT = "struct pool {\n    int ticket;    /*   0   4 */\n    /* --- cacheline 1 boundary (64 bytes) --- */\n};\n"


def cited(marks: str) -> str:
    return "".join(f"{marks} {line}\n" for line in TABLE.splitlines())


@pytest.mark.parametrize(
    "text",
    [TABLE, UPPER + LOWER + OWN_HEAD + ROWS, " ".join(TABLE.split()), cited(">"), cited("> >"), LAYOUT + TABLE],
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
