# SPDX-License-Identifier: GPL-2.0-or-later
"""What was checked of a change beyond the configuration at hand, and what that leaves unchecked, for a message."""

from __future__ import annotations

from dataclasses import dataclass

_CODE = "code that relies on the order of members (initialisers by position, ranges from one member to another, casts)"


@dataclass(frozen=True, slots=True)
class Beyond:
    """``configurations`` and ``code`` are blocks of a message, wrapped; empty where nothing was looked at.

    ``builds_left`` and ``code_left`` are clauses: what the checks did not reach.
    """

    configurations: str = ""
    builds_left: str = ""
    code: str = ""
    code_left: str = ""

    def paragraphs(self) -> tuple[str, ...]:
        """The blocks that are there."""
        return tuple(one for one in (self.configurations, self.code) if one)

    def other_builds(self, usual: str) -> str:
        """The builds that were not checked: ``usual`` where none but the one at hand was."""
        return self.builds_left if self.configurations else usual

    def other_code(self) -> str:
        """The code that was not looked at."""
        return self.code_left if self.code else self.code_left or _CODE


NOTHING_BEYOND = Beyond()
