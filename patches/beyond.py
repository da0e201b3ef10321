# SPDX-License-Identifier: GPL-2.0-or-later
"""What was checked of a change beyond the configuration at hand, and what that leaves unchecked, for a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import CACHE_LINE_BYTES, ConfigurationCheck, SourceFact, SourceScan
from linesmith.patches.matrix import paragraphs, unchecked
from linesmith.patches.relied import LEFT, relied

# Of a profile that is not of the ELF file's build.
OF_ANOTHER_BUILD = "The profile is of another build: its code addresses are not those of the ELF file."
_CODE = "code that relies on the order of members (initialisers by position, ranges from one member to another, casts)"


@dataclass(frozen=True, slots=True)
class Beyond:
    """``configurations`` and ``code`` are blocks of a message, wrapped; empty where nothing was looked at.

    ``builds_left`` and ``code_left`` are clauses: what the checks did not reach. ``profile`` is a sentence about the
    profile where it is of another build than the ELF file.
    """

    configurations: str = ""
    builds_left: str = ""
    code: str = ""
    code_left: str = ""
    profile: str = ""

    def other_builds(self, usual: str) -> str:
        """The builds that were not checked: ``usual`` where none but the one at hand was."""
        return self.builds_left if self.configurations else usual

    def other_code(self) -> str:
        """The code that was not looked at."""
        return self.code_left if self.code else self.code_left or _CODE


NOTHING_BEYOND = Beyond()


def beyond(
    checks: Sequence[ConfigurationCheck], scan: SourceScan | None, title: str, facts: Sequence[SourceFact]
) -> Beyond:
    """What is said of other configurations and of code, where it was scanned; ``title`` is the record in C.

    ``facts`` are those of the record that the candidate was checked against.
    """
    code, code_left = (relied(scan, title, facts), LEFT) if scan else ("", "")
    return Beyond(paragraphs(checks, title), unchecked(checks), code, code_left)


def is_worse(checks: Sequence[ConfigurationCheck]) -> bool:
    """Whether something compiles no more under one of them, or members meet on a line more often than before.

    So it counts as well where not all was judged in time.
    """
    pairs = (one for check in checks for one in check.residuals if one.line_bytes == CACHE_LINE_BYTES)
    met = any(one.after > one.before for one in pairs)
    return met or any(check.unjudged or any(user.failed for user in check.users) for check in checks)
