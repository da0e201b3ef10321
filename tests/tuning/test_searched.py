# SPDX-License-Identifier: GPL-2.0-or-later
"""Where there is nothing to search the user is told in which files to look, and when they are not of C."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import meeting, scalar, struct, table

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import Profile, Searching
from linesmith.tuner.tuning.evidence import Explained
from linesmith.tuner.tuning.searched import searched


def unknown_object(name: str) -> Explained:
    """A hot line whose object is not known, in a program with one type."""
    layout = struct(name, scalar("arrived"), scalar("left"))
    line = replace(meeting(layout, "arrived", "left"), objects=())
    return Explained(Path("products/door"), Profile("profile.json", "", "hitm", ()), table(layout), (line,), None)


def test_the_files_of_a_line_are_named() -> None:
    with pytest.raises(
        NothingToSuggest,
        match=r"^line 0 of profile\.json: no object is known for it, .*see `linesmith hot products/door profile\.json` "
        "for what is$",
    ):
        searched(unknown_object("counter"), Searching())


def test_types_of_another_language_are_told() -> None:
    with pytest.raises(NothingToSuggest, match=r"; door has types of C\+\+, and linesmith knows those of C$"):
        searched(unknown_object("shop::Counter"), Searching())


def test_a_record_that_is_named_is_searched_like_the_hottest_one() -> None:
    layout = struct("door", scalar("arrived"), scalar("left"), scalar("name", 112))
    line = meeting(layout, "arrived", "left")
    seen = Explained(Path("products/door"), Profile("profile.json", "", "hitm", ()), table(layout), (line,), None)
    found = [searched(seen, Searching(type=name, growth=64)) for name in ("", "door", "struct door")]
    assert len({proposed.space for _, proposed in found}) == 1
    assert all(widened is seen for widened, _ in found)
