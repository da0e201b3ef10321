# SPDX-License-Identifier: GPL-2.0-or-later
"""Which object lies on a line, and how sure that is, in words; a guess is never told as what is there."""

from __future__ import annotations

from linesmith.analyzer.model import Finding, LineObject, Outcome


def place(one: LineObject, finding: Finding) -> str:
    """The object's type and where it begins: ``inode, begins 48 bytes before the line (phase 16 of 64)``."""
    where = f"{abs(one.start)} bytes {'before' if one.start < 0 else 'into'} the line" if one.start else "with the line"
    guess = "not known; most like " if one.outcome is Outcome.CANNOT_TELL else ""
    return f"{guess}{one.type}, begins {where} (phase {one.phase} of {finding.bytes})"


def certainty(one: LineObject, finding: Finding) -> str:
    """How the attribution ended, and how far ahead of the runner-up the object is."""
    counted = "accesses" if finding.simulated else "samples"
    rival = f"{one.runner_up.type} (phase {one.runner_up.phase})" if one.runner_up else ""
    if one.outcome is Outcome.CANNOT_TELL:
        ahead = f", and is ahead of {rival} by {one.margin:.1%}" if rival else ""
        return f"{one.outcome.value}: it explains {one.score:.0%} of the {counted}{ahead}"
    against = f"; runner-up {rival}, confidence {one.margin:.1%}" if rival else ""
    return f"{one.outcome.value}: {one.score:.0%} of the {counted} explained{against}"
