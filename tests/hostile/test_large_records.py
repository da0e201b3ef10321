# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of 20,000 members: the time for each output grows with the members, not with their square."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_source import compiled
from hostile.limited import limited

MEMBERS = 20_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``struct plain`` has a hole behind every other member, ``struct bits`` is one run of bit-fields."""
    plain = "".join(f"char c{number}; long l{number};" for number in range(MEMBERS // 2))
    bits = "".join(f"unsigned b{number} : {number % 7 + 1};" for number in range(MEMBERS))
    source = f"struct plain {{ {plain} }} plain; struct bits {{ {bits} }} bits;"
    return compiled(tmp_path_factory.mktemp("large"), source)


@pytest.mark.parametrize("words", ["plain", "plain --expand", "plain --format json", "bits"])
def test_a_layout_of_many_members_is_shown_in_linear_time(large: Path, tmp_path: Path, words: str) -> None:
    done = limited("layout", large, *words.split(), cache=tmp_path)
    assert (done.returncode, done.stderr, done.stdout.count("\n") > MEMBERS) == (0, "", True)


def test_two_layouts_of_many_members_are_compared_in_linear_time(large: Path, tmp_path: Path) -> None:
    done = limited("diff", large, large, cache=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
