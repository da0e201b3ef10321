# SPDX-License-Identifier: GPL-2.0-or-later
"""Words of the reports: sentences and rows in the columns there are, counts, costs, and what lies on a line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, hot, scalar, struct
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.model import Bounds, LineCost, LineObject, Outcome, Side
from linesmith.analyzer.report.cost import cost_rows, places
from linesmith.analyzer.report.counting import amount, runs
from linesmith.analyzer.report.identification import certainty, place
from linesmith.analyzer.report.prose import fitted, prose, row

CELLS = "  0x10  guard      1,247  21.1%  "
WORDS = st.lists(st.text("abcdefg_", min_size=1, max_size=12), min_size=1, max_size=40)


def test_the_last_cell_of_a_row_goes_on_below_itself_or_below_the_others_where_it_would_be_too_narrow() -> None:
    last = "guard_take, guard_release"
    assert row(CELLS, last, 80) == f"{CELLS}{last}"
    assert row(CELLS, last, len(CELLS) + 24) == f"{CELLS}guard_take,\n{' ' * len(CELLS)}guard_release"
    assert row(CELLS, last, 50) == f"{CELLS.rstrip()}\n        {last}"


def test_a_sentence_is_no_wider_than_is_good_to_read_and_goes_on_below_itself() -> None:
    assert max(map(len, prose("word " * 100, columns=200).splitlines())) == 99
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


@pytest.mark.parametrize(
    ("count", "things", "told"),
    [
        (1, "contended accesses", "1 contended access"),
        (1, "loads", "1 load"),
        (1, "misses", "1 miss"),
        (2_000, "accesses", "2,000 accesses"),
        (0, "stores", "0 stores"),
    ],
)
def test_one_of_several_things(count: int, things: str, told: str) -> None:
    assert amount(count, things) == told


@pytest.mark.parametrize(
    ("numbers", "told"),
    [((), ""), ((0,), "0"), ((0, 1, 2), "0-2"), ((0, 3), "0 and 3"), ((0, 2, 3, 4, 9), "0, 2-4 and 9")],
)
def test_nodes_of_a_machine_in_a_sentence(numbers: tuple[int, ...], told: str) -> None:
    assert runs(numbers) == told


def side(member: str, cpus: int, *nodes: int) -> Side:
    return Side(member, 9, 9, cpu_count=cpus, nodes=nodes)


@pytest.mark.parametrize(
    ("victim", "writer", "told"),
    [
        (side("root", 7, 0), side("guard", 1, 0), "7 CPUs after 1 CPU, node 0"),
        (side("guard", 1, 0), side("guard", 1, 0), "1 CPU after another, node 0"),
        (side("guard", 1), side("guard", 1), "1 CPU after another"),
        (side("guard", 2, 0), side("guard", 1, 0), "2 CPUs after 1 CPU, node 0"),
        (side("root", 1, 0), side("guard", 1, 0), "1 CPU after 1 CPU, node 0"),
    ],
)
def test_no_cpu_waits_for_itself(victim: Side, writer: Side, told: str) -> None:
    assert places(victim, writer) == told


def test_misses_of_a_recording_are_not_called_contended_accesses() -> None:
    """Contended are those that found the line modified; a second reader behind the store finds it clean, and misses."""
    cost = LineCost(337, 40_000, removable=Bounds(327, 334), removable_cycles=Bounds(39_000, 39_800), exact=True)
    rows = cost_rows(cost, "accesses")
    assert rows[0] == "  cost     40,000 cycles on misses after stores by other CPUs (counted with assumed latencies)"
    assert rows[1].startswith("  removable 327 to 334 of 337 misses after stores by other CPUs, ")


LINE = finding(struct("pool", scalar("a")), [hot("a", 0, 8, 9)])
RIVAL = LineObject("ucounts", 2, 40, 40, 0.4, Outcome.CANNOT_TELL)
KNOWN = LineObject("pool", 1, -48, 16, 0.97, Outcome.RESOLVED, 0.936, RIVAL)


def test_what_is_known_is_told_with_its_confidence() -> None:
    assert place(KNOWN, LINE) == "pool, begins 48 bytes before the line (phase 16 of 64)"
    assert certainty(KNOWN, LINE) == (
        "resolved: 97% of the samples explained; runner-up ucounts (phase 40), confidence 93.6%"
    )


def test_a_guess_is_told_as_one_and_has_no_confidence() -> None:
    guess = replace(KNOWN, outcome=Outcome.CANNOT_TELL)
    assert place(guess, LINE) == "not known; most like pool, begins 48 bytes before the line (phase 16 of 64)"
    assert certainty(guess, LINE) == (
        "cannot tell: it explains 97% of the samples, and is ahead of ucounts (phase 40) by 93.6%"
    )
