# SPDX-License-Identifier: GPL-2.0-or-later
"""Where one report of a text ends and the next one begins, and what each is called. The figures are made up."""

from __future__ import annotations

import pytest
from profiles.posted import REPORT, read


def test_reports_before_and_after_take_the_words_above() -> None:
    before, after = read(f"Some words.\nWithout the patch:\n{REPORT}\nWith it applied:\n\n{REPORT}")
    assert (before.title, after.title) == ("Without the patch", "With it applied")


def test_numbers_that_start_over_begin_a_new_report() -> None:
    assert len(read(REPORT + REPORT)) == 2


@pytest.mark.parametrize(
    ("titles", "reports"),
    [
        (("Baseline", "with this change"), 2),
        (("Without the patch", "Patched"), 2),
        (("The first line", "The second"), 1),
    ],
)
def test_numbers_that_go_on_are_of_a_new_report_where_words_say_so(titles: tuple[str, str], reports: int) -> None:
    """Authors show the same object's line before and after, whatever its number was."""
    first, second = titles
    assert (
        len(read(f"{first}:\n{REPORT}\n{second}:\n{REPORT.replace('      0       40', '    360       40')}")) == reports
    )


def test_heading_of_the_first_report_holds_for_the_second() -> None:
    heading = (
        "#   Num      Rmt      Lcl   L1 Hit  L1 Miss      N/A    Offset  Node  PA cnt        Code address"
        "  rmt peer  lcl peer      load  records       cnt  Symbol  Object  Source:Line  Node\n"
    )
    assert [profile.display for profile in read(f"Before:\n{heading}{REPORT}After:\n{REPORT}")] == ["peer", "peer"]


def test_title_of_collapsed_text_is_the_last_sentence() -> None:
    text = " ".join(f"It is slow. See below. Before the change: {REPORT} And after it: {REPORT}".split())
    assert [profile.title for profile in read(text)] == ["Before the change", "And after it"]
