# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps a profile as it was read, in our own format, where the user wants it."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.cli.output import check_destinations, deliver
from linesmith.analyzer.cli.remarks import say
from linesmith.analyzer.model import Profile
from linesmith.plugins.profiles.recorded import can_hold, encode_for

_RESULTS = ("output", "save")


def check_save(save: Path | None, output: Path | None) -> None:
    """Raise ``OutputError`` or ``ToolMissing`` where ``save_profile`` would, before any work is done."""
    if save is not None:
        can_hold(save)
        check_destinations([place for place in (save, output) if place], _RESULTS)


def save_profile(profile: Profile, save: Path | None) -> None:
    """Write the profile and say so; raises ``OutputError``, or ``ProfileError`` for counts that it cannot hold."""
    if save is not None:
        deliver(encode_for(profile, save), save, _RESULTS)
        say(f"profile: {save}")
