# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith explain`` as a user runs it."""

from __future__ import annotations

import pytest
from linesmith_command import linesmith


def test_without_a_rule_all_are_listed() -> None:
    listed = linesmith("explain").stdout
    assert "alignment-lost" in listed
    assert "a record or member is no longer aligned to cache lines" in listed


def test_a_rule_is_explained_by_its_page() -> None:
    page = linesmith("explain", "alignment-lost").stdout
    assert page.startswith("alignment-lost\n\n  A record, or one of its members, asked for an alignment")
    assert "\nWhat to do\n\n  Keep the attribute." in page


@pytest.mark.parametrize(
    ("word", "step"),
    [
        ("alignmentlost", "did you mean alignment-lost?"),
        ("isolaton-broken", "did you mean isolation-broken?"),
        ("xyzzy", "`linesmith explain` lists the rules"),
    ],
)
def test_a_rule_nobody_knows_is_told_with_the_one_that_is_near(word: str, step: str) -> None:
    done = linesmith("explain", word)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"linesmith: no rule is called '{word}'; {step}\n"
