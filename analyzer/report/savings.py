# SPDX-License-Identifier: GPL-2.0-or-later
"""What a candidate is predicted to save, in words."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model import Bounds, Candidate, ReplayedSaving


@dataclass(frozen=True, slots=True)
class Saved:
    """``likely`` saved ``of`` contended accesses, between ``limits``; ``None`` where nothing is known of those.

    ``certainty`` is the word for it: ``likely``, or ``perhaps`` where the limits hold a loss, the record is in doubt or
    a replay counted what is beyond the limits.
    """

    likely: float
    of: float
    limits: Bounds | None
    certainty: str = "likely"

    @property
    def text(self) -> str:
        """``586 of 1,036``."""
        return f"{self.likely:,.0f} of {self.of:,.0f}"

    @property
    def in_brief(self) -> str:
        """The same for an overview: ``likely 586 of 1,036``, with the limits where they hold a loss."""
        limits = f" ({self.limits_text})" if self.certainty == "perhaps" else ""
        return f"{self.certainty} {self.text}{limits}"

    @property
    def limits_text(self) -> str:
        """``522 to 650``, empty where nothing is known of the limits."""
        return f"{self.limits.least:,.0f} to {self.limits.most:,.0f}" if self.limits else ""


def saved(candidate: Candidate, replayed: ReplayedSaving | None = None) -> Saved:
    """The saving of a candidate, beside what was ``replayed``; of one that has none, what its pairs explain."""
    saving, gain = candidate.saving, candidate.predicted
    if saving.before:
        limits = Bounds(saving.contended.least, min(saving.contended.most, saving.before))
        refuted = replayed is not None and not replayed.holds
        certainty = "perhaps" if saving.may_lose or candidate.doubt or refuted else "likely"
        return Saved(saving.likely, saving.before, limits, certainty)
    return Saved(gain.before - gain.after, gain.before, None)
