# SPDX-License-Identifier: GPL-2.0-or-later
"""The commit message: what meets, what changes, what was verified; every number comes from the pipeline."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.base.text import WIDTH, paragraph, visible
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import (
    Candidate,
    CoherenceStep,
    Finding,
    Layout,
    LineMember,
    Move,
    MoveKind,
    Outcome,
    StepTable,
)
from linesmith.analyzer.sharing.triage import doubted
from linesmith.patches.edit.verify import Verification
from linesmith.patches.message.paragraphs import (
    NOTHING_BEYOND,
    Beyond,
    Style,
    around,
    expectation,
    line_sizes,
    pair_rows,
)

# Why a change helps, for a commit message: what two CPUs find on the line, before and after.

_HEAD = (
    "Why: CPU A writes a member, CPU B waits for another one that lies on the same line. What each access finds, "
    "before -> after (cycles are the profile's where it has them):"
)


def reasons(tables: Sequence[StepTable]) -> str:
    """The accesses that wait for nothing now and no longer then, as a paragraph and rows; empty where none do."""
    helped = [one for one in tables if any(step.needless for step in one.before) and one.cycles[1] < one.cycles[0]]
    pairs = [pair for one in helped for pair in zip(one.before, one.after, strict=True)]
    rows = [f"{now.cpu}: {_access(now)}: {_found(now)} -> {_found(then)}" for now, then in pairs]
    if not rows:
        return ""
    return (
        paragraph(_HEAD) + "\n\n" + "\n".join(paragraph(row, first="  ", then="      ") for row in dict.fromkeys(rows))
    )


def _access(step: CoherenceStep) -> str:
    return f"{step.function or 'somebody'} {'writes' if step.writes else 'reads'} {step.member}"


def _found(step: CoherenceStep) -> str:
    return f"{step.what}, {step.cycles} cycles" if step.cycles and not step.writes else step.what


# A layout's text made as narrow as a message has to be: columns move closer, nothing is cut off.

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
class _Row:
    """A member in columns; ``place`` is its comments."""

    lead: str
    type: str
    name: str
    place: str


def narrow(lines: Sequence[str], width: int) -> list[str]:
    """The lines of an excerpt, which begin with a mark of two characters and have tabs of eight, in ``width`` columns.

    Where that takes more than narrow tabs, columns are as wide as they have to be, and a place that still has no room
    stands on a line of its own, as an attribute does that makes a declaration too long.
    """
    shifted = [_shifted(line) for line in lines]
    if all(len(line) <= width for line in shifted):
        return shifted
    return list(_closer([_row(line) or line for line in shifted], width))


def _shifted(line: str) -> str:
    """The line with each tab in front of it half as wide."""
    mark, text = line[:_MARK], line[_MARK:]
    code = text.lstrip(" ")
    levels, rest = divmod(_MARK + len(text) - len(code) if code != text else 0, _TAB)
    return f"{mark}{' ' * (levels * _NARROW_TAB + rest)}{code}".rstrip()


def _row(line: str) -> _Row | None:
    found = _DECLARED.fullmatch(line)
    return found and _Row(found["lead"], found["type"] or "", found["name"], found["place"])


def _closer(rows: Sequence[_Row | str], width: int) -> Iterator[str]:
    """The rows with the columns of declarators and of places where the longest before them end."""
    known = [row for row in rows if isinstance(row, _Row)]
    widest = max((length for row in known if (length := len(row.lead + row.type)) <= _WIDEST_TYPE), default=0)
    code = {row: f"{row.lead}{row.name}" if not row.type else _declared(row, widest) for row in known}
    end = max((len(code[row]) for row in known if len(f"{code[row]} {row.place}") <= width), default=0)
    for row in rows:
        if isinstance(row, str):
            yield row
        elif len(line := f"{code[row]:<{end}} {row.place}") <= width:
            yield line
        else:
            yield from (*_broken(row, code[row], width), f"{_BLANKS.sub(' ', row.place):>{width}}")


def _broken(row: _Row, code: str, width: int) -> Iterator[str]:
    """The code of a row without columns where those leave no room, and its attribute below where that is too long."""
    code = code if len(code) <= width or not row.type else f"{row.lead}{row.type} {row.name}"
    head, attribute, rest = code.partition(_ATTRIBUTE)
    if len(code) <= width or not attribute:
        yield code
        return
    yield head
    yield f"{' ' * (len(row.lead) + _NARROW_TAB)}{attribute.strip()}{rest}"


def _declared(row: _Row, widest: int) -> str:
    return f"{row.lead + row.type:<{widest}} {row.name}"


_INDENT = "  "
_FUNCTIONS = 3
_CACHES = 3
_SUBJECT_WIDTH = 75

# Stands at the end of a message until a benchmark has been run.
_NOT_MEASURED = "No benchmark has been run."
# What the paragraphs begin with between which stands what was measured.
_COMPILED = "The changed file was compiled with"
_NOT_CHECKED = "Not checked:"

Excerpt = Callable[[Layout, Layouts, frozenset[str], frozenset[str]], list[str]]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the message says about the compile: the compiler's version line, and remarks on the build."""

    verification: Verification
    compiler: str
    is_kernel: bool
    beyond: Beyond = NOTHING_BEYOND


def subject(candidate: Candidate, title: str, usual: Style, in_doubt: Collection[str] = ()) -> str:
    """The first line: imperative, at most 75 characters where the names allow it; not naming those ``in_doubt``."""
    parted = [(one.first, one.second) for one in candidate.residuals if one.after < one.before]
    apart = next((pair for pair in parted if not any(name in in_doubt for name in pair)), None)
    move = candidate.moves[0]
    sure = (name for pair in parted for name in pair if name not in in_doubt and name in move.members)
    if move.kind is MoveKind.ALIGN:
        choices = [f"align {move.member} in {title}", f"align members of {title}"]
    elif apart:
        choices = [f"separate {apart[0]} from {apart[1]} in {title}", f"move {move.member} in {title}"]
    else:
        choices = [f"move {next(sure, move.member)} in {title}"] if len(candidate.moves) == 1 else []
    lines = [usual.subject(choice) for choice in (*choices, f"reorder {title}")]
    return next((line for line in lines if len(line) <= _SUBJECT_WIDTH), lines[-1])


def message(
    candidate: Candidate,
    finding: Finding,
    title: str,
    usual: Style,
    excerpt: Excerpt,
    seen: Confirmation,
    steps: Sequence[StepTable] = (),
) -> str:
    """The whole message, without trailers; ``title`` is the type as C names it, ``usual`` how subjects begin.

    ``steps`` say why the candidate helps; they hold for the layouts of the profiled build only.
    """
    blocks = [subject(candidate, title, usual, doubted(finding)), _problem(finding, title), _members(finding)]
    blocks += [paragraph(candidate.doubt) if candidate.doubt else ""]
    sizes = seen.verification.before.outer.size, seen.verification.after.outer.size
    exact = seen.verification.exact
    blocks += [change_text(candidate.moves, *sizes), around(candidate.holders, exact=exact)]
    blocks += [_split(candidate.split, exact=exact)]
    blocks += [expectation(candidate, finding, title, exact=exact)]
    blocks += [reasons(steps) if exact else ""]
    blocks += [_layouts(candidate, excerpt, seen.verification)]
    blocks += [_phases(candidate, title, finding, seen.verification), seen.beyond.configurations, seen.beyond.code]
    blocks += [_verified(candidate, seen), _unverified(seen)]
    return visible("\n\n".join(block for block in blocks if block) + "\n")


def _split(told: str, *, exact: bool) -> str:
    """Which members come to lie on two lines; of a tree with other layouts it is said where that holds."""
    return paragraph(told if exact else f"In the layouts of the profiled build: {told}") if told else ""


def with_evidence(text: str, evidence: str) -> str:
    """The message ``text`` with what was measured, ``evidence``, in the place of what was known of that before.

    A message that is none of ours is left as it is.
    """
    blocks = text.rstrip("\n").split("\n\n")
    compiled = _beginning(blocks, _COMPILED, 0)
    unchecked = None if compiled is None else _beginning(blocks, _NOT_CHECKED, compiled)
    if compiled is None or unchecked is None:
        return text
    rest = paragraph(" ".join(blocks[unchecked].split()).removesuffix(_NOT_MEASURED).rstrip())
    return "\n\n".join((*blocks[: compiled + 1], evidence.strip("\n"), rest, *blocks[unchecked + 1 :])) + "\n"


def _beginning(blocks: Sequence[str], words: str, start: int) -> int | None:
    """The first paragraph from ``start`` on that begins with ``words``."""
    return next((number for number, block in enumerate(blocks) if number >= start and block.startswith(words)), None)


def said(move: Move) -> str:
    """A move as an imperative clause."""
    if move.kind is MoveKind.ALIGN:
        return f"align {move.member} to {move.align} bytes"
    if move.kind is MoveKind.PAD:
        return f"put padding in front of {move.partner}, which then begins at a multiple of {move.align} bytes"
    if move.kind is MoveKind.GROUP:
        return f"mark {', '.join(move.members)} as the group {move.member}"
    if move.kind is MoveKind.SWAP:
        return f"swap {move.member} and {move.partner}"
    whole = f" (with {', '.join(move.members[1:])})" if len(move.members) > 1 else ""
    return f"move {move.member}{whole} {f'behind {move.after}' if move.after else 'to the front'}"


def listed(rows: Iterable[str]) -> str:
    """Rows of a message, one below the other."""
    return "\n".join(paragraph(f"{_INDENT}{row}", then=3 * _INDENT) for row in rows)


def change_text(moves: Sequence[Move], before: int, after: int) -> str:
    """What the moves do, and the size in bytes before and after them."""
    size = f"The size stays {after} bytes." if before == after else f"The size goes from {before} to {after} bytes."
    text = "; ".join(said(move) for move in moves)
    return paragraph(f"{text[0].upper()}{text[1:]}. {size}")


def _problem(finding: Finding, title: str) -> str:
    if finding.simulated:
        return _simulated_evidence(finding, title)
    stores = f" and {finding.stores:,} sampled stores" if finding.stores else ""
    text = (
        f"In a profile of shared cache lines, a line of {title} takes {finding.contended:,} contended loads{stores}"
        f" ({finding.share:.1%} of the contended loads of the {finding.whole}):"
        f" {finding.triage.sentence.strip().rstrip('.')}."
    )
    sampled = "sampled loads and stores" if finding.stores else "sampled loads (no store was sampled)"
    return paragraph(text) + f"\n\nSeen on the line, with {sampled}:"


def _simulated_evidence(finding: Finding, title: str) -> str:
    """A reviewer must know that no hardware was measured."""
    text = (
        f"In a simulation of the private caches of {finding.simulated}, which counts every access and no time, a line"
        f" of {title} takes {finding.contended:,} accesses that find it modified in another CPU's cache"
        f" ({finding.share:.1%} of all such accesses): {finding.triage.sentence.strip().rstrip('.')}."
    )
    return paragraph(text) + "\n\nOn the line, with counted loads and stores:"


def _members(finding: Finding) -> str:
    stores = bool(finding.stores or finding.simulated)
    return listed(_member(one, (one.reads, one.writes) if stores else (one.reads,)) for one in finding.members)


def _member(member: LineMember, counts: Sequence[int]) -> str:
    """A member with its loads and, where they were sampled, its stores."""
    ranked = sorted(member.functions, key=lambda one: one.contended + one.stores, reverse=True)
    names = list(dict.fromkeys(one.name for one in ranked))
    more = f" and {len(names) - _FUNCTIONS} more" if len(names) > _FUNCTIONS else ""
    where = f" in {', '.join(names[:_FUNCTIONS])}{more}" if names else ""
    inferred = f" (written: {member.write_inferred})" if member.write_inferred and not member.writes else ""
    things = zip(counts, ("load", "store"), strict=False)
    seen = ", ".join(f"{count:,} {thing}{'s' * (count != 1)}" for count, thing in things)
    return f"{member.called}: {seen}{where}{inferred}"


def _layouts(candidate: Candidate, excerpt: Excerpt, seen: Verification) -> str:
    names = {name for one in candidate.residuals for name in (one.first, one.second)}
    names |= {name for move in candidate.moves for name in (move.member, move.partner, move.after) if name}
    moved = frozenset(name for move in candidate.moves for name in (move.member, move.partner) if name)
    return "\n\n".join(
        f"{when}:\n" + "\n".join(_indented(excerpt(one.moved, one.layouts, frozenset(names), moved)))
        for when, one in (("Before", seen.before), ("After", seen.after))
    )


def _indented(lines: Sequence[str]) -> Iterator[str]:
    for line in narrow(lines, WIDTH - len(_INDENT)):
        yield f"{_INDENT}{line}".rstrip()


def _phases(candidate: Candidate, title: str, finding: Finding, seen: Verification) -> str:
    """How often members meet, for the heaviest pairs and for all that meet more often than before."""
    if not seen.residuals:
        return ""
    sizes = line_sizes(seen.residuals)
    text = (
        f"Which members share a line also depends on where an object starts; {_starts(candidate, title, finding, seen)}"
        f"{_seen_at(finding)}.{_loose(candidate, seen)} "
        "The members meet in these shares of the possible starts, "
        f"before -> after, on {' and on '.join(f'{size} bytes' for size in sizes)}:"
    )
    return paragraph(text) + "\n\n" + listed(pair_rows(seen.residuals, seen.granules))


def _starts(candidate: Candidate, title: str, finding: Finding, seen: Verification) -> str:
    """Where objects can start; a variable where the linker put it."""
    row = finding.objects[0].row if finding.objects else None
    if candidate.firsts is None or row is None:
        return f"a {title} can start at any multiple of {seen.granules[1]} bytes"
    return f"the variable {row.name} is counted where the linker put it, which another build may do otherwise"


def _loose(candidate: Candidate, seen: Verification) -> str:
    """The slab caches that do not keep to the alignment, where that is why objects start elsewhere."""
    if not candidate.loose or seen.granules[1] == seen.after.granule:
        return ""
    few = ", ".join(candidate.loose[:_CACHES])
    more = f" and {len(candidate.loose) - _CACHES} more" if len(candidate.loose) > _CACHES else ""
    return f" The alignment of {seen.after.granule} bytes is not kept in slabs of {few}{more}."


def _seen_at(finding: Finding) -> str:
    """Where the profile saw one start, when it knows."""
    target = finding.objects[0] if finding.objects else None
    if target is None or target.outcome is not Outcome.RESOLVED:
        return ""
    return f", and starts at byte {target.phase} of a line in the profile"


def _verified(candidate: Candidate, seen: Confirmation) -> str:
    flags = "the tree's own Kbuild flags for its .config" if seen.is_kernel else "the tree's flags"
    text = f"{_COMPILED} {seen.compiler} and {flags}, and the debug information read back: "
    check = seen.verification
    if check.exact:
        text += "the layout before is that of the ELF file, the layout after is as predicted."
        return paragraph(f"{text} {seen.beyond.profile}".rstrip())
    text += (
        f"the moved members stand where they should, and the layouts shown are those of this configuration. The ELF "
        f"file given with the profile was built with another one ({check.difference}; {candidate.before.size} bytes "
        f"there, {check.before.moved.size} here)."
    )
    return paragraph(f"{text} {seen.beyond.profile}".rstrip())


def _unverified(seen: Confirmation) -> str:
    others = "other configurations and architectures" if seen.is_kernel else "other builds"
    left = [one for one in (seen.beyond.other_builds(others), seen.beyond.other_code()) if one]
    return paragraph(f"{_NOT_CHECKED} {', and '.join(left)}. {_NOT_MEASURED}")
