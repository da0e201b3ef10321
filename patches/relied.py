# SPDX-License-Identifier: GPL-2.0-or-later
"""The code that relies on the order of a record's members, as a paragraph of a message."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import Dependency, SourceFact, SourceScan
from linesmith.patches.paragraph import paragraph

_SHOWN = 6
# What a parser does not see: units that the configuration leaves out.
LEFT = "code that the build at hand leaves out"
# Assertions about these are rules of the layout, not facts.
_GROUP_MARK = "__cacheline_group_"


def relied(scan: SourceScan, title: str, facts: Sequence[SourceFact]) -> str:
    """What was looked at, and the places that rely on the order of the members of ``title``, with what they do.

    Candidates are made so that ``facts`` hold. A place of which none of them tells was not checked: it speaks of
    members that the build at hand does not have.
    """
    binding = [one for one in scan.dependencies if one.binds]
    units = f"{scan.units:,} unit{'s' * (scan.units != 1)} that use{'s' * (scan.units == 1)} {title}"
    failed = f" ({len(scan.failed):,} of them with errors)" if scan.failed else ""
    if not binding and not scan.units:
        # A tree that is configured but not built has no units; that none relies on the order would say nothing.
        searched = "only the text of the tree was searched, without a find"
        return paragraph(
            f"The build at hand compiled no unit that uses {title}: for code that relies on the order of "
            f"its members {searched}."
        )
    if not binding:
        return paragraph(f"Nothing in the {units}{failed} was found to rely on the order of its members.")
    known = {fact.place for fact in facts}
    checked = [one for one in binding if one.place in known or any(map(_is_mark, one.members))]
    unchecked = [one for one in binding if one not in checked]
    blocks = []
    if checked:
        rely, hold = ("relies", "holds") if len(checked) == 1 else ("rely", "hold")
        blocks.append((f"{_count(checked)} {rely} on the order of its members, and still {hold}:", checked))
    if unchecked:
        rely, was = ("relies", "was") if len(unchecked) == 1 else ("rely", "were")
        told = f"{_count(unchecked)} {rely} on the order of members that the build at hand does not have, and {was}"
        blocks.append((f"{told} not checked:", unchecked))
    return "\n\n".join(f"{paragraph(f'In the {units}{failed}, {told}')}\n\n{_listed(those)}" for told, those in blocks)


def _count(places: Sequence[Dependency]) -> str:
    return f"{len(places):,} place{'s' * (len(places) != 1)}"


def _is_mark(member: str) -> bool:
    return member.startswith(_GROUP_MARK)


def _listed(places: Sequence[Dependency]) -> str:
    rows = [paragraph(f"  {_place(one)}", then="      ") for one in places[:_SHOWN]]
    more = [f"  {len(places) - _SHOWN} more"] if len(places) > _SHOWN else []
    return "\n".join((*rows, *more))


def _place(one: Dependency) -> str:
    of = f" of {', '.join(one.members[:_SHOWN])}" if one.members else ""
    return f"{one.place}: {one.kind.value}{of}"
