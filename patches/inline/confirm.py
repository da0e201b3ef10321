# SPDX-License-Identifier: GPL-2.0-or-later
"""What compilers say of the series: whether it builds, and what the record costs then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from linesmith.analyzer.errors import VerificationFailed
from linesmith.analyzer.model import (
    CompiledRecord,
    CompiledSize,
    ConfigurationCheck,
    PatchSeries,
    SeriesStep,
)
from linesmith.patches.inline.inline import Inlined
from linesmith.patches.matrix import Change, paragraphs, unchecked
from linesmith.patches.paragraph import paragraph
from linesmith.patches.treewide import broken, from_first_to_last, never_compiled, notes

_SHOWN = 6
_MANY = 1000


def change_of(inlined: Inlined) -> Change:
    """All that the series changes, from the tree to its last step."""
    files = from_first_to_last(inlined.series)
    outer = inlined.study.pointer.outer
    others = (inlined.study.target.record.name,)
    unit = next((one.file for one in files if one.file.endswith(".c")), None)
    return Change(files, outer.record.name, outer.record.title, outer.file, unit, others=others)


def confirmed(inlined: Inlined, checks: Sequence[ConfigurationCheck]) -> Inlined:
    """The series with what was compiled in its last message; what does not compile stands in the way.

    Raises ``VerificationFailed`` where nothing could be compiled.
    """
    if all(one.failed for one in checks):
        first = f"under {checks[0].title}: {checks[0].failed}" if checks else "no configuration is known"
        raise VerificationFailed(f"no patch is given out, since nothing could be compiled to confirm it, {first}")
    missed = tuple(broken(checks))
    if missed or not inlined.series.steps:
        return replace(inlined, missed=(*inlined.missed, *missed))
    last = inlined.series.steps[-1]
    blocks = (last.message.rstrip("\n"), _cost(inlined, checks), _compiled(inlined, checks))
    message = "\n\n".join((*(block for block in blocks if block), _unchecked(inlined, checks))) + "\n"
    steps = (*inlined.series.steps[:-1], SeriesStep(message, last.changes))
    series = PatchSeries(steps, refusals=inlined.series.refusals, notes=notes(checks))
    return replace(inlined, series=series)


def _compiled(inlined: Inlined, checks: Sequence[ConfigurationCheck]) -> str:
    """What was compiled; the cost under a single configuration, and that of the object, are told already."""
    own = inlined.study.target.record.name
    several = len(checks) > 1
    told = [replace(one, records=tuple(r for r in one.records if several and r.record != own)) for one in checks]
    return paragraphs(told, inlined.study.pointer.outer.record.title)


def _cost(inlined: Inlined, checks: Sequence[ConfigurationCheck]) -> str:
    """What one record and one object take, before and after, in the first configuration that tells."""
    for check in checks:
        known = {record.record: record for record in check.records}
        outer = known.get(inlined.study.pointer.outer.record.name)
        if outer is not None and outer.before is not None and outer.after is not None:
            return paragraph(_said(inlined, outer, known.get(inlined.study.target.record.name), check.title))
    return ""


def _said(inlined: Inlined, outer: CompiledRecord, object_: CompiledRecord | None, where: str) -> str:
    title, target = inlined.study.pointer.outer.record.title, inlined.study.pointer.target
    before, after = outer.before, outer.after
    inner = (object_.before or object_.after) if object_ else None
    if before is None or after is None or inner is None:
        return ""
    pages = _pages((before, inner)), _pages((after,))
    slabs = f" In slabs {_MANY} of them take {pages[0]} pages now and {pages[1]} then." if all(pages) else ""
    return (
        f"A {title} takes {before.size} bytes and a {target} {inner.size} ({where}); with the object in it a {title} "
        f"takes {after.size}, aligned to {after.alignment}.{slabs}"
    )


def _pages(sizes: Sequence[CompiledSize]) -> int:
    """Pages of whole slabs for a thousand objects of each size; 0 where the slabs of one are not known."""
    if not sizes or any(not size.objects for size in sizes):
        return 0
    return sum(ceil(_MANY / size.objects) * size.pages for size in sizes)


def _unchecked(inlined: Inlined, checks: Sequence[ConfigurationCheck]) -> str:
    """What nobody has compiled: other configurations, and changed units that none of these builds."""
    left = never_compiled(inlined.series, checks)
    more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
    units = f"; {', '.join(left[:_SHOWN])}{more}, which none of these compile" if left else ""
    return paragraph(f"Not checked: {unchecked(checks)}{units}. No benchmark has been run.")
