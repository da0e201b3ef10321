# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's recording has thousands of lines that hardly matter: the profile keeps the hottest and counts the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linesmith.analyzer.model import Recording
from linesmith.plugins.recordings import profile
from linesmith.plugins.recordings.profile import MOST_LINES, WHOLE_LINES, Place, to_profile
from linesmith.plugins.recordings.text import AccessRow, LineRow, PairRow, RecordingText

RECORDING = Recording("qemu", ("true",), (0, 0), "x86_64")


def recording_of(lines: int) -> RecordingText:
    """Line ``k`` has ``k`` HITM loads."""
    text = RecordingText()
    for number in range(1, lines + 1):
        text.lines.append(LineRow(64 * number, "k", number, 0, 0))
        text.accesses.append(AccessRow(64 * number, 0, 8, 1, "L", 1, 0, number, 0, 0, 0, 0, 0, 0, 0))
    return text


def test_the_hottest_are_kept_and_the_others_are_told() -> None:
    kept = to_profile(recording_of(MOST_LINES + 2), RECORDING, lambda _: Place(), "bzImage")
    assert len(kept.lines) == MOST_LINES
    assert kept.lines[-1].contended == 3
    assert kept.remarks[-1].text.startswith("2 lines with 0.0% of all contended accesses are below those")


def test_below_the_hottest_only_accesses_that_met_are_kept() -> None:
    text = recording_of(WHOLE_LINES + 1)
    hits_only = [replace(row, ip=2, hits=9, hitm_local=0) for row in text.accesses]
    text.accesses.extend(hits_only)
    lines = to_profile(text, RECORDING, lambda _: Place(), "bzImage").lines
    assert [len(line.accesses) for line in (lines[0], lines[WHOLE_LINES - 1], lines[WHOLE_LINES])] == [2, 2, 1]


def test_conflicts_are_kept_below_the_hottest_too() -> None:
    text = recording_of(WHOLE_LINES + 1)
    text.pairs.append(PairRow(64, 0, 8, 1, "L", 8, 8, 2, true_sharing=False, local=1, remote=0))
    assert [one.misses for one in to_profile(text, RECORDING, lambda _: Place(), "bzImage").lines[-1].conflicts] == [1]


def test_no_more_rows_are_kept_than_are_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "WHOLE_ROWS", 4)
    monkeypatch.setattr(profile, "MOST_ROWS", 7)
    text = recording_of(9)
    text.accesses.extend([replace(row, ip=2, hits=9, hitm_local=0) for row in text.accesses])
    kept = to_profile(text, RECORDING, lambda _: Place(), "bzImage")
    assert [len(line.accesses) for line in kept.lines] == [2, 2, 1, 1, 1]
    assert kept.remarks[0].text == "4 lines with 22.2% of all contended accesses are below those in the profile"


def test_shares_are_of_all_lines() -> None:
    kept = to_profile(recording_of(3), RECORDING, lambda _: Place(), "bzImage")
    assert [line.share for line in kept.lines] == [3 / 6, 2 / 6, 1 / 6]
    assert kept.remarks == ()
