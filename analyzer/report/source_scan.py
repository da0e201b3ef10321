# SPDX-License-Identifier: GPL-2.0-or-later
"""What the source shows of a record: where its members stand, and what relies on their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from linesmith.analyzer.model import Dependency, MemberSource, RecordSource, SourceScan
from linesmith.analyzer.report.prose import counted, cut

_MOST_BINDING = 5
_MOST_OTHERS = 2
_MOST_NAMES = 4
_MOST_TEXT = 90
_ROW = "    {}{:>6}  {:>6}  {}"


def render_text(scan: SourceScan) -> str:
    """One record: its declarations, then the places that rely on the order, those that bind first."""
    return "\n".join((*_heading(scan), *_declarations(scan), *_dependencies(scan), ""))


def _heading(scan: SourceScan) -> Iterator[str]:
    if not scan.units:
        yield f"source of {scan.record}: the build at hand compiled no unit that uses it; only text was searched"
        return
    failed = f", {len(scan.failed)} of them with errors" if scan.failed else ""
    yield f"source of {scan.record}: {counted(scan.units, 'unit')} parsed{failed}"


def _declarations(scan: SourceScan) -> Iterator[str]:
    uses = Counter(use.member for use in scan.uses)
    for source in scan.sources:
        yield f"  declared at {source.span.file}:{source.span.line}"
        yield _ROW.format("", "line", "uses", "member")
        yield from (_member(source, member, uses[member.name]) for member in source.members if member.name)


def _member(source: RecordSource, member: MemberSource, uses: int) -> str:
    """One member, the place where its atom begins, and what comes with it."""
    elsewhere = f"{member.span.file}:" if member.span.file != source.span.file else ""
    remarks = [f"made by {member.macro}()"] if member.macro else []
    if member.others:
        remarks.append(f"declared with {', '.join(member.others)}")
    notes = f"  ({'; '.join(remarks)})" if remarks else ""
    return _ROW.format(elsewhere, member.span.line, uses, f"{member.name}{notes}")


def _dependencies(scan: SourceScan) -> Iterator[str]:
    binding = [one for one in scan.dependencies if one.binds]
    others = [one for one in scan.dependencies if not one.binds]
    if not scan.units:
        yield "  build the tree once, or name its build with --build: then it is known what relies on the order"
    elif not scan.dependencies:
        yield "  nothing that was parsed relies on the order of its members"
    if binding:
        yield f"  {counted(len(binding), 'place')} where the order is relied upon"
        yield from _listed(binding, _MOST_BINDING)
    if others:
        yield f"  {counted(len(others), 'place')} with offsets that the compiler works out anew for another order"
        yield from _listed(others, _MOST_OTHERS)


def _listed(found: Sequence[Dependency], most: int) -> Iterator[str]:
    """Up to ``most`` places of each kind with the same members, and how many more there are."""
    for kind, members in dict.fromkeys((one.kind, one.members) for one in found):
        alike = [one for one in found if (one.kind, one.members) == (kind, members)]
        for one in alike[:most]:
            asserted = f" {one.relation} {one.bytes}" if one.bytes is not None and one.relation else ""
            yield f"    {one.place}: {kind.value}{_of(members)}{asserted}"
            if one.text:
                yield f"        {cut(one.text, _MOST_TEXT)}"
        if len(alike) > most:
            yield f"    … and {counted(len(alike) - most, 'further place')}: {kind.value}{_of(members)}"


def _of(members: Sequence[str]) -> str:
    if not members:
        return " of the whole"
    if len(members) <= _MOST_NAMES:
        return f" of {', '.join(members)}"
    return f" of {members[0]} … {members[-1]} ({len(members)} members)"
