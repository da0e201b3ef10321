# SPDX-License-Identifier: GPL-2.0-or-later
"""What the test run itself stands on: what is kept between runs, and the table of times behind one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from keeping import MOST_OF_ONE_NAME, Keeper
from run_times import table


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


def report(name: str, when: Literal["setup", "call"], seconds: float) -> pytest.TestReport:
    return pytest.TestReport(name, (name, None, name), {}, "passed", None, when, duration=seconds)


def test_folders_come_first_and_a_test_takes_what_its_set_up_takes_too() -> None:
    short = report("tests/slab/test_page.py::test_c", "call", 0.25)
    reports = [
        report("tests/patches/test_move.py::test_a", "setup", 79.5),
        report("tests/patches/test_move.py::test_a", "call", 2.5),
        report("tests/slab/test_page.py::test_b[1]", "call", 1.5),
        short,
        report("tests/test_parity.py::test_d", "call", 0.25),
    ]
    assert list(table(reports)) == [
        "    82.0 s  tests/patches  over its 80 s",
        "     1.8 s  tests/slab",
        "the 2 slowest tests:",
        "    82.0 s  tests/patches/test_move.py::test_a",
        "     1.5 s  tests/slab/test_page.py::test_b[1]",
    ]
    assert list(table([short])) == [], "a short run says nothing"
