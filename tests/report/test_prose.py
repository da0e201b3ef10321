# SPDX-License-Identifier: GPL-2.0-or-later
"""Sentences and rows of tables in the columns that there are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.report.prose import fitted, prose, row

CELLS = "  0x10  guard      1,247  21.1%  "
WORDS = st.lists(st.text("abcdefg_", min_size=1, max_size=12), min_size=1, max_size=40)


def test_a_row_that_fits_stays_one_line() -> None:
    assert row(CELLS, "guard_take, guard_release", 80) == f"{CELLS}guard_take, guard_release"


def test_the_last_cell_goes_on_below_itself() -> None:
    assert row(CELLS, "guard_take, guard_release", len(CELLS) + 24).splitlines() == [
        f"{CELLS}guard_take,",
        f"{' ' * len(CELLS)}guard_release",
    ]


def test_the_last_cell_stands_below_the_others_where_it_would_be_too_narrow() -> None:
    assert row(CELLS, "guard_take, guard_release", 50).splitlines() == [
        CELLS.rstrip(),
        "        guard_take, guard_release",
    ]


def test_a_sentence_is_no_wider_than_is_good_to_read() -> None:
    assert max(map(len, prose("word " * 100, columns=200).splitlines())) == 99


def test_a_row_of_a_text_goes_on_below_its_last_cell_and_a_sentence_below_itself() -> None:
    text = (
        "  memory    10 pages for 1,000 objects, 3.8 MiB for 100,000\nall of them, as they are counted by the rules\n"
    )
    assert fitted(text, 40).splitlines() == [
        "  memory    10 pages for 1,000 objects,",
        "            3.8 MiB for 100,000",
        "all of them, as they are counted by the",
        "  rules",
    ]


@given(WORDS, WORDS, st.integers(40, 120))
def test_nothing_is_lost_and_only_words_are_wider(cells: list[str], last: list[str], columns: int) -> None:
    line = f"{' '.join(cells)}  {' '.join(last)}"
    shown = fitted(f"{line}\n", columns)
    assert shown.split() == line.split()
    too_wide = [one for one in shown.splitlines() if len(one) > columns]
    assert all(one.strip() in (*cells, *last) or one.rstrip() == " ".join(cells) for one in too_wide)
