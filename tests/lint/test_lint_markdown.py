# SPDX-License-Identifier: GPL-2.0-or-later
"""The comment on a change: what input holds shows as text, and does nothing."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from violations_by_hand import HOSTILE, hostile_reports, report, violation

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.model import Accepted, LintReport, Severity
from linesmith.analyzer.report.lint_markdown import MARKER, render_markdown
from linesmith.analyzer.report.markdown_text import LONGEST, code, prose

TAGS = {
    "h3",
    "p",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "code",
    "strong",
    "br",
    "ul",
    "li",
    "details",
    "summary",
}


def rendered(markdown: str) -> str:
    """HTML as GitHub's and GitLab's kinds of Markdown give it: tables, raw HTML let through."""
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))


def text_of(markdown: str) -> str:
    """What a reader sees of one paragraph."""
    return html.unescape(re.sub(r"<[^>]*>", "", rendered(f"x {markdown} y"))).strip()[2:-2].replace("\u200b", "")


def test_the_first_line_is_always_the_same() -> None:
    assert render_markdown(report()).splitlines()[0] == MARKER == "<!-- linesmith-lint -->"


def test_a_violation_is_a_row() -> None:
    text = render_markdown(report(violation(member="lock", message="shares a line with map", advice="move it back")))
    assert "### linesmith lint: 1 warning\n" in text
    assert "Looked at 12 records, 3 changed, 2 watched.\n" in text
    what = "`lock` shares a line with map<br>move it back"
    assert f"| **warning** | `struct a` | {what} | `alignment-lost` | `include/a.h:7` |" in text.splitlines()


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("shares a line with tail", "shares a line with `tail`"),
        ("meets tail, then tails and tail.next", "meets `tail`, then tails and tail&#46;next"),
        ("is not aligned", "is not aligned"),
    ],
)
def test_the_other_member_is_code_as_well(message: str, told: str) -> None:
    text = render_markdown(report(violation(member="head", message=message, subject="tail")))
    assert f"| `head` {told} |" in text


def test_one_advice_for_several_is_said_once() -> None:
    found = (violation(member=name, advice="move it back") for name in ("a", "b"))
    assert render_markdown(report(*found)).count("<br>move it back") == 1


def test_the_worst_comes_first() -> None:
    found = [violation(severity=one, type=f"struct {one}") for one in Severity]
    rows = [line for line in render_markdown(report(*found)).splitlines() if "struct" in line]
    assert [row.split(" | ")[1] for row in rows] == ["`struct error`", "`struct warning`", "`struct note`"]


def test_accepted_violations_are_behind_a_fold() -> None:
    accepted = (Accepted(violation(member="lock"), "frozen ABI", "linesmith.toml:12"),)
    text = render_markdown(report(accepted=accepted))
    assert "<summary>1 accepted</summary>" in text
    assert "| `struct a lock` | `alignment-lost` | frozen ABI | `linesmith.toml:12` |" in text.splitlines()


def test_a_comment_is_never_too_long_for_github() -> None:
    many = [violation(type=f"struct {'`|' * 200}{number}") for number in range(2000)]
    text = render_markdown(report(*many, accepted=tuple(Accepted(one, "r" * 500, "b") for one in many)))
    assert len(text) < 65_536
    assert re.search(r"… and 1,9\d\d more, which the log has\.", text)


@pytest.mark.parametrize(
    "text",
    [
        "@somebody", "see #12", "group!7", "www.example.org", "https://example.org", "me@example.org", "GH-12",
        "<img src=x>", "[a](b)", "*a*", "_a_", "~~a~~", "`a`", "| a |", "<!-- a -->", "&lt;", "\\", "$a$", ":smile:",
        "- a", "1. a", "a_b_c",
    ],
)  # fmt: skip
def test_a_sentence_shows_as_it_is(text: str) -> None:
    assert text_of(prose(text)) == text


@pytest.mark.parametrize("sign", ["@a", "#1", "!1", "GH-1", ":a"])
def test_a_reference_is_broken(sign: str) -> None:
    assert sign not in html.unescape(prose(f"x {sign}"))


def test_a_name_of_usual_letters_is_a_code_span() -> None:
    assert code("include/net/sock.h:12") == "`include/net/sock.h:12`"


def test_what_does_not_show_is_written_by_its_number_and_what_is_long_is_cut() -> None:
    assert text_of(prose("a\u202eb\x1bc")) == r"a\u202eb\u001bc"
    assert len(prose("a" * 1000)) == LONGEST + 1


@given(HOSTILE)
def test_a_name_shows_as_it_is(name: str) -> None:
    assert text_of(code(name)).split() == visible(re.sub("[\r\n\t]+", " ", name)).split()


@given(hostile_reports)
def test_input_brings_no_tag_and_no_row(found: LintReport) -> None:
    page = rendered(render_markdown(found).replace("…", ""))
    bare = page.replace(MARKER, "", 1)
    assert set(re.findall(r"<\s*/?\s*([^\s>/]*)", bare)) <= TAGS
    assert not re.search(r"<[a-z0-9]+\s+[^>]*=", bare)
    rows = len(found.violations) + bool(found.violations) + len(found.accepted) + bool(found.accepted)
    assert page.count("<tr>") == rows
    assert page.count("<td>") == 5 * len(found.violations) + 4 * len(found.accepted)
