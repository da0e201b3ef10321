# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``linesmith --help`` says of the commands."""

from __future__ import annotations

from linesmith_command import linesmith


def test_what_a_command_does_is_said_in_a_whole_sentence() -> None:
    shown = " ".join(linesmith("--help").stdout.split())
    assert "Read the layouts of ELF files into the cache, so that later commands start at once." in shown
