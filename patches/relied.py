# SPDX-License-Identifier: GPL-2.0-or-later
"""The code that relies on the order of a record's members, as a paragraph of a message."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from linesmith.analyzer.model import Dependency, SourceScan

WIDTH = 75
_SHOWN = 6
# What a parser does not see: units that the configuration leaves out.
LEFT = "code that the build at hand leaves out"


def relied(scan: SourceScan, title: str) -> str:
    """What was looked at, and the places that rely on the order of the members of ``title``, with what they do.

    The candidates were made so that these hold: a place that would not is a reason against a candidate.
    """
    binding = [one for one in scan.dependencies if one.binds]
    units = f"{scan.units:,} unit{'s' * (scan.units != 1)} that use{'s' * (scan.units == 1)} {title}"
    failed = f" ({len(scan.failed):,} of them with errors)" if scan.failed else ""
    if not binding:
        return _wrapped(f"Nothing in the {units}{failed} was found to rely on the order of its members.")
    count = f"{len(binding):,} place{'s' * (len(binding) != 1)}"
    verbs = ("relies", "holds") if len(binding) == 1 else ("rely", "hold")
    head = _wrapped(f"In the {units}{failed}, {count} {verbs[0]} on the order of its members, and still {verbs[1]}:")
    return f"{head}\n\n{_listed(binding)}"


def _listed(places: Sequence[Dependency]) -> str:
    rows = [_wrapped(f"  {_place(one)}", "      ") for one in places[:_SHOWN]]
    more = [f"  {len(places) - _SHOWN} more"] if len(places) > _SHOWN else []
    return "\n".join((*rows, *more))


def _place(one: Dependency) -> str:
    of = f" of {', '.join(one.members[:_SHOWN])}" if one.members else ""
    return f"{one.place}: {one.kind.value}{of}"


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
