# SPDX-License-Identifier: GPL-2.0-or-later
"""Why an edit of a source was not made, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """One place that was not touched: ``code`` names the kind, in words joined by hyphens (``user-abi``).

    ``place`` is ``file:line`` relative to the tree, ``reason`` a clause for the user, ``lift`` what a person can do so
    that the edit becomes possible; empty where nothing can be done.
    """

    code: str
    place: str
    reason: str
    lift: str = ""

    def __str__(self) -> str:
        remedy = f"; {self.lift}" if self.lift else ""
        return f"{self.place}: {self.reason}{remedy}"
