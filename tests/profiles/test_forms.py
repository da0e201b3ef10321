# SPDX-License-Identifier: GPL-2.0-or-later
"""One oddity of published reports per test; the figures are made up."""

from __future__ import annotations

import base64

import pytest
from profiles.posted import FIRST, HEAD, REPORT, RULE, SECOND, read, read_one, remarks

from linesmith.analyzer.errors import ProfileError


def test_shares_become_the_counts_that_perf_had() -> None:
    (line,) = read_one(REPORT).lines
    assert [(access.hitm_remote, access.hitm_local) for access in line.accesses] == [(30, 200), (10, 200)]
    assert [access.stores_l1_hit for access in line.accesses] == [30, 0]
    assert [access.stores_na for access in line.accesses] == [0, 10]
    assert (line.rank, line.address, line.contended, line.stores) == (0, 0xFFFF888100000040, 440, 60)


def test_rules_may_be_missing_in_collapsed_text() -> None:
    text = " ".join(REPORT.replace("-" * 70, "").split())
    second = text.replace("0 40 400 30 20 10 0xffff888100000040", "1 40 400 30 20 10 0xffff888100000080")
    (profile,) = read(f"{text} {second}")
    assert [line.rank for line in profile.lines] == [0, 1]
    assert [access.nodes for line in profile.lines for access in line.accesses] == ["0 1", "0", "0 1", "0"]


def test_words_behind_a_collapsed_row_are_no_nodes() -> None:
    profile = read_one(" ".join(REPORT.split()) + " 12 more lines follow.")
    assert profile.lines[0].accesses[-1].source == "give_ticket+32"


def test_notes_between_rows_are_passed_over() -> None:
    profile = read_one(HEAD + FIRST + "   ^--- this one hurts (12 CPUs!)\n [snip]\n" + SECOND)
    assert [access.offset for access in profile.lines[0].accesses] == [0x8, 0x10]
    assert profile.lines[0].accesses[0].nodes == "0 1"


def test_call_graph_below_a_row() -> None:
    graph = (
        "            |\n            ---take_ticket\n               |\n               |--70.00%--serve\n"
        "               |          run_queue\n               |\n                --30.00%--steal\n\n"
    )
    first, second = read_one(HEAD + FIRST + graph + SECOND).lines[0].accesses
    assert first.callers == ("serve", "run_queue", "steal")
    assert second.callers == ()


def test_callers_that_were_inlined_counted_and_have_blanks_in_their_names() -> None:
    graph = (
        "            |\n            |--12--std::map<int, int>::at(int const&) (inlined)\n"
        "            |          main shop.c:12\n            |\n             --3--steal\n\n   one more word\n"
    )
    first = read_one(HEAD + FIRST + graph + SECOND).lines[0].accesses[0]
    assert first.callers == ("std::map<int, int>::at(int const&)", "main", "steal")


def test_address_and_symbol_table_in_front_of_the_symbol() -> None:
    verbose = REPORT.replace("[k] take_ticket", "0xffffffff81200010 k [k] take_").replace("take_ticket+16", "till.c:1")
    first, second = read_one(verbose.replace("[k] give", "0xffffffff81200020 ! [k] give")).lines[0].accesses
    assert (first.function, first.cpus, first.source) == ("take_", 64, "till.c:1")
    assert (second.function, second.code_address) == ("give_ticket", 0xFFFFFFFF81200020)


def test_threads_without_a_code_address_and_without_headings() -> None:
    text = REPORT.replace("  0xffffffff81200010", "  4711:web server").replace(
        "[k] take_ticket   [kernel.kallsyms]  take_ticket+16", ""
    )
    first = read_one(text).lines[0].accesses[0]
    assert (first.process, first.records, first.cpus, first.nodes) == ("4711:web server", 900, 64, "0 1")


def test_softly_broken_line_of_blanks_alone() -> None:
    wide = REPORT.replace("take_ticket+16   0", "take_ticket+16" + " " * 90 + "0")
    at = wide.index("take_ticket+16" + " " * 70) + len("take_ticket+16")
    broken = wide[:at] + "=\n" + wide[at : at + 40] + "=\n" + wide[at + 40 :]
    access = read_one("costs =3D high\n" + broken).lines[0].accesses[0]
    assert (access.source, access.nodes) == ("take_ticket+16", "0 1")


def test_name_that_ends_in_a_quotation_mark_at_the_beginning_of_a_line() -> None:
    template = REPORT.replace("[k] take_ticket ", "[.] std::map<int, int>::at ").replace("<int, int", "<int,\nint")
    assert read_one(template).lines[0].accesses[0].function == "std::map<int, int>::at"


def test_rows_that_someone_made_a_table_of() -> None:
    def table(row: str) -> str:
        cells = "|".join(f" {cell} " for cell in row.strip().split("  ") if cell.strip())
        return f"|{cells}|\n"

    heading = (
        "#   Num      Rmt      Lcl   L1 Hit  L1 Miss      N/A    Offset  Node  PA cnt        Code address"
        "  rmt peer  lcl peer      load  records       cnt  Symbol  Object  Source:Line  Nodes\n"
    )
    marks = "|---|---:|---|---|---|---|---|---|\n"
    profile = read_one(table(heading[1:]) + marks + HEAD + table(FIRST) + table(SECOND))
    assert profile.display == "peer"
    first, second = profile.lines[0].accesses
    assert (first.peer_local, first.records, first.function, first.nodes) == (200, 900, "take_ticket", "0 1")
    assert (second.offset, second.source) == (0x10, "give_ticket+32")


def test_marks_of_a_copied_window_in_front_of_the_rows() -> None:
    text = HEAD + "+ " + FIRST.lstrip() + "   - 12.50% serve\n        run_queue\n" + "- " + SECOND.lstrip()
    first, second = read_one(text).lines[0].accesses
    assert (first.records, first.nodes, second.records) == (900, "0 1", 800)


def test_row_of_another_line_size() -> None:
    wide = read_one(REPORT.replace(" 0x10 ", " 0x50 "))
    assert wide.lines[0].bytes == 128
    assert "128 bytes" in remarks(wide)


def test_heading_of_double_lines() -> None:
    heading = "#   ------- Double-Cacheline -------\n# Index   Address  Node  PA cnt  Hitm    Total  LclHitm  RmtHitm\n"
    profile = read_one(heading + REPORT)
    assert profile.lines[0].bytes == 128
    assert "128 bytes" not in remarks(profile)


def test_arm_kernel_without_headings_is_taken_for_peers_and_said() -> None:
    profile = read_one(REPORT.replace("0xffffffff8120", "0xffff80000120"))
    assert (profile.display, profile.lines[0].peer_local, profile.lines[0].hitm_local) == ("peer", 400, None)
    assert "peer snoops are assumed" in remarks(profile)


def test_user_space_without_headings_is_taken_for_hitm_and_said() -> None:
    profile = read_one(REPORT.replace("0xffffffff8120", "0x4020").replace("[k]", "[.]"))
    assert profile.display == "hitm"
    assert "HITM is assumed" in remarks(profile)


def test_rows_without_raw_counts_count_as_of_ten_thousand_samples() -> None:
    profile = read_one(FIRST + SECOND)
    (line,) = profile.lines
    assert [access.records for access in line.accesses] == [900, 800]
    assert (line.nominal, line.hitm_local, line.accesses[0].hitm_local) == (True, 10_000, 5_000)
    assert "without the raw counts" in remarks(profile)


def test_raw_counts_come_from_the_table_where_the_rows_have_none() -> None:
    table = "  0  0xffff888100000040  0  9  88.00%  440  400  40  1000  940  60  30  20  10  1 2 3 4 400 5 40 6 7\n"
    tui = "Cacheline 0xffff888100000040\n" + FIRST + SECOND
    (line,) = read_one(table + tui).lines
    assert (line.share, line.records, line.loads) == (0.88, 1000, 940)
    assert [access.hitm_local for access in line.accesses] == [200, 200]


def test_copied_window_without_the_table_has_no_raw_counts() -> None:
    profile = read_one("Cacheline 0xffff888100000040\n" + FIRST + SECOND)
    assert profile.lines[0].address == 0xFFFF888100000040
    assert (profile.lines[0].nominal, profile.lines[0].accesses[0].hitm_local) == (True, 5_000)
    assert "without the raw counts" in remarks(profile)


def test_line_whose_rows_were_cut_short_is_not_filled_up() -> None:
    (line,) = read_one(HEAD + FIRST).lines
    assert (line.hitm_remote, line.accesses[0].hitm_remote) == (40, 30)


def test_shares_beyond_the_whole_are_not_counted() -> None:
    profile = read_one(HEAD + FIRST + FIRST)
    assert "more than 100 %" in remarks(profile)
    assert [access.hitm_remote for access in profile.lines[0].accesses] == [None, None]
    assert [access.hitm_local for access in profile.lines[0].accesses] == [200, 200]


def test_row_that_cannot_be_read_is_named_with_its_line() -> None:
    profile = read_one(HEAD + FIRST + "     1.00%   2.00%   3.00%   4.00%   5.00%   0x40000  what is this\n")
    (unread,) = [remark for remark in profile.remarks if remark.text.startswith("not read")]
    assert unread.text_line == 5


def test_unknown_number_of_cells_is_remarked_and_not_guessed() -> None:
    profile = read_one(
        (HEAD + FIRST + SECOND).replace("       300       200", " ").replace("       310       210", " ")
    )
    access = profile.lines[0].accesses[0]
    assert (access.offset, access.function, access.records, access.cpus) == (0x8, "take_ticket", None, None)
    assert "column cannot be told" in remarks(profile)


def test_cell_of_the_wrong_kind_is_unknown() -> None:
    profile = read_one(REPORT.replace("900        64  [k]", "N/A        0x40  [k]"))
    first = profile.lines[0].accesses[0]
    assert (first.records, first.cpus, first.cycles_load, first.function) == (None, None, 100, "take_ticket")
    assert "column cannot be told" in remarks(profile)


def test_rows_coalesced_by_object_have_no_function() -> None:
    text = REPORT.replace("  0xffffffff81200010", "").replace(
        "[k] take_ticket   [kernel.kallsyms]  take_ticket+16", "bench"
    )
    first = read_one(text).lines[0].accesses[0]
    assert (first.function, first.object_file, first.code_address, first.records) == (None, "bench", None, 900)


def test_rows_coalesced_by_process_need_their_heading() -> None:
    heading = (
        "#   Num  RmtHitm  LclHitm   L1 Hit  L1 Miss      N/A    Offset  Node  PA cnt      Pid"
        "  rmt hitm  lcl hitm      load  records       cnt  Node\n"
    )
    row = "   100.00%  100.00%  100.00%  100.00%  100.00%   0x8   0   1   4711   300   200   100   900   64   0  1\n"
    access = read_one(heading + HEAD + row).lines[0].accesses[0]
    assert (access.process, access.records, access.cpus, access.nodes) == ("4711", 900, 64, "0 1")
    headless = read_one(HEAD + row)
    assert headless.lines[0].accesses[0].records is None
    assert "column cannot be told" in remarks(headless)


def test_columns_that_an_author_chose_are_read_by_their_heading() -> None:
    text = (
        "     Rmt      Lcl   L1 Hit   Offset      load  records       Symbol\n"
        f"{RULE}\n      0     100     200    50  0xffff888100000040\n{RULE}\n"
        "   47.00%    80.00%  100.00%   0x8   123   456 [k] take_ticket\n"
        "   53.00%    20.00%    0.00%  0x10   124   457 [k] give_ticket\n"
    )
    first, second = read_one(text).lines[0].accesses
    assert (first.hitm_remote, first.hitm_local, first.stores_l1_hit, first.records) == (47, 160, 50, 456)
    assert (second.cycles_load, second.cpus, second.function) == (124, None, "give_ticket")


def test_display_of_all_loads_counts_no_hitm() -> None:
    heading = (
        "#   Num      Hit     Miss   L1 Hit  L1 Miss    Offset  Node  PA cnt        Code address"
        "  rmt hitm  lcl hitm      load  records       cnt  Symbol  Object  Source:Line  Node\n"
    )
    head = f"{RULE}\n      0       40      400       30       20  0xffff888100000040\n{RULE}\n"
    profile = read_one(heading + head + FIRST.replace("    0.00%    0.00%  ", "    0.00%  ", 1))
    assert (profile.lines[0].hitm_remote, profile.lines[0].stores_l1_hit) == (None, 30)
    assert "left out" in remarks(profile)


def test_symbol_of_the_cutting_width_may_be_cut() -> None:
    name = "a_name_of_twenty_six_chars"
    cut = read_one(REPORT.replace("take_ticket   ", name + "  ").replace("take_ticket+16", "queue.c:12"))
    assert cut.lines[0].accesses[0].symbol_cut
    proven = read_one(REPORT.replace("take_ticket   ", name + " ").replace("take_ticket+16", f"{name}_more+16"))
    assert (proven.lines[0].accesses[0].function, proven.lines[0].accesses[0].symbol_cut) == (f"{name}_more", False)


def test_full_symbols_are_not_cut() -> None:
    names = REPORT.replace("take_ticket   ", "a_name_of_twenty_six_chars ").replace(
        "give_ticket   ", "one_longer_than_twenty_six_chars "
    )
    assert not read_one(names.replace("take_ticket+16", "queue.c:12")).lines[0].accesses[0].symbol_cut


def test_names_of_templates_and_packages_keep_their_blanks() -> None:
    go = REPORT.replace("[k] take_ticket", "[.] example.org/shop/till.(*Till).Take").replace(
        "[kernel.kallsyms]", "till"
    )
    assert read_one(go).lines[0].accesses[0].function == "example.org/shop/till.(*Till).Take"
    template = " ".join(REPORT.replace("take_ticket ", "std::pair<int, long> f<int>(int) ").split())
    assert read_one(template).lines[0].accesses[0].function == "std::pair<int, long> f<int>(int)"


def test_loads_only_is_said_by_the_profile() -> None:
    silent = REPORT.replace("       30       20       10  0x", "        0        0        0  0x")
    assert not read_one(silent).has_stores
    assert read_one(REPORT).has_stores
    assert read_one("  Store Operations                  :        120\n" + silent).has_stores


def test_byte_order_terminal_codes_and_odd_bytes() -> None:
    text = "\ufeff" + REPORT.replace("  75.00%", " \x1b[31m 75.00%\x1b[0m").replace(
        "[k] take", "[k]\u00a0take"
    ).replace("\n", "\ufffd\n")
    assert read_one(text).lines[0].accesses[0].function == "take_ticket"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("   \n\n", "is empty"),
        ("int main(void) { return 0; }\n", "none of its 1 lines"),
        ("    12.50%  sh  [kernel.kallsyms]  [k] do_idle\n", "none of its 1 lines"),
        ("    12.50%    12.50%  [k] do_idle\n", "none of its 1 lines"),
        ("Cacheline 0x40 is the second one.\n", "none of its 1 lines"),
        ("a\n 1.00%  2.00%  3.00%  4.00%  nothing here\n", "line 2 begins with shares"),
        ("<html><body><p>Not found</p></body></html>", "none of its 1 lines"),
    ],
)
def test_foreign_text_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(ProfileError, match=words) as refusal:
        read(text)
    assert "perf c2c report --stdio" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_rows_that_end_behind_the_symbol() -> None:
    cut = (HEAD + FIRST + SECOND).replace("   [kernel.kallsyms]  take_ticket+16   0  1", "  <-- here!")
    cut = cut.replace("   [kernel.kallsyms]  give_ticket+32   0", "\n\nThe offset 0x8 is hot, as queue.c:12 explains")
    for text in (cut, " ".join(cut.split())):
        first, second = read_one(text).lines[0].accesses
        assert (first.function, first.object_file, first.source) == ("take_ticket", None, None)
        assert (second.function, second.object_file, second.source) == ("give_ticket", None, None)


def test_the_events_of_the_details_are_kept() -> None:
    details = "  Events        : cpu_core/mem-loads,ldlat=30/P\n                : cpu_core/mem-stores/P\n"
    row = "  100.00%  100.00%  100.00%  0.00%  0x8  0  1  0x40  1  1  1  1  1  [k] f  v  f+1  0\n"
    report = details + "  0  1  2  3  0  0x1000\n" + row
    events = read(report)[0].events
    assert events == ("cpu_core/mem-loads,ldlat=30/P", "cpu_core/mem-stores/P")


def test_base64_body_that_ends_in_a_line_of_two_characters() -> None:
    report = HEAD + FIRST + SECOND
    padded = report.rstrip("\n") + " " * ((1 - len(report)) % 57) + "\n"
    body = base64.encodebytes(padded.encode()).decode()
    assert len(body.splitlines()[-1].rstrip("=")) == 2
    profile = read_one(f"Content-Transfer-Encoding: base64\n\n{body}\n--boundary\n")
    assert [access.nodes for access in profile.lines[0].accesses] == [
        access.nodes for access in read_one(report).lines[0].accesses
    ]


def test_a_heading_whose_last_word_a_pager_cut() -> None:
    """``less -S`` shows a mark where the line goes on."""
    heading = (
        "#   Num  RmtHitm  LclHitm   L1 Hit  L1 Miss      N/A    Offset  Node  PA cnt        Code address"
        "  rmt hitm  lcl hitm      load  records       cnt  Symbol  Object  Source:Line  No>\n"
    )
    profile = read_one(f"Two tickets:\n{heading}{REPORT}")
    assert profile.title == "Two tickets"
    assert [access.function for access in profile.lines[0].accesses] == ["take_ticket", "give_ticket"]


def test_stores_are_kept_where_the_table_was_cut_before_them() -> None:
    """Of a copied window the lines' counts are in the table, which ends with HITM here."""
    table = (
        "Index             Address  Node  PA cnt     Hitm    Total  LclHitm  RmtHitm\n"
        "    0  0xffff888100000040     0      12   48.52%      440      400       40\n"
    )
    profile = read_one(f"{table}...\nCacheline 0xffff888100000040\n{FIRST}{SECOND}")
    (line,) = profile.lines
    assert [(access.hitm_remote, access.hitm_local) for access in line.accesses] == [(30, 200), (10, 200)]
    assert [access.stores_l1_hit for access in line.accesses] == [10_000, 0]
    assert remarks(profile) == "the table has no stores: those of its rows are counted as of 10,000 samples a column"


@pytest.mark.parametrize(
    ("heading", "row", "stores"),
    [
        ("Index  Cacheline  records  Hitm  Total  Lcl  Rmt", "0  0x7f10c0  3242  53.67%  440  400  40", None),
        (
            "Index  Address  Node  PA cnt  records  Hitm  Total  Lcl  Rmt  Total  L1Hit  L1Miss  Lc",
            "0  0x7f10c0  0  114  3242  94.23%  440  400  40  60  35  25  7",
            35,
        ),
        (
            "Index  Address  Node  PA cnt  Hitm  Total  LclHitm  RmtHitm  records  Loads  Stores",
            "0  0x7f10c0  0  114  94.23%  440  400  40  3242  3182  60",
            None,
        ),
    ],
)
def test_a_table_that_a_window_cut_keeps_what_its_sums_prove(heading: str, row: str, stores: int | None) -> None:
    (line,) = read_one(f"Shared Data Cache Line Table     (2 entries)\n{heading}\n  {row}\n").lines
    assert (line.hitm_local, line.hitm_remote, line.records, line.stores_l1_hit) == (400, 40, 3242, stores)
