# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's recording has thousands of lines that hardly matter: the profile keeps the hottest and counts the rest."""

from __future__ import annotations

from dataclasses import replace

from linesmith.analyzer.model import Recording
from linesmith.plugins.recordings.profile import MOST_LINES, WHOLE_LINES, Place, to_profile
from linesmith.plugins.recordings.text import AccessRow, LineRow, RecordingText

RECORDING = Recording("qemu", ("true",), (0, 0), "x86_64")


def recording_of(lines: int) -> RecordingText:
    """Line ``k`` has ``k`` HITM loads."""
    text = RecordingText()
    for number in range(1, lines + 1):
        text.lines.append(LineRow(64 * number, "k", number, 0, 0))
        text.accesses.append(AccessRow(64 * number, 0, 8, 1, "L", 1, 0, number, 0, 0, 0, 0, 0, 0, 0))
    return text


def test_the_hottest_are_kept_and_the_others_are_told() -> None:
    profile = to_profile(recording_of(MOST_LINES + 2), RECORDING, lambda _: Place(), "bzImage")
    assert len(profile.lines) == MOST_LINES
    assert profile.lines[-1].contended == 3
    assert profile.remarks[-1].text.startswith("2 lines with 0.0% of all contended accesses are below those")


def test_below_the_hottest_only_accesses_that_met_are_kept() -> None:
    text = recording_of(WHOLE_LINES + 1)
    hits_only = [replace(row, ip=2, hits=9, hitm_local=0) for row in text.accesses]
    text.accesses.extend(hits_only)
    lines = to_profile(text, RECORDING, lambda _: Place(), "bzImage").lines
    assert [len(line.accesses) for line in (lines[0], lines[WHOLE_LINES - 1], lines[WHOLE_LINES])] == [2, 2, 1]


def test_shares_are_of_all_lines() -> None:
    profile = to_profile(recording_of(3), RECORDING, lambda _: Place(), "bzImage")
    assert [line.share for line in profile.lines] == [3 / 6, 2 / 6, 1 / 6]
    assert profile.remarks == ()
