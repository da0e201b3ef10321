# SPDX-License-Identifier: GPL-2.0-or-later
"""Two builds side by side, by lint and by pahole and diff: ``python tests/bench/lint_speed.py OLD NEW``.

Both see the same files in one run, in turns; the table gives medians of wall and CPU seconds and peak resident MiB.
What pahole and diff print somebody has to read; the lint says what of it breaks a rule.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from layout_speed import Contest, held, show


def contests(old: Path, new: Path, folder: Path) -> list[Contest]:
    """With the indices to be made, and with the indices at hand."""
    linesmith = str(Path(sys.executable).with_name("linesmith"))
    before, after = shlex.quote(str(old)), shlex.quote(str(new))
    texts = f"{folder}/old.txt", f"{folder}/new.txt"
    shown = f"pahole -F dwarf -j2 {before} > {texts[0]}; pahole -F dwarf -j2 {after} > {texts[1]}"
    ours = [linesmith, "lint", "--fail-on", "never", "--base", str(old), "--head", str(new)]
    theirs = ["sh", "-c", f"{shown}; diff {texts[0]} {texts[1]} > /dev/null || true"]

    def empty() -> None:
        shutil.rmtree(folder / "cache", ignore_errors=True)

    return [
        Contest("two whole builds, nothing at hand", ours, theirs, empty),
        Contest("two whole builds, both indices at hand", ours, theirs, lambda: None),
    ]


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        os.environ["LINESMITH_CACHE_DIR"] = f"{made}/cache"
        for contest in contests(given.old, given.new, Path(made)):
            show(contest, *held(contest, given.runs))


if __name__ == "__main__":
    main()
