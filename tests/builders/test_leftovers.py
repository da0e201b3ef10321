# SPDX-License-Identifier: GPL-2.0-or-later
"""What a build that was stopped has left is trusted only when Kbuild's record says that it was finished."""

from __future__ import annotations

import time
from pathlib import Path

from builders.projects import plant

from linesmith.plugins.builders.leftovers import unfinished

WHOLE = "cmd_a.o := gcc -c -o a.o a.c\n\ndeps_a.o := \\\n  a.h \\\n\na.o: $(deps_a.o)\n\n$(deps_a.o):\n"
SHORT = "cmd_built-in.a := ar built-in.a\n"


def test_only_targets_with_a_whole_and_newer_record_are_finished(tmp_path: Path) -> None:
    plant({"old.o": ""}, tmp_path)
    time.sleep(0.05)
    since = time.time_ns() - 20_000_000
    plant({"a.o": "", ".a.o.cmd": WHOLE, "sub/built-in.a": "", "sub/.built-in.a.cmd": SHORT}, tmp_path)
    plant(
        {"no_record.o": "", "cut.o": "", ".cut.o.cmd": WHOLE[:60], "short.o": "", ".short.o.cmd": "cmd_short.o :="},
        tmp_path,
    )
    plant({".again.o.cmd": WHOLE}, tmp_path)
    time.sleep(0.05)
    plant({"again.o": ""}, tmp_path)
    time.sleep(2.1)
    plant({"last.o": "", ".last.o.cmd": WHOLE}, tmp_path)
    assert sorted(unfinished(tmp_path, since)) == [
        ".cut.o.cmd", ".last.o.cmd", ".short.o.cmd", "again.o", "cut.o", "last.o", "no_record.o", "short.o",
    ]  # fmt: skip


def test_nothing_was_written(tmp_path: Path) -> None:
    assert list(unfinished(tmp_path, 0)) == []
