# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles compared: as text for a terminal or a mail, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import Change, ElfIdentity, Fate, LineChange, MemberChange, ProfileChange
from linesmith.analyzer.report.hot import ProfileSection
from linesmith.analyzer.report.json_text import Json, fields_of, json_text
from linesmith.analyzer.report.prose import WIDTH, counted, fitted, in_columns

MOST_LINES = 12
MOST_MEMBERS = 20
MOST_RANKS = 4
MOST_FUNCTIONS = 3
# Columns that names take at least, and at most before a name pushes its own row.
LEAST_NAME, MOST_NAME = 24, 48
# A line or member below this share of all contended accesses, before and after, is counted but not shown.
LEAST_SHARE = 0.005


def render_text(found: ProfileChange, before: ProfileSection, after: ProfileSection, columns: int = WIDTH) -> str:
    """The lines that matter, hottest first, then members over all lines, then what to be careful about."""
    least = max(1, LEAST_SHARE * max(found.total.before, found.total.after))
    lines = [one for one in found.lines if max(one.change.before, one.change.after) >= least]
    blocks = [*map(_line, lines[:MOST_LINES])]
    blocks += _fewer(len(found.lines) - len(lines[:MOST_LINES]), "line")
    members = [one for one in found.members if max(one.change.before, one.change.after) >= least]
    if members and len(found.lines) > 1:
        rows = _rows([(f"{one.type}.{one.member}" if one.type else one.member, one) for one in members[:MOST_MEMBERS]])
        blocks.append("\n".join(["over all lines:", *rows, *_fewer(len(found.members) - len(rows), "member", "  ")]))
    blocks += ["\n".join(f"- {caution}" for caution in found.cautions)] if found.cautions else []
    return "\n\n".join((_head(found, before, after), fitted("\n\n".join(blocks), columns)))


def _head(found: ProfileChange, before: ProfileSection, after: ProfileSection) -> str:
    """Both profiles, by what they are made comparable, and the change of all contended accesses."""
    rows = []
    for when, part, contended in (("before", before, found.total.before), ("after ", after, found.total.after)):
        source, lines = part.source, counted(len(part.profile.lines), "line")
        rows.append(f"{when} {source}: {contended:,} contended accesses on {lines}")
    looked = found.exposure
    if not looked.unit:
        rows.append("compared as counted")
    elif looked.before == looked.after == 1:
        rows.append(f"compared by run: both are {looked.unit}")
    else:
        rows.append(f"compared by {looked.unit}: {looked.before:,.0f} before, {looked.after:,.0f} after")
    return "\n".join([*rows, f"all contended accesses: {_words(found.total)}"])


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
    return f"line{'' if len(ranks) == 1 else 's'} {listed(map(str, ranks), MOST_RANKS)}"


def _rows(named: Sequence[tuple[str, MemberChange]]) -> list[str]:
    """A row for each member; the column of names is as wide as they need."""
    longest = max((len(name) for name, _ in named), default=0)
    width = min(max(longest, LEAST_NAME), MOST_NAME)
    rows = []
    for name, one in named:
        counts = f"{one.change.before:,} -> {one.change.after:,}"
        cells = (one.change.fate.value, name or "(unknown)", f"{counts:>18} ", _ratio(one.change), _who(one))
        rows.append(f"  {in_columns(cells, (15, width, 0, 17, 0), gap=' ')}".rstrip())
    return rows


def _who(one: MemberChange) -> str:
    """The functions, those that no longer or only now wait, and the lines that hold the member now."""
    parts = [listed(one.functions, MOST_FUNCTIONS)]
    if one.change.before and one.change.after:
        parts += [f"gone: {listed(one.gone, MOST_FUNCTIONS)}"] if one.gone else []
        parts += [f"new: {listed(one.come, MOST_FUNCTIONS)}"] if one.come else []
    if one.elsewhere:
        parts.append(f"{'now' if one.change.before else 'before'} on {_lines(one.elsewhere)}")
    return "; ".join(part for part in parts if part)


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


# The same as JSON (docs/json.md).

SCHEMA_VERSION = 1


def render_json(
    found: ProfileChange, before: tuple[ElfIdentity, ProfileSection], after: tuple[ElfIdentity, ProfileSection]
) -> str:
    """The comparison as one JSON document, indented, with a newline at the end."""
    return json_text(
        {
            "schema": SCHEMA_VERSION,
            "before": _side(*before),
            "after": _side(*after),
            "exposure": found.exposure,
            "total": _counts(found.total),
            "lines": [
                {
                    **fields_of(
                        one, "type", "start_before", "start_after", "before_ranks", "after_ranks", "matched_by"
                    ),
                    "change": _counts(one.change),
                    "members": [_member_object(member) for member in one.members],
                }
                for one in found.lines
            ],
            "members": [_member_object(one) for one in found.members],
            "cautions": found.cautions,
        }
    )


def _side(elf: ElfIdentity, part: ProfileSection) -> Json:
    """A profile that was compared, and the ELF file that its lines were explained by."""
    return {
        "elf": elf,
        **fields_of(part.profile, "source", "title"),
        **fields_of(part, "section", "sections"),
    }


def _counts(one: Change) -> Json:
    """Contended accesses before and after, and the limits of the ratio of their rates (``None``: no upper limit)."""
    most = None if isinf(one.ratio.most) else one.ratio.most
    ratio = {"ratio_least": one.ratio.least, "ratio_most": most}
    return {"before": one.before, "after": one.after, **ratio, "fate": one.fate}


def _member_object(one: MemberChange) -> Json:
    names = ("functions", "gone", "come", "elsewhere")
    return {"type": one.type, "member": one.member, "change": _counts(one.change), **fields_of(one, *names)}
