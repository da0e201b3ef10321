# SPDX-License-Identifier: GPL-2.0-or-later
"""What the test run itself stands on: what is kept between runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from keeping import MOST_OF_ONE_NAME, Keeper


def write(text: str, folder: Path) -> None:
    (folder / "text").write_text(text)


def test_a_folder_is_filled_once_for_a_key(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    first = keeper("build", "key", lambda folder: write("first", folder))
    assert keeper("build", "key", lambda folder: write("second", folder)) == first
    assert (first / "text").read_text() == "first"
    assert (keeper("build", "other key", lambda folder: write("third", folder)) / "text").read_text() == "third"


def test_what_could_not_be_made_is_not_kept(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    with pytest.raises(ZeroDivisionError):
        keeper("build", "key", lambda _: 1 // 0)  # type: ignore[arg-type]
    assert [one.name for one in tmp_path.iterdir()] == [".build.lock"]
    assert (keeper("build", "key", lambda folder: write("text", folder)) / "text").is_file()


def test_old_contents_of_a_name_are_removed(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    folders = [keeper("build", f"{number}", lambda folder: write("", folder)) for number in range(MOST_OF_ONE_NAME + 2)]
    kept = keeper("build-of-another-name", "key", lambda folder: write("", folder))
    assert [one.is_dir() for one in folders] == [False] * 2 + [True] * MOST_OF_ONE_NAME
    assert kept.is_dir()
