# SPDX-License-Identifier: GPL-2.0-or-later
"""What a candidate is expected to save, for a commit message: with its limits, for the reader has no other figure."""

from __future__ import annotations

from linesmith.analyzer.model import Candidate, Finding
from linesmith.patches.paragraph import paragraph


def expectation(candidate: Candidate, finding: Finding, title: str, *, exact: bool) -> str:
    """A paragraph about the contended accesses that go away; empty where none were priced.

    ``title`` is the type as C names it; ``exact`` tells that the tree's layouts are those that the figures are of.
    """
    saving = candidate.saving
    if not saving.before:
        return ""
    counted = "accesses" if finding.simulated else "loads"
    surely = "perhaps" if saving.may_lose or candidate.doubt else "likely"
    most = min(saving.contended.most, saving.before)
    text = (
        f"Predicted{'' if exact else ' for the layout of the ELF file'}: {surely} {saving.likely:,.0f} of the"
        f" {saving.before:,.0f} contended {counted} of {title} go away ({saving.contended.least:,.0f} to {most:,.0f})."
    )
    text += " By these limits it may also lose." if saving.may_lose else ""
    if not finding.stores and not finding.simulated:
        text += " No store was sampled on the line, so how often its members are written is not known."
    return paragraph(text)
