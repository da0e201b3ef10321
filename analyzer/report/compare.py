# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles compared: as text for a terminal or a mail, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isinf

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import (
    Bounds,
    Change,
    ElfIdentity,
    Exposure,
    Fate,
    LayoutBlame,
    LayoutCause,
    MemberChange,
    ObjectChange,
    ProfileChange,
)
from linesmith.analyzer.report.findings import ProfileSection
from linesmith.analyzer.report.json_text import Json, fields_of, json_text
from linesmith.analyzer.report.prose import WIDTH, counted, fitted, in_columns, widest

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
    table = _ChangeTable(found)
    blocks = ["\n".join(table.blame(found.blame))] if found.blame else []
    blocks += table.objects()
    blocks += ["\n".join(f"- {caution}" for caution in found.cautions)] if found.cautions else []
    return "\n".join([*table.head(before, after), "", fitted("\n\n".join(blocks), columns)])


@dataclass(frozen=True, slots=True)
class _ChangeTable:
    """The rows of a comparison: counts as they are, or per operation."""

    found: ProfileChange

    @property
    def _looked(self) -> Exposure:
        return self.found.exposure

    def head(self, before: ProfileSection, after: ProfileSection) -> Iterator[str]:
        """Both profiles, by what they are made comparable, and the change of all contended accesses."""
        total, looked = self.found.total, self._looked
        for when, part, contended in (("before", before, total.before), ("after ", after, total.after)):
            lines = counted(len(part.profile.lines) - len(part.left_out if self.found.exact else ()), "line")
            yield f"{when} {part.source}: {contended:,} contended accesses on {lines}"
        if not looked.unit:
            yield "exact counts, not sampled" if self.found.exact else "compared as counted"
        else:
            exact = "exact counts, " if self.found.exact else ""
            yield f"{exact}compared by {looked.unit}: {looked.before:,.10g} before, {looked.after:,.10g} after"
        if self.found.exact:
            yield f"all contended accesses: {self._counts(total)} ({self._ratio(total)})"
            yield f"of objects that are known: {self._words(self.found.known)}"
        else:
            yield f"all contended accesses: {self._words(total)}"

    def objects(self) -> list[str]:
        """A block for each record with a change, one for functions, and the others in one sentence."""
        least = max(1, LEAST_SHARE * max(self.found.total.before, self.found.total.after))
        shown = [one for one in self.found.objects if max(one.change.before, one.change.after) >= least]
        changed = [one for one in shown if not self.found.exact or self._changed(one, least)]
        blocks = ["\n".join(self._object(one, least)) for one in changed[:MOST_OBJECTS]]
        blocks += _fewer(len(changed) - MOST_OBJECTS, "record or variable changed", "records and variables changed")
        alike = [f"{one.type} {self._counts(one.change)}" for one in shown if one not in changed]
        if alike:
            blocks.append(f"no change beyond what two runs differ by: {listed(alike, MOST_ALIKE)}")
        if self.found.functions:
            rows = [one for one in self.found.functions if max(one.change.before, one.change.after) >= least]
            blocks.append("\n".join(["by function, over all lines:", *self._rows(rows[:MOST_MEMBERS])]))
        return blocks

    def _changed(self, one: ObjectChange, least: float) -> bool:
        rows = [row.change for row in one.members if max(row.change.before, row.change.after) >= least]
        return not one.type or any(change.fate not in _SAME for change in (one.change, *rows))

    def _object(self, one: ObjectChange, least: float) -> Iterator[str]:
        name = one.type or "object not known"
        seen = one.objects if one.type else one.lines
        thing = "object" if one.type else "line"
        many = f"; {seen[0]:,} -> {seen[1]:,} {thing}s" if max(seen) > 1 else ""
        # Of what is not known nobody can say what became of it.
        yield f"{name}: {self._words(one.change) if one.type else self._counts(one.change)}{many}"
        rows = [row for row in one.members if max(row.change.before, row.change.after) >= least]
        if self.found.exact:
            rows.sort(key=lambda row: row.change.fate in _SAME)
            changed = sum(row.change.fate not in _SAME for row in rows)
            rows = rows[: max(changed, MOST_UNCHANGED)]
        yield from self._rows(rows[:MOST_MEMBERS])
        more = len(one.members) - len(rows[:MOST_MEMBERS])
        yield from _fewer(more, "row", "rows", "  ")

    def _rows(self, rows: Sequence[MemberChange]) -> list[str]:
        cells = [(one.change.fate.value, _name(one), self._counts(one.change), self._ratio(one.change)) for one in rows]
        widths = widest(cells) if cells else []
        lines = []
        for one, cell in zip(rows, cells, strict=True):
            lines.append(f"  {in_columns((*cell, _who(one)), (*widths, 0), '<<><<')}".rstrip())
        return lines

    def _counts(self, change: Change) -> str:
        looked = self._looked
        if looked.unit != "operations":
            return f"{change.before:,} -> {change.after:,}"
        rates = change.before / looked.before, change.after / looked.after
        return " -> ".join(f"{rate:,.3f}" if rate < 100 else f"{rate:,.0f}" for rate in rates)

    def _words(self, change: Change) -> str:
        each = " an operation" if self._looked.unit == "operations" else ""
        ratio = self._ratio(change)
        return f"{self._counts(change)} contended{each}, {change.fate.value}" + (f" ({ratio})" if ratio else "")

    def _ratio(self, change: Change) -> str:
        """The interval of the ratio; of exact counts the difference; none of what was not seen."""
        if change.fate is Fate.UNSEEN:
            return ""
        if change.ratio is None:
            looked = self._looked
            rates = change.before / looked.before, change.after / looked.after
            if not all(rates):
                return ""
            return f"{rates[1] / rates[0] - 1:+.1%}" if rates[1] < 2 * rates[0] else f"x {rates[1] / rates[0]:,.3g}"
        least, most = change.ratio.least, change.ratio.most
        if isinf(most):
            return f"x {least:.2f} or more" if least else ""
        return f"x {least:.2f} to {most:.2f}" if change.fate is not Fate.VANISHED else f"x {most:.2g} at most"

    def blame(self, one: LayoutBlame) -> Iterator[str]:
        """The layout differences that made contention, or that none did."""
        if one.gained.most:
            yield f"which layout change did it: {self._amount(one.gained)} contended accesses gained"
        else:
            yield "which layout change did it: no pair of members gained contention beyond what two runs differ by"
        if one.causes:
            rows = [(self._amount(it.gained), _share(it.share), _difference(it)) for it in one.causes[:MOST_CAUSES]]
            widths = widest([("gained", "share", ""), *rows])
            head = ("gained", "share", "layout difference, and who meets now")
            yield from (f"  {in_columns(row, [*widths[:2], 0], '>><')}" for row in (head, *rows))
            yield from _fewer(len(one.causes) - MOST_CAUSES, "difference", "differences", "  ")
        if one.unexplained:
            what = "" if one.causes else " it"
            yield f"  no layout difference explains{what}: {listed(map(_pair, one.unexplained), MOST_PAIRS)}"
        if one.unknown:
            more = self._amount(Bounds(one.unknown, one.unknown))
            yield f"  {more} more are on lines of which the object is not known: no layout can be held against them"
        if one.doubted:
            more = self._amount(Bounds(one.doubted, one.doubted))
            yield f"  {more} are on members that may be new, or may have been among unknown lines before"

    def _amount(self, one: Bounds) -> str:
        unit = self._looked.after if self._looked.unit == "operations" else 1.0
        least, most = (f"{count / unit:,.3f}" if unit != 1.0 else f"{count:,.0f}" for count in (one.least, one.most))
        return most if least == most else f"{least} to {most}"


def _difference(cause: LayoutCause) -> str:
    return f"{cause.subject}: {'; '.join(cause.differences)}; {listed(map(_pair, cause.pairs), MOST_PAIRS)}"


def _pair(one: object) -> str:
    first, second = getattr(one, "first", ""), getattr(one, "second", "")
    return f"{first} with itself" if first == second else f"{first} with {second}"


def _share(one: Bounds) -> str:
    least, most = f"{one.least:.0%}", f"{one.most:.0%}"
    return most if least == most else f"{least} to {most}"


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
    return {
        "elf": elf,
        **fields_of(part.profile, "source", "title"),
        **fields_of(part, "section", "sections"),
    }


def _change(one: Change) -> Json:
    """Contended accesses before and after, with the interval of the ratio of their rates (``None``: no upper limit)."""
    ratio: Json = {}
    if one.ratio is not None:
        ratio = {"ratio_least": one.ratio.least, "ratio_most": None if one.ratio.most == inf else one.ratio.most}
    return {**fields_of(one, "before", "after"), **ratio, "fate": one.fate}


def _member_object(one: MemberChange) -> Json:
    names = ("type", "member", "writer_type", "writer", "elsewhere")
    return {**fields_of(one, *names), "change": _change(one.change), **fields_of(one, "functions", "gone", "come")}
