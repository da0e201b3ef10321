# SPDX-License-Identifier: GPL-2.0-or-later
"""A page kept as Markdown, as a terminal shows it."""

from __future__ import annotations

import re

import pytest

from linesmith.analyzer import rules
from linesmith.analyzer.cli.colour import headed
from linesmith.analyzer.report.page_text import page_lines


def shown(page: str, columns: int = 80) -> str:
    return headed(page_lines(page, columns), colour=False)


def test_a_paragraph_is_wrapped_below_its_heading() -> None:
    page = "# `a-rule`\n\nIt says that\nmembers lie\napart.\n"
    assert shown(page, 20) == "a-rule\n\n  It says that\n  members lie apart.\n"


def test_an_entry_of_a_list_hangs_below_its_mark() -> None:
    assert shown("- one two\n  three\n- four\n1. five six\n", 11) == (
        "  - one two\n    three\n  - four\n  1. five\n     six\n"
    )


def test_code_is_left_as_it_stands() -> None:
    wide = "word " * 30
    assert shown(f"Text:\n\n```c\n{wide}\n   in # it\n```\n\n    typed in\n") == (
        f"  Text:\n\n    {wide}\n       in # it\n\n    typed in\n"
    )


def test_of_a_link_its_words_are_left() -> None:
    assert shown("See [`group-left`](group-left.md), too.") == "  See `group-left`, too.\n"


def test_headings_are_bold_where_there_is_colour() -> None:
    assert headed(page_lines("## Why\n\nSo.\n"), colour=True) == "\x1b[1mWhy\x1b[0m\n\n  So.\n"


@pytest.mark.parametrize("name", [one.name for one in rules.RULES])
def test_no_word_of_a_page_is_lost_and_no_markup_left(name: str) -> None:
    page, text = rules.page(name), shown(rules.page(name))
    plain = re.sub(r"^```.*\n|^#+ |\]\([^)]*\)|\[(?=`)", "", page, flags=re.MULTILINE)
    assert text.replace("`", "").split() == plain.replace("`", "").split()
    assert not re.search(r"^#|```|\]\(", text, flags=re.MULTILINE)
