# SPDX-License-Identifier: GPL-2.0-or-later
"""The comment on a change: what input holds shows as text, and does nothing."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt
from violations_by_hand import HOSTILE, hostile_reports, report, violation

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.model import Accepted, LintReport, Severity
from linesmith.analyzer.report.lint_markdown import MARKER, render_markdown
from linesmith.analyzer.report.markdown_text import LONGEST, code, prose

TAGS = {*"h3 p table thead tbody tr th td code strong br ul li details summary".split()}  # noqa: SIM905


def rendered(markdown: str) -> str:
    """HTML as GitHub's and GitLab's kinds of Markdown give it: tables, raw HTML let through."""
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))


def text_of(markdown: str) -> str:
    """What a reader sees of one paragraph."""
    return html.unescape(re.sub(r"<[^>]*>", "", rendered(f"x {markdown} y"))).strip()[2:-2].replace("\u200b", "")


def test_a_violation_is_a_row_the_worst_first_and_accepted_ones_are_behind_a_fold() -> None:
    assert render_markdown(report()).splitlines()[0] == MARKER == "<!-- linesmith-lint -->"
    found = [violation(severity=one, type=f"struct {one}", advice="move it back") for one in Severity]
    accepted = (Accepted(violation(member="lock"), "frozen ABI", "linesmith.toml:12"),)
    text = render_markdown(report(*found, accepted=accepted))
    lines = text.splitlines()
    assert "### linesmith lint: 1 error, 1 warning, 1 note" in lines
    assert "Looked at 12 records, 3 changed, 2 watched." in lines
    what = "was aligned to 64 bytes and is not any more"
    assert [line for line in lines if "| `struct " in line] == [
        f"| **error** | `struct error` | {what}<br>move it back | `alignment-lost` | `include/a.h:7` |",
        f"| **warning** | `struct warning` | {what} | `alignment-lost` | `include/a.h:7` |",
        f"| note | `struct note` | {what} | `alignment-lost` | `include/a.h:7` |",
        "| `struct a lock` | `alignment-lost` | frozen ABI | `linesmith.toml:12` |",
    ]
    assert "<summary>1 accepted</summary>" in text


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


def test_a_name_of_usual_letters_is_a_code_span_and_what_is_long_or_unseen_is_neither() -> None:
    assert code("include/net/sock.h:12") == "`include/net/sock.h:12`"
    assert text_of(prose("a\u202eb\x1bc")) == r"a\u202eb\u001bc"
    assert len(prose("a" * 1000)) == LONGEST + 1


@settings(max_examples=50)
@given(HOSTILE)
def test_a_name_shows_as_it_is(name: str) -> None:
    assert text_of(code(name)).split() == visible(re.sub("[\r\n\t]+", " ", name)).split()


@settings(max_examples=40)
@given(hostile_reports)
def test_input_brings_no_tag_and_no_row(found: LintReport) -> None:
    page = rendered(render_markdown(found).replace("…", ""))
    bare = page.replace(MARKER, "", 1)
    assert set(re.findall(r"<\s*/?\s*([^\s>/]*)", bare)) <= TAGS
    assert not re.search(r"<[a-z0-9]+\s+[^>]*=", bare)
    rows = len(found.violations) + bool(found.violations) + len(found.accepted) + bool(found.accepted)
    assert page.count("<tr>") == rows
    assert page.count("<td>") == 5 * len(found.violations) + 4 * len(found.accepted)
