# SPDX-License-Identifier: GPL-2.0-or-later
"""The commit message: what meets, what changes, what was verified; every number comes from the pipeline.

``CommitMessage`` is the message in parts, in the order in which they stand in it; here each part is worked out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass

from linesmith.analyzer.base.text import WIDTH, listed, paragraph, visible
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import (
    Candidate,
    CommitMessage,
    Finding,
    Layout,
    LineMember,
    MoveKind,
    Outcome,
    StepTable,
)
from linesmith.patches.edit.verify import Verification
from linesmith.patches.message.paragraphs import (
    INDENT,
    NO_FURTHER_CHECKS,
    FurtherChecks,
    SubjectStyle,
    change_text,
    expectation,
    line_sizes,
    message_rows,
    pair_rows,
    reasons,
    resized_holders,
)

_FUNCTIONS = 3
_CACHES = 3
_SUBJECT_WIDTH = 75

# How the paragraphs begin between which stands what was measured, and how the last one ends before that.
_COMPILED = "The changed file was compiled with"
_NOT_CHECKED = "Not checked:"
_NOT_MEASURED = "No benchmark has been run."

Excerpt = Callable[[Layout, Layouts, frozenset[str], frozenset[str]], list[str]]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the message says about the compile: the compiler's version line, and what else was checked."""

    verification: Verification
    compiler: str
    is_kernel: bool
    further: FurtherChecks = NO_FURTHER_CHECKS


def commit_message(
    candidate: Candidate,
    finding: Finding,
    title: str,
    usual: SubjectStyle,
    excerpt: Excerpt,
    seen: Confirmation,
    steps: Sequence[StepTable] = (),
) -> CommitMessage:
    """The whole message; ``title`` is the type as C names it, ``usual`` how subjects begin.

    ``steps`` say why the candidate helps; they hold for the layouts of the profiled build only.
    """
    check = seen.verification
    others = seen.further.other_builds("other configurations and architectures" if seen.is_kernel else "other builds")
    missed = ", and ".join(filter(None, (others, seen.further.other_code())))
    split = candidate.split if check.exact else f"In the layouts of the profiled build: {candidate.split}"
    found = CommitMessage(
        subject=subject(candidate, title, usual),
        problem=_problem(finding, title),
        members=_members(finding),
        doubt=paragraph(candidate.doubt),
        change=change_text(candidate.moves, check.before.outer.size, check.after.outer.size),
        holders=resized_holders(candidate.holders, exact=check.exact),
        split=paragraph(split) if candidate.split else "",
        expectation=expectation(candidate, finding, title, exact=check.exact),
        reasons=reasons(steps) if check.exact else "",
        layouts=_layouts(candidate, excerpt, check),
        phases=_phases(candidate, title, finding, check),
        configurations=seen.further.configurations,
        code=seen.further.code,
        compiled=_verified(candidate, seen),
        unchecked=paragraph(f"{_NOT_CHECKED} {missed}. {_NOT_MEASURED}"),
    )
    return CommitMessage(*map(visible, astuple(found)))


def subject(candidate: Candidate, title: str, usual: SubjectStyle) -> str:
    """The first line: imperative, at most 75 characters where the names allow it."""
    pairs = [(one.first, one.second) for one in candidate.residuals if one.after < one.before]
    move = candidate.moves[0]
    if move.kind is MoveKind.ALIGN:
        choices = [f"align {move.member} in {title}", f"align members of {title}"]
    elif pairs:
        choices = [f"separate {pairs[0][0]} from {pairs[0][1]} in {title}", f"move {move.member} in {title}"]
    else:
        choices = [f"move {move.member} in {title}"] if len(candidate.moves) == 1 else []
    lines = [usual.subject(choice) for choice in (*choices, f"reorder {title}")]
    return next((line for line in lines if len(line) <= _SUBJECT_WIDTH), lines[-1])


def _problem(finding: Finding, title: str) -> str:
    """What was seen on the line; of a simulation a reviewer must know that no hardware was measured."""
    why = finding.triage.sentence.strip().rstrip(".")
    if finding.simulated:
        return paragraph(
            f"In a simulation of the private caches of {finding.simulated}, which counts every access and no time, a"
            f" line of {title} takes {finding.contended:,} accesses that find it modified in another CPU's cache"
            f" ({finding.share:.1%} of all such accesses): {why}."
        )
    stores = f" and {finding.stores:,} sampled stores" if finding.stores else ""
    return paragraph(
        f"In a profile of shared cache lines, a line of {title} takes {finding.contended:,} contended loads{stores}"
        f" ({finding.share:.1%} of the contended loads of the {finding.whole}): {why}."
    )


def _members(finding: Finding) -> str:
    """The members on the line with their loads and, where they were sampled, their stores."""
    if finding.simulated:
        head = "On the line, with counted loads and stores:"
    else:
        sampled = "sampled loads and stores" if finding.stores else "sampled loads (no store was sampled)"
        head = f"Seen on the line, with {sampled}:"
    rows = [_member(one, with_stores=bool(finding.stores or finding.simulated)) for one in finding.members]
    return "\n\n".join((head, *([message_rows(rows)] if rows else [])))


def _member(member: LineMember, *, with_stores: bool) -> str:
    ranked = sorted(member.functions, key=lambda one: one.contended + one.stores, reverse=True)
    names = list(dict.fromkeys(one.name for one in ranked))
    where = f" in {listed(names, _FUNCTIONS)}" if names else ""
    inferred = f" (written: {member.write_inferred})" if member.write_inferred and not member.writes else ""
    counts = [(member.reads, "load"), *([(member.writes, "store")] if with_stores else [])]
    seen = ", ".join(f"{count:,} {thing}{'s' * (count != 1)}" for count, thing in counts)
    return f"{member.called}: {seen}{where}{inferred}"


def _layouts(candidate: Candidate, excerpt: Excerpt, seen: Verification) -> str:
    names = {name for one in candidate.residuals for name in (one.first, one.second)}
    names |= {name for move in candidate.moves for name in (move.member, move.partner, move.after) if name}
    moved = frozenset(name for move in candidate.moves for name in (move.member, move.partner) if name)
    blocks = []
    for when, one in (("Before", seen.before), ("After", seen.after)):
        lines = within_width(excerpt(one.moved, one.layouts, frozenset(names), moved), WIDTH - len(INDENT))
        blocks.append("\n".join((f"{when}:", *(f"{INDENT}{line}".rstrip() for line in lines))))
    return "\n\n".join(blocks)


def _phases(candidate: Candidate, title: str, finding: Finding, seen: Verification) -> str:
    """How often members meet, for the heaviest pairs and for all that meet more often than before."""
    if not seen.residuals:
        return ""
    target = finding.objects[0] if finding.objects else None
    if candidate.firsts is None or target is None or target.row is None:
        starts = f"a {title} can start at any multiple of {seen.granules[1]} bytes"
    else:
        row = target.row.name
        starts = f"the variable {row} is counted where the linker put it, which another build may do otherwise"
    if target is not None and target.outcome is Outcome.RESOLVED:
        starts += f", and starts at byte {target.phase} of a line in the profile"
    # The slab caches that do not keep to the alignment, where that is why objects start elsewhere.
    loose = ""
    if candidate.loose and seen.granules[1] != seen.after.granule:
        loose = (
            f" The alignment of {seen.after.granule} bytes is not kept in slabs of {listed(candidate.loose, _CACHES)}."
        )
    head = paragraph(
        f"Which members share a line also depends on where an object starts; {starts}.{loose} "
        "The members meet in these shares of the possible starts, "
        f"before -> after, on {' and on '.join(f'{size} bytes' for size in line_sizes(seen.residuals))}:"
    )
    return f"{head}\n\n{message_rows(pair_rows(seen.residuals, seen.granules))}"


def _verified(candidate: Candidate, seen: Confirmation) -> str:
    flags = "the tree's own Kbuild flags for its .config" if seen.is_kernel else "the tree's flags"
    check = seen.verification
    if check.exact:
        result = "the layout before is that of the ELF file, the layout after is as predicted."
    else:
        result = (
            "the moved members stand where they should, and the layouts shown are those of this configuration. The ELF "
            f"file given with the profile was built with another one ({check.difference}; {candidate.before.size} bytes"
            f" there, {check.before.moved.size} here)."
        )
    text = f"{_COMPILED} {seen.compiler} and {flags}, and the debug information read back: {result}"
    return paragraph(f"{text} {seen.further.profile}".rstrip())


def with_evidence(text: str, evidence: str) -> str:
    """The message ``text`` with what was measured, ``evidence``, in the place of what was known of that before.

    A run measures patches as the files that they are, whoever has edited them since, so this message is text. One that
    is none of ours is left as it is.
    """
    blocks = text.rstrip("\n").split("\n\n")
    numbers = range(len(blocks))
    compiled = next((at for at in numbers if blocks[at].startswith(_COMPILED)), len(blocks))
    unchecked = next((at for at in numbers[compiled:] if blocks[at].startswith(_NOT_CHECKED)), None)
    if unchecked is None:
        return text
    rest = paragraph(" ".join(blocks[unchecked].split()).removesuffix(_NOT_MEASURED).rstrip())
    return "\n\n".join((*blocks[: compiled + 1], evidence.strip("\n"), rest, *blocks[unchecked + 1 :])) + "\n"


_TAB, _NARROW_TAB = 8, 4
_MARK = 2
# A longer type moves its own declarator only.
_WIDEST_TYPE = 34
# Blanks and mark, type (none where a nested record closes), declarator with its attributes, comments with the place.
_DECLARED = re.compile(
    r"(?P<lead>[> ] *)(?P<type>[^\s/}].*?(?= +\S+?(?: __attribute__|;)))? *(?P<name>\}?.*?;) *(?P<place>/\* .*)"
)
_ATTRIBUTE = " __attribute__"
_BLANKS = re.compile(r" +")


@dataclass(frozen=True, slots=True)
class _DeclarationRow:
    """A member in columns; ``place`` is its comments."""

    lead: str
    type: str
    name: str
    place: str

    def code(self, widest: int) -> str:
        """All but the comments, the declarator behind ``widest`` columns of blanks and type."""
        return f"{self.lead + self.type:<{widest}} {self.name}" if self.type else f"{self.lead}{self.name}"


def within_width(lines: Sequence[str], width: int) -> list[str]:
    """The lines of an excerpt, which begin with a mark of two characters and have tabs of eight, in ``width`` columns.

    Where that takes more than narrow tabs, columns are as wide as they have to be, and a place that still has no room
    stands on a line of its own, as an attribute does that makes a declaration too long. Nothing is cut off.
    """
    shifted = [_shifted(line) for line in lines]
    if all(len(line) <= width for line in shifted):
        return shifted
    matches = ((line, _DECLARED.fullmatch(line)) for line in shifted)
    rows = [
        _DeclarationRow(it["lead"], it["type"] or "", it["name"], it["place"]) if it else line for line, it in matches
    ]
    return list(_closer(rows, width))


def _shifted(line: str) -> str:
    """The line with each tab in front of it half as wide."""
    mark, text = line[:_MARK], line[_MARK:]
    code = text.lstrip(" ")
    levels, rest = divmod(_MARK + len(text) - len(code) if code != text else 0, _TAB)
    return f"{mark}{' ' * (levels * _NARROW_TAB + rest)}{code}".rstrip()


def _closer(rows: Sequence[_DeclarationRow | str], width: int) -> Iterator[str]:
    """The rows with the columns of declarators and of places where the longest before them end."""
    known = [row for row in rows if isinstance(row, _DeclarationRow)]
    widest = max((length for row in known if (length := len(row.lead + row.type)) <= _WIDEST_TYPE), default=0)
    code = {row: row.code(widest) for row in known}
    end = max((len(code[row]) for row in known if len(f"{code[row]} {row.place}") <= width), default=0)
    for row in rows:
        if isinstance(row, str):
            yield row
        elif len(line := f"{code[row]:<{end}} {row.place}") <= width:
            yield line
        else:
            yield from (*_broken(row, code[row], width), f"{_BLANKS.sub(' ', row.place):>{width}}")


def _broken(row: _DeclarationRow, code: str, width: int) -> Iterator[str]:
    """The code of a row without columns where those leave no room, and its attribute below where that is too long."""
    code = code if len(code) <= width or not row.type else f"{row.lead}{row.type} {row.name}"
    head, attribute, rest = code.partition(_ATTRIBUTE)
    if len(code) <= width or not attribute:
        yield code
        return
    yield head
    yield f"{' ' * (len(row.lead) + _NARROW_TAB)}{attribute.strip()}{rest}"
