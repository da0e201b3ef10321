# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles compared: as text for a terminal or a mail, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isinf

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import (
    Bounds,
    Change,
    ElfIdentity,
    Exposure,
    Fate,
    LayoutBlame,
    MemberChange,
    ObjectChange,
    ProfileChange,
)
from linesmith.analyzer.report.findings import ProfileSection
from linesmith.analyzer.report.prose import WIDTH, Json, counted, fields_of, fitted, in_columns, json_text, widest

MOST_OBJECTS = 12
MOST_MEMBERS = 20
# Rows that did not change, where counts are exact; and records without a change.
MOST_UNCHANGED = 3
MOST_ALIKE = 8
MOST_FUNCTIONS = 3
MOST_PAIRS = 3
MOST_CAUSES = 12
# A record or member below this share of all contended accesses, before and after, is counted but not shown.
LEAST_SHARE = 0.005
_SAME = (Fate.STAYED, Fate.UNCLEAR)


def render_text(found: ProfileChange, before: ProfileSection, after: ProfileSection, columns: int = WIDTH) -> str:
    """What made the difference, then records that changed, hottest first, and what to be careful about."""
    blocks = ["\n".join(_blame(found, found.blame))] if found.blame else []
    blocks += _objects(found)
    blocks += ["\n".join(f"- {caution}" for caution in found.cautions)] if found.cautions else []
    return "\n".join([*_head(found, before, after), "", fitted("\n\n".join(blocks), columns)])


def _head(found: ProfileChange, before: ProfileSection, after: ProfileSection) -> Iterator[str]:
    """Both profiles, by what they are made comparable, and the change of all contended accesses."""
    total, looked = found.total, found.exposure
    for when, part, contended in (("before", before, total.before), ("after ", after, total.after)):
        lines = counted(len(part.profile.lines) - len(part.left_out if found.exact else ()), "line")
        yield f"{when} {part.source}: {contended:,} contended accesses on {lines}"
    if not looked.unit:
        yield "exact counts, not sampled" if found.exact else "compared as counted"
    else:
        exact = "exact counts, " if found.exact else ""
        yield f"{exact}compared by {looked.unit}: {looked.before:,.10g} before, {looked.after:,.10g} after"
    if found.exact:
        yield f"all contended accesses: {_counts(total, looked)} ({_ratio(total, looked)})"
        yield f"of objects that are known: {_words(found.known, looked)}"
    else:
        yield f"all contended accesses: {_words(total, looked)}"


def _objects(found: ProfileChange) -> Iterator[str]:
    """A block for each record with a change, one for functions, and the others in one sentence."""
    least = max(1, LEAST_SHARE * max(found.total.before, found.total.after))
    shown = [one for one in found.objects if max(one.change.before, one.change.after) >= least]
    changed = [one for one in shown if not found.exact or _has_changed(one, least)]
    yield from ("\n".join(_object(one, found, least)) for one in changed[:MOST_OBJECTS])
    yield from _fewer(len(changed) - MOST_OBJECTS, "record or variable changed", "records and variables changed")
    alike = [f"{one.type} {_counts(one.change, found.exposure)}" for one in shown if one not in changed]
    if alike:
        yield f"no change beyond what two runs differ by: {listed(alike, MOST_ALIKE)}"
    if found.functions:
        rows = [one for one in found.functions if max(one.change.before, one.change.after) >= least]
        yield "\n".join(["by function, over all lines:", *_rows(rows[:MOST_MEMBERS], found.exposure)])


def _has_changed(one: ObjectChange, least: float) -> bool:
    rows = [row.change for row in one.members if max(row.change.before, row.change.after) >= least]
    return not one.type or any(change.fate not in _SAME for change in (one.change, *rows))


def _object(one: ObjectChange, found: ProfileChange, least: float) -> Iterator[str]:
    looked = found.exposure
    seen, thing = (one.objects, "object") if one.type else (one.lines, "line")
    many = f"; {seen[0]:,} -> {seen[1]:,} {thing}s" if max(seen) > 1 else ""
    # Of what is not known nobody can say what became of it.
    words = _words(one.change, looked) if one.type else _counts(one.change, looked)
    yield f"{one.type or 'object not known'}: {words}{many}"
    rows = [row for row in one.members if max(row.change.before, row.change.after) >= least]
    if found.exact:
        rows.sort(key=lambda row: row.change.fate in _SAME)
        changed = sum(row.change.fate not in _SAME for row in rows)
        rows = rows[: max(changed, MOST_UNCHANGED)]
    yield from _rows(rows[:MOST_MEMBERS], looked)
    yield from _fewer(len(one.members) - len(rows[:MOST_MEMBERS]), "row", "rows", "  ")


def _rows(rows: Sequence[MemberChange], looked: Exposure) -> list[str]:
    cells = [
        (one.change.fate.value, _name(one), _counts(one.change, looked), _ratio(one.change, looked), _who(one))
        for one in rows
    ]
    widths = [*widest(cells)[:-1], 0] if cells else []
    return [f"  {in_columns(one, widths, '<<><<')}".rstrip() for one in cells]


def _counts(change: Change, looked: Exposure) -> str:
    """Counts as they are, or per operation."""
    if looked.unit != "operations":
        return f"{change.before:,} -> {change.after:,}"
    rates = change.before / looked.before, change.after / looked.after
    return " -> ".join(f"{rate:,.3f}" if rate < 100 else f"{rate:,.0f}" for rate in rates)


def _words(change: Change, looked: Exposure) -> str:
    each = " an operation" if looked.unit == "operations" else ""
    ratio = _ratio(change, looked)
    return f"{_counts(change, looked)} contended{each}, {change.fate.value}" + (f" ({ratio})" if ratio else "")


def _ratio(change: Change, looked: Exposure) -> str:
    """The interval of the ratio; of exact counts the difference; none of what was not seen."""
    if change.fate is Fate.UNSEEN:
        return ""
    if change.ratio is None:
        rates = change.before / looked.before, change.after / looked.after
        if not all(rates):
            return ""
        return f"{rates[1] / rates[0] - 1:+.1%}" if rates[1] < 2 * rates[0] else f"x {rates[1] / rates[0]:,.3g}"
    least, most = change.ratio.least, change.ratio.most
    if isinf(most):
        return f"x {least:.2f} or more" if least else ""
    return f"x {least:.2f} to {most:.2f}" if change.fate is not Fate.VANISHED else f"x {most:.2g} at most"


def _blame(found: ProfileChange, one: LayoutBlame) -> Iterator[str]:
    """The layout differences that made contention, or that none did."""
    unit = found.exposure.after if found.exposure.unit == "operations" else 1.0

    def amount(gained: Bounds) -> str:
        digits = 0 if unit == 1.0 else 3
        return _range(f"{gained.least / unit:,.{digits}f}", f"{gained.most / unit:,.{digits}f}")

    if one.gained.most:
        yield f"which layout change did it: {amount(one.gained)} contended accesses gained"
    else:
        yield "which layout change did it: no pair of members gained contention beyond what two runs differ by"
    if one.causes:
        table = [("gained", "share", "layout difference, and who meets now")]
        for it in one.causes[:MOST_CAUSES]:
            what = f"{it.subject}: {'; '.join(it.differences)}; {listed(map(_pair, it.pairs), MOST_PAIRS)}"
            table.append((amount(it.gained), _range(f"{it.share.least:.0%}", f"{it.share.most:.0%}"), what))
        widths = [*widest(table)[:2], 0]
        yield from (f"  {in_columns(row, widths, '>><')}" for row in table)
        yield from _fewer(len(one.causes) - MOST_CAUSES, "difference", "differences", "  ")
    if one.unexplained:
        what = "" if one.causes else " it"
        yield f"  no layout difference explains{what}: {listed(map(_pair, one.unexplained), MOST_PAIRS)}"
    for count, why in (
        (one.unknown, "on lines of which the object is not known: no layout can be held against them"),
        (one.doubted, "on members that may be new, or may have been among unknown lines before"),
    ):
        yield from [f"  {amount(Bounds(count, count))} more are {why}"] if count else []


def _range(least: str, most: str) -> str:
    return most if least == most else f"{least} to {most}"


def _pair(one: object) -> str:
    first, second = getattr(one, "first", ""), getattr(one, "second", "")
    return f"{first} with itself" if first == second else f"{first} with {second}"


def _name(one: MemberChange) -> str:
    """The member, and what it waits for where that is known; a function where no member is."""
    if not one.type:
        return one.functions[0] if one.functions else "(unknown)"
    member = one.member or "(unknown)"
    if not one.writer:
        return member
    if (one.writer_type, one.writer) == (one.type, one.member):
        return f"{member} waits for {f'another {one.writer}' if one.elsewhere else 'itself'}"
    whose = f" of {one.writer_type}" if one.writer_type not in (one.type, one.writer) else ""
    return f"{member} waits for {one.writer}{whose}"


def _who(one: MemberChange) -> str:
    """The functions, and those that no longer or only now wait."""
    parts = [listed(one.functions, MOST_FUNCTIONS)] if one.type else []
    if one.change.before and one.change.after:
        parts += [f"gone: {listed(one.gone, MOST_FUNCTIONS)}"] if one.gone else []
        parts += [f"new: {listed(one.come, MOST_FUNCTIONS)}"] if one.come else []
    return "; ".join(part for part in parts if part)


def _fewer(count: int, thing: str, things: str, indent: str = "") -> list[str]:
    """What is not shown, counted."""
    return [f"{indent}… and {count:,} more {thing if count == 1 else things}"] if count > 0 else []


# The same as JSON (docs/json.md).

SCHEMA_VERSION = 2


def render_json(
    found: ProfileChange, before: tuple[ElfIdentity, ProfileSection], after: tuple[ElfIdentity, ProfileSection]
) -> str:
    """The comparison as one JSON document, indented, with a newline at the end."""
    return json_text(
        {
            "schema": SCHEMA_VERSION,
            "before": _side(*before),
            "after": _side(*after),
            **fields_of(found, "exact", "exposure"),
            "total": _change(found.total),
            "known": _change(found.known),
            "objects": [
                {
                    **fields_of(one, "type", "objects", "lines"),
                    "change": _change(one.change),
                    "members": list(map(_member_object, one.members)),
                }
                for one in found.objects
            ],
            "functions": list(map(_member_object, found.functions)),
            **fields_of(found, "blame", "cautions"),
        }
    )


def _side(elf: ElfIdentity, part: ProfileSection) -> Json:
    """A profile that was compared, and the ELF file that its lines were explained by."""
    return {"elf": elf, **fields_of(part.profile, "source", "title"), **fields_of(part, "section", "sections")}


def _change(one: Change) -> Json:
    """Contended accesses before and after, with the interval of the ratio of their rates (``None``: no upper limit)."""
    ratio: Json = {}
    if one.ratio is not None:
        ratio = {"ratio_least": one.ratio.least, "ratio_most": None if one.ratio.most == inf else one.ratio.most}
    return {**fields_of(one, "before", "after"), **ratio, "fate": one.fate}


def _member_object(one: MemberChange) -> Json:
    names = ("type", "member", "writer_type", "writer", "elsewhere")
    return {**fields_of(one, *names), "change": _change(one.change), **fields_of(one, "functions", "gone", "come")}
