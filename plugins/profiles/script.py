# SPDX-License-Identifier: GPL-2.0-or-later
"""The text that ``perf script`` printed on another machine: samples of memory accesses, one a line."""

from __future__ import annotations

import re
from pathlib import Path

from linesmith.analyzer.model import Profile
from linesmith.plugins.profiles.script_header import is_header
from linesmith.plugins.profiles.script_line import PLAIN_SAMPLE
from linesmith.plugins.profiles.unmail import unmail
from linesmith.plugins.text import head_text

_SOURCE = re.compile(r"\|OP (?:LOAD|STORE|PFETCH|EXEC|N/A|No)\|LVL ")


class PerfScript:
    """Reads the text of ``perf script`` with data sources; see ``docs/profiles.md`` for the fields."""

    name = "perf-script"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` has a data source as perf words it, two samples of any event, or nothing but a header."""
        plain = "\n".join(line.text for line in unmail(head_text(head)))
        return bool(_SOURCE.search(plain)) or len(PLAIN_SAMPLE.findall(plain)) > 1 or is_header(plain)

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """The one profile of all samples in the file; raises ``ProfileError`` when no line of them is shared."""
        # Only here, for numpy takes a while.
        from linesmith.plugins.profiles.script_reading import profile_in

        return (profile_in(path, source),)
