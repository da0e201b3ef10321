# SPDX-License-Identifier: GPL-2.0-or-later
"""What is searched: layouts of the hottest record that may be changed, for all lines that hold one."""

from __future__ import annotations

import re
from dataclasses import replace

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import Searching
from linesmith.tuner.space.proposals import Proposals, proposals
from linesmith.tuner.tuning.evidence import Explained, with_all_lines

_HOT = "`linesmith hot`"


def searched(seen: Explained, search: Searching) -> tuple[Explained, Proposals]:
    """The profile with every line of the record, and its layouts.

    Raises ``NothingToSuggest``, with the files to look at.
    """
    try:
        first = proposals(seen.findings, seen.layouts, search)
        hottest = first.record.subject.type
        widened = with_all_lines(seen, hottest)
        if search.type.split()[-1:] == [hottest] and widened.findings == seen.findings:
            return widened, first  # asked the same again, which takes minutes where many lines hold the record
        return widened, proposals(widened.findings, widened.layouts, replace(search, type=hottest))
    except NothingToSuggest as error:
        raise NothingToSuggest(_placed(str(error), seen)) from error


def _placed(reason: str, seen: Explained) -> str:
    """The reason with the line's file, and with what to look at."""
    text = re.sub(r"^Line (\d+):", rf"line \1 of {seen.profile.source}:", reason).rstrip(".")
    text = text.replace(_HOT, f"{_HOT[:-1]} {seen.elf} {seen.profile.source}`")
    foreign = any("::" in name for name in seen.layouts.names())
    return f"{text}; {seen.elf.name} has types of C++, and linesmith knows those of C" if foreign else text
