# SPDX-License-Identifier: GPL-2.0-or-later
"""A revision that is empty, as where a command of a hook that should name it has failed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith


@pytest.mark.parametrize("words", [("--base-ref", ""), ("--base-ref", "HEAD", "--head-ref", "")])
def test_it_is_an_error_and_not_taken_for_the_usual_one(tmp_path: Path, words: tuple[str, ...]) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    done = linesmith("lint", "--tree", tmp_path, *words, cache=tmp_path / "cache")
    assert (done.returncode, "a revision is empty" in done.stderr) == (2, True)
