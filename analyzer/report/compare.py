# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles compared, as text for a terminal or a mail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isinf

import msgspec

from linesmith.analyzer.model import Change, ElfIdentity, Exposure, Fate, LineChange, MemberChange, ProfileChange
from linesmith.analyzer.report.hot import Chosen
from linesmith.analyzer.report.prose import WIDTH, fitted

MOST_LINES = 12
MOST_MEMBERS = 20
MOST_RANKS = 4
MOST_FUNCTIONS = 3
# Columns that names take at least, and at most before a name pushes its own row.
LEAST_NAME, MOST_NAME = 24, 48
# A line or member below this share of all contended accesses, before and after, is counted but not shown.
LEAST_SHARE = 0.005


def render_text(found: ProfileChange, before: Chosen, after: Chosen, columns: int = WIDTH) -> str:
    """The lines that matter, hottest first, then members over all lines, then what to be careful about."""
    total = max(found.total.before, found.total.after)
    lines = [one for one in found.lines if _matters(one.change, total)]
    blocks = [*map(_line, lines[:MOST_LINES])]
    blocks += _fewer(len(found.lines) - len(lines[:MOST_LINES]), "line")
    members = [one for one in found.members if _matters(one.change, total)]
    if members and len(found.lines) > 1:
        rows = _rows([(_full_name(one), one) for one in members[:MOST_MEMBERS]])
        blocks.append("\n".join(["over all lines:", *rows, *_fewer(len(found.members) - len(rows), "member", "  ")]))
    blocks += ["\n".join(f"- {caution}" for caution in found.cautions)] if found.cautions else []
    return "\n\n".join((_head(found, before, after), fitted("\n\n".join(blocks), columns)))


def _matters(change: Change, total: int) -> bool:
    return max(change.before, change.after) >= max(1, LEAST_SHARE * total)


def _head(found: ProfileChange, before: Chosen, after: Chosen) -> str:
    rows = [_source("before", before, found.total.before), _source("after ", after, found.total.after)]
    return "\n".join([*rows, _normalised(found.exposure), f"all contended accesses: {_words(found.total)}"])


def _source(when: str, chosen: Chosen, contended: int) -> str:
    profile = chosen.profile
    title = f" ({profile.title})" if profile.title else ""
    which = f", report {chosen.section} of {chosen.sections}{title}" if chosen.sections > 1 else title
    lines = f"{len(profile.lines):,} line{'' if len(profile.lines) == 1 else 's'}"
    return f"{when} {profile.source}{which}: {contended:,} contended accesses on {lines}"


def _normalised(looked: Exposure) -> str:
    if not looked.unit:
        return "compared as counted"
    if looked.before == looked.after == 1:
        return f"compared by run: both are {looked.unit}"
    return f"compared by {looked.unit}: {looked.before:,.0f} before, {looked.after:,.0f} after"


def _line(one: LineChange) -> str:
    bare = "" if one.members else "; the text has no rows of it"
    named = [(member.member, member) for member in one.members[:MOST_MEMBERS]]
    rows = [f"{_title(one)}: {_words(one.change)}{bare}", *_rows(named)]
    rows += _fewer(len(one.members) - MOST_MEMBERS, "member", "  ")
    return "\n".join(rows)


def _title(one: LineChange) -> str:
    if not one.matched_by:
        when, ranks = ("new", one.after_ranks) if one.after_ranks else ("no counterpart", one.before_ranks)
        return f"{_lines(ranks)} ({one.type or 'object not known'}), {when}"
    by = "" if one.matched_by == "members" else f", matched by {one.matched_by}"
    return f"{_lines(one.before_ranks)} -> {_lines(one.after_ranks)} ({one.type or 'object not known'}{by})"


def _lines(ranks: Sequence[int]) -> str:
    listed = ", ".join(map(str, ranks[:MOST_RANKS]))
    more = f" and {len(ranks) - MOST_RANKS} more" if len(ranks) > MOST_RANKS else ""
    return f"line{'' if len(ranks) == 1 else 's'} {listed}{more}"


def _full_name(one: MemberChange) -> str:
    return f"{one.type}.{one.member}" if one.type else one.member


def _rows(named: Sequence[tuple[str, MemberChange]]) -> list[str]:
    """A row for each member; the column of names is as wide as they need."""
    longest = max((len(name) for name, _ in named), default=0)
    width = min(max(longest, LEAST_NAME), MOST_NAME)
    return [_row(name or "(unknown)", width, one) for name, one in named]


def _row(name: str, width: int, one: MemberChange) -> str:
    counts = f"{one.change.before:,} -> {one.change.after:,}"
    fate = one.change.fate.value
    return f"  {fate:<15} {name:<{width}} {counts:>18}  {_ratio(one.change):<17} {_who(one)}".rstrip()


def _who(one: MemberChange) -> str:
    parts = [_names(one.functions)]
    if one.change.before and one.change.after:
        parts += [f"gone: {_names(one.gone)}"] if one.gone else []
        parts += [f"new: {_names(one.come)}"] if one.come else []
    if one.elsewhere:
        parts.append(f"{'now' if one.change.before else 'before'} on {_lines(one.elsewhere)}")
    return "; ".join(part for part in parts if part)


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - MOST_FUNCTIONS} more" if len(listed) > MOST_FUNCTIONS else ""
    return ", ".join(listed[:MOST_FUNCTIONS]) + more


def _words(change: Change) -> str:
    ratio = _ratio(change)
    return f"{change.before:,} -> {change.after:,} contended, {change.fate.value}" + (f" ({ratio})" if ratio else "")


def _ratio(change: Change) -> str:
    """The limits of the ratio: ``x 0.14 to 0.16``; none of what was not seen."""
    least, most = change.ratio.least, change.ratio.most
    if change.fate is Fate.UNSEEN:
        return ""
    if isinf(most):
        return f"x {least:.2f} or more" if least else ""
    return f"x {least:.2f} to {most:.2f}" if change.fate is not Fate.VANISHED else f"x {most:.2g} at most"


def _fewer(count: int, thing: str, indent: str = "") -> list[str]:
    """What is not shown, counted."""
    return [f"{indent}… and {count:,} more {thing}{'' if count == 1 else 's'}"] if count > 0 else []


# The JSON form of two profiles compared; docs/schema-compare.md documents it and a test keeps the two equal.

SCHEMA_VERSION = 1


class ChangeDocument(msgspec.Struct, frozen=True):
    """Contended accesses before and after, and the limits of the ratio of their rates (``null``: no upper limit)."""

    before: int
    after: int
    ratio_least: float
    ratio_most: float | None
    fate: str


class MemberDocument(msgspec.Struct, frozen=True):
    """A member, or a function where no object is known."""

    type: str
    member: str
    change: ChangeDocument
    functions: tuple[str, ...]
    gone: tuple[str, ...]
    come: tuple[str, ...]
    elsewhere: tuple[int, ...]


class LineDocument(msgspec.Struct, frozen=True):
    """Matched lines of both profiles."""

    type: str
    start_before: int | None
    start_after: int | None
    before_ranks: tuple[int, ...]
    after_ranks: tuple[int, ...]
    matched_by: str
    change: ChangeDocument
    members: tuple[MemberDocument, ...]


class SideDocument(msgspec.Struct, frozen=True):
    """A profile that was compared, and the ELF file that its lines were explained by."""

    elf: ElfIdentity
    source: str
    title: str
    section: int
    sections: int


class CompareDocument(msgspec.Struct, frozen=True):
    """What ``linesmith compare --format json`` prints."""

    schema: int
    before: SideDocument
    after: SideDocument
    exposure: Exposure
    total: ChangeDocument
    lines: tuple[LineDocument, ...]
    members: tuple[MemberDocument, ...]
    cautions: tuple[str, ...]


def render_json(found: ProfileChange, before: tuple[ElfIdentity, Chosen], after: tuple[ElfIdentity, Chosen]) -> str:
    """The comparison as one JSON document, indented, with a newline at the end."""
    document = CompareDocument(
        SCHEMA_VERSION,
        _side(*before),
        _side(*after),
        found.exposure,
        _change(found.total),
        tuple(map(_line_document, found.lines)),
        tuple(map(_member, found.members)),
        found.cautions,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(CompareDocument)


def _side(elf: ElfIdentity, chosen: Chosen) -> SideDocument:
    return SideDocument(elf, chosen.profile.source, chosen.profile.title, chosen.section, chosen.sections)


def _change(one: Change) -> ChangeDocument:
    most = None if isinf(one.ratio.most) else one.ratio.most
    return ChangeDocument(one.before, one.after, one.ratio.least, most, one.fate.value)


def _line_document(one: LineChange) -> LineDocument:
    return LineDocument(
        one.type,
        one.start_before,
        one.start_after,
        one.before_ranks,
        one.after_ranks,
        one.matched_by,
        _change(one.change),
        tuple(map(_member, one.members)),
    )


def _member(one: MemberChange) -> MemberDocument:
    return MemberDocument(one.type, one.member, _change(one.change), one.functions, one.gone, one.come, one.elsewhere)
