# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a commit message: how a subject begins, what the moves do, why, what is expected, what else was checked.

A subject begins as the tree's own history has it for the file, else by a rule on its path. The remark that a patch puts
beside a member is worded here, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import gcd
from pathlib import Path, PurePosixPath

from linesmith.analyzer.base.text import listed, paragraph
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    CoherenceStep,
    ConfigurationCheck,
    Dependency,
    Finding,
    HolderChange,
    Move,
    MoveKind,
    Residual,
    SourceFact,
    SourceScan,
    StepTable,
)
from linesmith.patches.matrix.evidence import paragraphs, unchecked
from linesmith.patches.series.mails import repository
from linesmith.patches.source.body import Remarks

INDENT = "  "
# Holders, places in the source, pairs of members and names that are listed; pairs that meet more often are in any case.
_HOLDERS = 3
_PLACES = 6
_PAIRS = 6
_NAMES = 3
# What a parser does not see: units that the configuration leaves out.
LEFT = "code that the build at hand leaves out"
# Of a profile that is not of the ELF file's build.
OF_ANOTHER_BUILD = "The profile is of another build: its code addresses are not those of the ELF file."
_CODE = "code that relies on the order of members (initialisers by position, ranges from one member to another, casts)"
# Assertions about these are rules of the layout, not facts.
_GROUP_MARK = "__cacheline_group_"
_WHY = (
    "Why: CPU A writes a member, CPU B waits for another one that lies on the same line. What each access finds, "
    "before -> after (cycles are the profile's where it has them):"
)

_SUBJECT = re.compile(r"([A-Za-z][\w/.,+-]{0,30}(?: [\w/.,+-]{1,20})?): (\S)")
_GENERAL = frozenset(("treewide", "revert", "merge", "tree-wide"))
_COMMITS = 30
# One commit is chance; two with one prefix are a habit.
_HABIT = 2


@dataclass(frozen=True, slots=True)
class SubjectStyle:
    """The words in front of a subject, and whether what follows begins with a capital letter."""

    prefix: str
    capital: bool = False

    def subject(self, text: str) -> str:
        """``text``, an imperative in lower case, as the first line of a message."""
        return f"{self.prefix}: {text[:1].upper() if self.capital else text[:1]}{text[1:]}"


def style(tree: Path, file: str) -> SubjectStyle:
    """What is most usual for ``file`` in its last 30 commits, else for its folder, else by the path.

    The folder counts where it belongs to one subsystem.
    """
    known = repository(tree)
    if known is None or not known.head:
        return SubjectStyle(_prefix_by_path(file))
    folder = PurePosixPath(file).parent
    shared = folder.name in ("", "include", "linux", "src")
    for path in (file, *([] if shared else [str(folder)])):
        log = known.answer("log", "--no-show-signature", "-n", str(_COMMITS), "--no-merges", "--format=%s", "--", path)
        subjects = [match for match in map(_SUBJECT.match, log.splitlines()) if match]
        matches = [match for match in subjects if match[1].lower() not in _GENERAL]
        most = Counter(match[1] for match in matches).most_common(1)
        if most and most[0][1] >= _HABIT:
            first = [match[2] for match in matches if match[1] == most[0][0]]
            return SubjectStyle(most[0][0], sum(letter.isupper() for letter in first) * 2 > len(first))
    return SubjectStyle(_prefix_by_path(file))


def _prefix_by_path(file: str) -> str:
    """The last folder of the path, without ``include/linux``; a header right there gives its name up to ``_``.

    ``include/linux/fs.h`` gives ``fs``, ``include/linux/mm_types.h`` ``mm``, ``include/net/tcp.h`` ``net``,
    ``kernel/sched/sched.h`` ``sched``.
    """
    path = PurePosixPath(file)
    folders = [part for part in path.parent.parts if part not in ("include", "linux", "src", "asm")]
    return folders[-1] if folders else path.stem.partition("_")[0]


def move_clause(move: Move) -> str:
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


def message_rows(rows: Iterable[str]) -> str:
    """Rows of a message, one below the other."""
    return "\n".join(paragraph(f"{INDENT}{row}", then=3 * INDENT) for row in rows)


def change_text(moves: Sequence[Move], before: int, after: int) -> str:
    """What the moves do, and the size in bytes before and after them."""
    size = f"The size stays {after} bytes." if before == after else f"The size goes from {before} to {after} bytes."
    text = "; ".join(move_clause(move) for move in moves)
    return paragraph(f"{text[0].upper()}{text[1:]}. {size}")


def resized_holders(holders: Sequence[HolderChange], *, exact: bool) -> str:
    """A paragraph with the costliest of the records that hold the changed one; empty where none gets another size.

    ``exact`` tells that the tree's layouts are those that the sizes are of.
    """
    if not holders:
        return ""
    whose = "" if exact else ", in the build of the ELF file"
    sizes = []
    for one in holders[:_HOLDERS]:
        slabs = ""
        if one.memory is not None:
            before, after = one.memory
            pages = f" of {1 << after.order} pages" if before.order == after.order and after.order else ""
            slabs = f" ({before.objects_per_slab} -> {after.objects_per_slab} in a slab{pages})"
        sizes.append(f"{one.record} from {one.before} to {one.after} bytes{slabs}")
    more = f", and {len(holders) - _HOLDERS} more" if len(holders) > _HOLDERS else ""
    return paragraph(f"What holds one by value changes its size with it{whose}: {', '.join(sizes)}{more}.")


def expectation(candidate: Candidate, finding: Finding, title: str, *, exact: bool) -> str:
    """A paragraph about the contended accesses that go away; empty where none were priced.

    ``title`` is the type as C names it; ``exact`` tells that the tree's layouts are those that the figures are of.
    """
    found = candidate.judgement
    if not found.before:
        return ""
    counted = "misses" if found.runs == 1 else f"contended {'accesses' if finding.simulated else 'loads'}"
    how = f"Replayed{'' if exact else ' for the layout of the ELF file'}"
    perhaps = "perhaps " if candidate.doubt else ""
    text = (
        f"{how}: {perhaps}{found.saved:,.0f} of the {found.before:,.0f} {counted} on all lines of {title} go away"
        f" ({found.change:+.1%}, 80 % interval {found.interval.low:+.1%} to {found.interval.high:+.1%})."
    )
    if not finding.stores and not finding.simulated:
        text += " No store was sampled on the line, so how often its members are written is not known."
    return paragraph(text)


def reasons(tables: Sequence[StepTable]) -> str:
    """The accesses that wait for nothing now and no longer then, as a paragraph and rows; empty where none do."""
    helped = [one for one in tables if any(step.needless for step in one.before) and one.cycles[1] < one.cycles[0]]
    rows = []
    for now, then in (pair for one in helped for pair in zip(one.before, one.after, strict=True)):
        access = f"{now.function or 'somebody'} {'writes' if now.writes else 'reads'} {now.member}"
        rows.append(f"{now.cpu}: {access}: {_result(now)} -> {_result(then)}")
    return f"{paragraph(_WHY)}\n\n{message_rows(dict.fromkeys(rows))}" if rows else ""


def _result(step: CoherenceStep) -> str:
    return f"{step.what}, {step.cycles} cycles" if step.cycles and not step.writes else step.what


def pair_rows(residuals: Sequence[Residual], granules: tuple[int, int]) -> list[str]:
    """A row for each of the heaviest pairs, which come first, and for all that meet more often than before.

    Objects start at multiples of ``granules`` bytes before and after the change; each size of a line has its share.
    """
    sizes = line_sizes(residuals)
    pairs = [list(them) for _, them in groupby(residuals, lambda one: (one.first, one.second))]
    shown = [them for at, them in enumerate(pairs) if at < _PAIRS or any(one.after > one.before for one in them)]
    rows = []
    for them in shown:
        shares = {one.line_bytes: _shares(one, granules) for one in them}
        by_size = "; ".join(shares.get(size, "not known") for size in sizes)
        rows.append(f"{them[0].first} and {them[0].second}: {by_size}")
    if left := len(pairs) - len(shown):
        rows.append(f"{left} more pair{'s' * (left != 1)}: no more often than before")
    return rows


def line_sizes(residuals: Sequence[Residual]) -> tuple[int, ...]:
    """The sizes of lines in bytes, in the order of the columns."""
    return tuple(dict.fromkeys(one.line_bytes for one in residuals))


def _shares(one: Residual, granules: tuple[int, int]) -> str:
    """In how many of the possible starts the pair meets, before and after: ``7 of 8 -> 0 of 8``."""
    sides = zip((one.before, one.after), granules, strict=True)
    starts = [(share, one.line_bytes // gcd(one.line_bytes, granule)) for share, granule in sides]
    return " -> ".join(f"{round(share * count)} of {count}" for share, count in starts)


@dataclass(frozen=True, slots=True)
class FurtherChecks:
    """What was checked of a change besides the configuration at hand.

    ``configurations`` and ``code`` are parts of a message, wrapped; empty where nothing was looked at. ``builds_left``
    and ``code_left`` are clauses: what the checks did not reach. ``profile`` is a sentence about the profile where it
    is of another build than the ELF file.
    """

    configurations: str = ""
    builds_left: str = ""
    code: str = ""
    code_left: str = ""
    profile: str = ""

    def other_builds(self, usual: str) -> str:
        """The builds that were not checked: ``usual`` where none but the one at hand was."""
        return self.builds_left if self.configurations else usual

    def other_code(self) -> str:
        """The code that was not looked at."""
        return self.code_left if self.code else self.code_left or _CODE


NO_FURTHER_CHECKS = FurtherChecks()


def further_checks(
    checks: Sequence[ConfigurationCheck], scan: SourceScan | None, title: str, facts: Sequence[SourceFact]
) -> FurtherChecks:
    """What is said of other configurations and of code, where it was scanned; ``title`` is the record in C.

    ``facts`` are those of the record that the candidate was checked against.
    """
    code, code_left = (_relied(scan, title, facts), LEFT) if scan else ("", "")
    return FurtherChecks(paragraphs(checks, title), unchecked(checks), code, code_left)


def is_worse(checks: Sequence[ConfigurationCheck]) -> bool:
    """Whether something compiles no more under one of them, or members meet on a line more often than before.

    So it counts as well where not all was judged in time.
    """
    pairs = (one for check in checks for one in check.residuals if one.line_bytes == CACHE_LINE_BYTES)
    met = any(one.after > one.before for one in pairs)
    return met or any(check.unjudged or any(user.failed for user in check.users) for check in checks)


def _relied(scan: SourceScan, title: str, facts: Sequence[SourceFact]) -> str:
    """What was looked at, and the places that rely on the order of the members of ``title``, with what they do.

    Candidates are made so that ``facts`` hold. A place of which none of them tells was not checked: it speaks of
    members that the build at hand does not have.
    """
    binding = [one for one in scan.dependencies if one.binds]
    units = f"{scan.units:,} unit{'s' * (scan.units != 1)} that use{'s' * (scan.units == 1)} {title}"
    failed = f" ({len(scan.failed):,} of them with errors)" if scan.failed else ""
    if not binding and not scan.units:
        # A tree that is configured but not built has no units; that none relies on the order would say nothing.
        return paragraph(
            f"The build at hand compiled no unit that uses {title}: for code that relies on the order of "
            "its members only the text of the tree was searched, without a find."
        )
    if not binding:
        return paragraph(f"Nothing in the {units}{failed} was found to rely on the order of its members.")
    known = {fact.place for fact in facts}
    checked = [
        one for one in binding if one.place in known or any(member.startswith(_GROUP_MARK) for member in one.members)
    ]
    missed = [one for one in binding if one not in checked]
    blocks = []
    if checked:
        rely, hold = ("relies", "holds") if len(checked) == 1 else ("rely", "hold")
        blocks.append((checked, f"{rely} on the order of its members, and still {hold}:"))
    if missed:
        rely, was = ("relies", "was") if len(missed) == 1 else ("rely", "were")
        absent = "on the order of members that the build at hand does not have"
        blocks.append((missed, f"{rely} {absent}, and {was} not checked:"))
    parts = []
    for places, text in blocks:
        counted = f"{len(places):,} place{'s' * (len(places) != 1)}"
        parts += [paragraph(f"In the {units}{failed}, {counted} {text}"), _places(places)]
    return "\n\n".join(parts)


def _places(places: Sequence[Dependency]) -> str:
    rows = []
    for one in places[:_PLACES]:
        of = f" of {', '.join(one.members[:_PLACES])}" if one.members else ""
        rows.append(f"{one.place}: {one.kind.value}{of}")
    more = [f"{INDENT}{len(places) - _PLACES} more"] if len(places) > _PLACES else []
    return "\n".join((message_rows(rows), *more))


def remarks_on(candidate: Candidate, finding: Finding) -> Remarks:
    """A sentence for each member that the candidate takes off the line of others, for the next reader of the source.

    Where none of the members that move is one of a pair that it parts, the first of them says what it keeps apart.
    """
    pairs = _separated(candidate.residuals)
    found: dict[str, str] = {}
    for move in candidate.moves:
        for name in filter(None, (*(move.members or (move.member,)), move.partner)):
            others = [(one, {one.first, one.second} - {name}) for one in pairs if name in (one.first, one.second)]
            mine = [(pair, other) for pair, (other,) in others if other not in found]
            if mine and name not in found:
                found[name] = _remark(move.kind, name, mine, finding)
    if not found and pairs:
        found[candidate.moves[0].member] = f"Keeps {pairs[0].first} and {pairs[0].second} apart."
    return found


def _separated(residuals: Sequence[Residual]) -> list[Residual]:
    """Pairs of direct members that meet less often than before on lines of the smallest size, each once."""
    size = min((one.line_bytes for one in residuals), default=0)
    found: dict[tuple[str, str], Residual] = {}
    for one in residuals:
        names = [path.partition(".")[0].partition("[")[0] for path in (one.first, one.second)]
        if one.line_bytes == size and one.after < one.before and names[0] != names[1]:
            found.setdefault((names[0], names[1]), replace(one, first=names[0], second=names[1]))
    return list(found.values())


def _remark(kind: MoveKind, name: str, pairs: Sequence[tuple[Residual, str]], finding: Finding) -> str:
    written = frozenset(member.top for member in finding.members if member.written)
    read = frozenset(member.top for member in finding.members if member.reads)
    others = list(dict.fromkeys(other for _, other in pairs))
    head = "Kept off the cache line of" if all(pair.after == 0 for pair, _ in pairs) else "Kept away from"
    if kind is MoveKind.ALIGN:
        head = "Begins a cache line, away from"
    names = listed(others, _NAMES)
    if len(others) <= _NAMES:
        names = " and ".join(filter(None, (", ".join(others[:-1]), others[-1])))
    if finding.objects and finding.objects[0].doubt:
        return f"{head} {names}."
    if name in written and any(other in read for other in others):
        return f"{head} {names}: readers there would wait for writers of this."
    if any(other in written for other in others):
        return f"{head} {names}: readers of this would wait for writers there."
    return f"{head} {names}."
