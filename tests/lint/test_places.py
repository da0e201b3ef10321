# SPDX-License-Identifier: GPL-2.0-or-later
"""Files are named as the tree has them, wherever the build was made."""

from __future__ import annotations

from pathlib import Path

import pytest
from violations_by_hand import report, violation

from linesmith.analyzer.lint.places import located


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "include").mkdir(parents=True)
    (root / "include" / "a.h").touch()
    (root / "a.h").touch()
    (tmp_path / "secret.h").touch()
    return root


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("include/a.h", "include/a.h"),
        ("./include/a.h", "include/a.h"),
        ("drivers/../include/a.h", "include/a.h"),
        ("/home/somebody/linux/include/a.h", "include/a.h"),
        ("/usr/include/stdio.h", "/usr/include/stdio.h"),
        ("../secret.h", "../secret.h"),
        ("a\0b", "a\0b"),
    ],
)
def test_the_longest_end_that_is_a_file_of_the_tree_counts(tree: Path, file: str, named: str) -> None:
    (found,) = located(report(violation(file=file)), tree).violations
    assert found.file == named


def test_violations_are_sorted_by_their_new_places(tree: Path) -> None:
    found = located(report(violation(file="/x/include/a.h"), violation(file="a.h")), tree)
    assert [one.file for one in found.violations] == ["a.h", "include/a.h"]


def test_a_violation_without_a_file_stays_without(tree: Path) -> None:
    assert located(report(violation(file=None, line=None)), tree).violations[0].file is None
