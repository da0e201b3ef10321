# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith explain`` as a user runs it."""

from __future__ import annotations

from linesmith_command import linesmith


def test_without_a_rule_all_are_listed() -> None:
    listed = linesmith("explain").stdout
    assert "alignment-lost" in listed
    assert "a record or member is no longer aligned to cache lines" in listed


def test_a_rule_is_explained_by_its_page() -> None:
    assert linesmith("explain", "alignment-lost").stdout.startswith("# `alignment-lost`\n")


def test_a_rule_nobody_knows_is_told_with_those_near() -> None:
    done = linesmith("explain", "alignmentlost")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("linesmith: no rule is called 'alignmentlost'; there is alignment-lost")
