# SPDX-License-Identifier: GPL-2.0-or-later
"""What a commit message begins with: which members meet on the line, who reads and writes them, and how often.

With the layout before and after: a table of the members concerned and of those next to them.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.base.text import listed, paragraph
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Finding, LineMember, Member, Profile, Residual
from linesmith.patches.edit.verify import Verification

INDENT = "  "
# Functions of a member that are named, and members that are named as the ones that wait.
_FUNCTIONS = 2
_MEMBERS = 3
_COMMAND = 48
_DECLARATION = 48


def share_words(share: float) -> str:
    """Two or three digits of a share, in per cent."""
    size = abs(share)
    return f"{share:.{0 if size >= 0.1 else 1 if size >= 0.01 else 2}%}"


def origin(profile: Profile, *, another_build: bool = False) -> str:
    """What was profiled, as the subject of a sentence: the machine, and the program where it is known."""
    recording, sampling = profile.recording, profile.sampling
    if recording is not None:
        command = textwrap.shorten(shlex.join(recording.command), _COMMAND, placeholder="...")
        kernel = f", Linux {recording.kernel_release}" if recording.kernel_release else ""
        return f"A simulation of {len(recording.nodes)} CPUs and their caches ({recording.on}{kernel}, `{command}`)"
    build = " of another build than the ELF file" if another_build else ""
    if sampling is None:
        seen = max((access.cpus or 0 for line in profile.lines for access in line.accesses), default=0)
        return f"A perf c2c report{build}{f', with samples of {seen} CPUs,' if seen > 1 else ''}"
    facts = [f"{sampling.cpus} CPUs" if sampling.cpus else "", f"Linux {sampling.release}" if sampling.release else ""]
    command = textwrap.shorten(sampling.command, _COMMAND, placeholder="...")
    where = ", ".join(filter(None, (*facts, f"`{command}`" if command else "")))
    return f"A perf profile{build}{f' ({where})' if where else ''}"


def separated(residuals: Sequence[Residual]) -> list[Residual]:
    """The pairs that meet less often than before on lines of the smallest size, each once."""
    size = min((one.line_bytes for one in residuals), default=0)
    found = {(one.first, one.second): one for one in residuals if one.line_bytes == size and one.after < one.before}
    return list(found.values())


def trouble(candidate: Candidate, finding: Finding, title: str, profiled: str, most: int) -> str:
    """Who meets whom, how often the line is contended, and at most ``most`` rows of members with their functions."""
    met = _met(candidate, finding)
    line = "the line" if met else f"a line of {title}"
    if finding.simulated:
        counted = f"{finding.contended:,} accesses that find {line} modified in another CPU's cache"
        whole = "all such accesses"
    else:
        stores = f"{finding.stores:,} stores" if finding.stores else "no stores (writers are known from the code)"
        counted = f"{finding.contended:,} contended loads and {stores} on {line}"
        whole = f"the contended loads of the {finding.whole}"
    begin = f"In {title}, {met} {profiled}" if met else profiled
    of = f"{share_words(finding.share)} of {whole}"
    head = paragraph(f"{begin} has {counted}, {of}{':' if finding.members else '.'}")
    rows = list(_members(finding, {name for one in separated(candidate.residuals) for name in (one.first, one.second)}))
    if len(rows) > most:
        rows = [*rows[: most - 1], f"{len(rows) - most + 1} more members"]
    body = "\n".join(paragraph(f"{INDENT}{row}", then=3 * INDENT) for row in rows)
    return f"{head}\n\n{body}" if body else head


def _met(candidate: Candidate, finding: Finding) -> str:
    """A sentence about the pairs that the change separates, or that meet on the line: who waits for whose stores."""
    written = {member.top for member in finding.members if member.written}
    apart = [(_top(one.first), _top(one.second)) for one in separated(candidate.residuals)]
    met = [(one.first, one.second) for one in finding.triage.pairs]
    pairs = [pair for pair in met if pair in apart or pair[::-1] in apart] or apart or met
    if not pairs:
        return ""
    writer = next((name for name in pairs[0][::-1] if name in written), pairs[0][1])
    names = (name for pair in pairs if writer in pair for name in pair if name != writer)
    others = list(dict.fromkeys(names))
    shares = "share" if len(others) > 1 else "shares"
    both = others[0] in written and len(others) == 1
    does = "and both are written" if both else "which is written" if writer in written else ""
    return f"{_joined(others, _MEMBERS)} {shares} a cache line with {writer}{f', {does}' if does else ''}."


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _joined(names: Sequence[str], most: int) -> str:
    if len(names) > most:
        return listed(names, most)
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _members(finding: Finding, first: set[str]) -> Iterator[str]:
    """A row for each member: those of ``first``, then by how often they are contended."""
    groups: dict[str, list[LineMember]] = {}
    for one in finding.members:
        groups.setdefault(one.top, []).append(one)
    concerned = {_top(name) for name in first}
    contended = {top: sum(call.contended for one in ones for call in one.functions) for top, ones in groups.items()}
    for top in sorted(groups, key=lambda name: (name not in concerned, -contended[name])):
        ones = groups[top]
        stores = sum(one.writes for one in ones)
        if not contended[top] and not stores and top not in concerned:
            continue
        counted = [f"{contended[top]:,} contended"] if contended[top] else []
        counted += [f"{stores:,} store{'s' * (stores != 1)}"] if stores else []
        doubt = " (?)" if any(one.doubted for one in ones) else ""
        yield f"{top}{doubt}: {'; '.join(filter(None, (', '.join(counted), *_roles(ones))))}"


def _roles(ones: Sequence[LineMember]) -> Iterator[str]:
    """Which functions write, and which only read, in the order of their samples; else why somebody must write."""
    calls = sorted((call for one in ones for call in one.functions), key=lambda call: -call.contended - call.stores)
    names = dict.fromkeys(call.name for call in calls)
    writers = dict.fromkeys(call.name for call in calls if call.stores or call.writes_inferred)
    inferred = next((one.write_inferred for one in ones if one.write_inferred), "")
    readers = [name for name in names if name not in writers]
    if writers:
        yield f"written by {listed(writers, _FUNCTIONS)}"
    if readers:
        yield f"{'used' if inferred and not writers else 'read'} by {listed(readers, _FUNCTIONS)}"
    if inferred and not writers:
        yield inferred


# The layout.


@dataclass(frozen=True, slots=True)
class _Placed:
    """A member after the change: the byte and the line at which it begins, before (``None``: not there) and after."""

    member: Member
    bytes: tuple[int | None, int]
    lines: tuple[int, int] | None


def layout_excerpt(candidate: Candidate, check: Verification, most: int) -> str:
    """At most ``most`` members in their new order: those that meet, those that move, and what these come next to.

    Each with its offset before and after and, where objects begin at a known place of a line, with its line.
    """
    moved = {name for move in candidate.moves for name in (*(move.members or (move.member,)), move.partner) if name}
    met = {_top(name) for one in separated(candidate.residuals) for name in (one.first, one.second)}
    placed = _placed(candidate, check)
    at = [number for number, one in enumerate(placed) if one.member.name in moved]
    ranked = [number for number, one in enumerate(placed) if one.member.name in met]
    ranked = [
        *at[:most],
        *ranked,
        *(number + step for number in at for step in (-1, 1) if 0 <= number + step < len(placed)),
    ]
    shown = sorted(list(dict.fromkeys(ranked))[:most])
    if not shown:
        return ""
    head = ("offset ->", "", *(("line",) if placed[0].lines else ()), "member")
    rows = [head, *(_row(placed[number]) for number in shown)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head) - 1)]
    lines = []
    for before, number, row in zip((-1, -1, *shown), (-1, *shown), rows, strict=False):
        if before >= 0 and number > before + 1:
            lines.append(f"{INDENT}...")
        cells = [cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=True)]
        lines.append(f"{INDENT}{'  '.join((*cells, row[-1]))}")
    return "\n".join(("The layout, before -> after:", "", *lines))


def _placed(candidate: Candidate, check: Verification) -> list[_Placed]:
    """The members in their new order."""
    former = {member.name or member.record: member.offset for member in check.before.moved.members}
    firsts = candidate.firsts or (0, 0)
    aligned = check.before.moved is check.before.outer and all(step % CACHE_LINE_BYTES == 0 for step in check.granules)
    found = []
    for member in check.after.moved.members:
        before = former.get(member.name or member.record)
        places = (member.offset if before is None else before, member.offset)
        lines = [
            (first % CACHE_LINE_BYTES + place) // CACHE_LINE_BYTES for first, place in zip(firsts, places, strict=True)
        ]
        found.append(_Placed(member, (before, member.offset), (lines[0], lines[1]) if aligned else None))
    return found


def _row(one: _Placed) -> tuple[str, ...]:
    before, after = one.bytes
    lines = (f"{one.lines[0]} -> {one.lines[1]}",) if one.lines else ()
    declared = f"{one.member.type} {one.member.declarator}".replace(" * ", " *").strip()
    return (f"{'-' if before is None else before} ->", str(after), *lines, textwrap.shorten(declared, _DECLARATION))
