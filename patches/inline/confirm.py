# SPDX-License-Identifier: GPL-2.0-or-later
"""What compilers say of the series: whether it builds, and what the record costs then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil

from linesmith.analyzer.errors import VerificationFailed
from linesmith.analyzer.model import (
    CompiledRecord,
    CompiledSize,
    ConfigurationCheck,
    FileChange,
    PatchSeries,
    Refusal,
    RefusalCode,
    SeriesStep,
)
from linesmith.patches.inline.inline import Inlined
from linesmith.patches.matrix import Change, names, paragraphs, unchecked
from linesmith.patches.paragraph import paragraph
from linesmith.patches.tree import Tree

# Configurations of a kernel that are compiled where the user names none.
_USUAL = ("tree", "arm64")
_SHOWN = 6
_MANY = 1000


def change_of(inlined: Inlined) -> Change:
    """All that the series changes, from the tree to its last step."""
    files: dict[str, FileChange] = {}
    for step in inlined.series.steps:
        for one in step.changes:
            first = files.get(one.file, one)
            files[one.file] = FileChange(one.file, first.before, one.after)
    outer = inlined.study.pointer.outer
    others = (inlined.study.target.record.name,)
    unit = next((file for file in files if file.endswith(".c")), None)
    return Change(tuple(files.values()), outer.record.name, outer.record.title, outer.file, unit, others=others)


def usual_configurations(inlined: Inlined, tree: Tree) -> tuple[str, ...]:
    """The tree's own configuration, and that of another machine where the tree has one."""
    known = names(tree, inlined.study.pointer.outer.file)
    return tuple(name for name in _USUAL if name in known) or known[:1]


def confirmed(inlined: Inlined, checks: Sequence[ConfigurationCheck]) -> Inlined:
    """The series with what was compiled in its last message; what does not compile stands in the way.

    Raises ``VerificationFailed`` where nothing could be compiled.
    """
    if all(one.failed for one in checks):
        first = f"under {checks[0].title}: {checks[0].failed}" if checks else "no configuration is known"
        raise VerificationFailed(f"no patch is given out, since nothing could be compiled to confirm it, {first}")
    broken = tuple(_broken(checks))
    if broken or not inlined.series.steps:
        return replace(inlined, missed=(*inlined.missed, *broken))
    last = inlined.series.steps[-1]
    blocks = (last.message.rstrip("\n"), _cost(inlined, checks), _compiled(inlined, checks))
    message = "\n\n".join((*(block for block in blocks if block), _unchecked(inlined, checks))) + "\n"
    steps = (*inlined.series.steps[:-1], SeriesStep(message, last.changes))
    notes = tuple(f"under {one.title} nothing was compiled: {one.failed}" for one in checks if one.failed)
    series = PatchSeries(steps, refusals=inlined.series.refusals, notes=notes)
    return replace(inlined, series=series)


def _broken(checks: Sequence[ConfigurationCheck]) -> Iterator[Refusal]:
    for check in checks:
        for user in check.users:
            if user.failed:
                reason = f"it does not compile any more under {check.title}: {user.failed}"
                lift = "run the semantic patch (--rules) and complete it by hand"
                yield Refusal(RefusalCode.NOT_COMPILED, f"{user.unit}:1", reason, lift)


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
    compiled = {user.unit for check in checks for user in check.users}
    changed = {one.file for step in inlined.series.steps for one in step.changes if one.file.endswith(".c")}
    left = sorted(changed - compiled)
    more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
    units = f"; {', '.join(left[:_SHOWN])}{more}, which none of these compile" if left else ""
    return paragraph(f"Not checked: {unchecked(checks)}{units}. No benchmark has been run.")
