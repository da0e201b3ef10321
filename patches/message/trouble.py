# SPDX-License-Identifier: GPL-2.0-or-later
"""What a commit message begins with: which members meet on the line, who reads and writes them, and how often.

With the layout before and after: a table of the members concerned and of those next to them.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

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
        program, *words = recording.command or ("",)
        command = textwrap.shorten(shlex.join((Path(program).name, *words)), _COMMAND, placeholder="...")
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
    """The pairs of direct members that meet less often than before on lines of the smallest size, each once."""
    size = min((one.line_bytes for one in residuals), default=0)
    found: dict[tuple[str, str], Residual] = {}
    for one in residuals:
        first, second = (path.partition(".")[0].partition("[")[0] for path in (one.first, one.second))
        if one.line_bytes == size and one.after < one.before and first != second:
            found.setdefault((first, second), replace(one, first=first, second=second))
    return list(found.values())


def joined(names: Sequence[str], most: int) -> str:
    """``a, b and c``; names beyond ``most`` are counted."""
    if len(names) > most:
        return listed(names, most)
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


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
    """A sentence about the pairs that the change separates, or that meet on the line: who waits for whose stores.

    Those of replay come first, by the misses that they save.
    """
    saved = [one for one in candidate.judgement.pairs if one.after < one.before and not one.true_sharing]
    replayed = [(one.victim, one.writer) for one in saved if one.victim != one.writer and "." not in one.writer]
    apart = [(one.first, one.second) for one in separated(candidate.residuals)]
    met = [(one.reader, one.writer) for one in finding.triage.pairs]
    pairs = replayed or [pair for pair in met if pair in apart or pair[::-1] in apart] or apart or met
    if not pairs:
        return ""
    written = {member.top for member in finding.members if member.written} | {writer for _, writer in replayed}
    writer = next((name for name in pairs[0][::-1] if name in written), pairs[0][1])
    names = (name for pair in pairs if writer in pair for name in pair if name != writer)
    others = list(dict.fromkeys(names))
    shares = "share" if len(others) > 1 else "shares"
    both = others[0] in written and len(others) == 1
    does = "and both are written" if both else "which is written" if writer in written else ""
    return f"{joined(others, _MEMBERS)} {shares} a cache line with {writer}{f', {does}' if does else ''}."


def _members(finding: Finding, concerned: set[str]) -> Iterator[str]:
    """A row for each member: those ``concerned``, then by how often they are contended."""
    groups: dict[str, list[LineMember]] = {}
    for one in finding.members:
        groups.setdefault(one.top, []).append(one)
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


def layout_excerpt(candidate: Candidate, check: Verification, most: int) -> str:
    """At most ``most`` members in their new order: those that move, those that meet, and what moved ones come next to.

    Each with its offset before and after and, where objects begin at a known place of a line, with its line.
    """
    moved = {name for move in candidate.moves for name in (*(move.members or (move.member,)), move.partner) if name}
    met = {name for one in separated(candidate.residuals) for name in (one.first, one.second)}
    members = check.after.moved.members
    at = [number for number, one in enumerate(members) if one.name in moved]
    beside = [number + step for number in at for step in (-1, 1) if 0 <= number + step < len(members)]
    ranked = (*at[:most], *(number for number, one in enumerate(members) if one.name in met), *beside)
    shown = sorted(list(dict.fromkeys(ranked))[:most])
    if not shown:
        return ""
    former = {one.name or one.record: one.offset for one in check.before.moved.members}
    firsts = _first_bytes(candidate, check)
    head = ("offset ->", "", *(("line",) if firsts else ()), "member")
    rows = [head, *(_row(members[one], former.get(members[one].name or members[one].record), firsts) for one in shown)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head) - 1)]
    lines = []
    for before, number, row in zip((-1, -1, *shown), (-1, *shown), rows, strict=False):
        if before >= 0 and number > before + 1:
            lines.append(f"{INDENT}...")
        cells = [cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=True)]
        lines.append(f"{INDENT}{'  '.join((*cells, row[-1]))}")
    return "\n".join(("The layout, before -> after:", "", *lines))


def _first_bytes(candidate: Candidate, check: Verification) -> tuple[int, int] | None:
    """The byte of a line at which objects begin, before and after; ``None`` where there are several."""
    if check.before.moved is not check.before.outer or any(step % CACHE_LINE_BYTES for step in check.granules):
        return None
    first, second = candidate.firsts or (0, 0)
    return first % CACHE_LINE_BYTES, second % CACHE_LINE_BYTES


def _row(member: Member, before: int | None, firsts: tuple[int, int] | None) -> tuple[str, ...]:
    was = member.offset if before is None else before
    places = zip(firsts or (), (was, member.offset), strict=False)
    lines = " -> ".join(str((first + offset) // CACHE_LINE_BYTES) for first, offset in places)
    declared = textwrap.shorten(f"{member.type} {member.declarator}".replace(" * ", " *").strip(), _DECLARATION)
    return (f"{'-' if before is None else before} ->", str(member.offset), *([lines] if lines else []), declared)
