# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a commit message: how a subject begins, what the moves do and save, what they cost, what was checked.

A subject begins as the tree's own history has it for the file, else by a rule on its path. The comment that a patch
writes above a member is worded here, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd
from pathlib import Path, PurePosixPath

from linesmith.analyzer.base.text import listed, paragraph, with_span
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    ConfigurationCheck,
    Dependency,
    Finding,
    Judgement,
    Move,
    MoveKind,
    Residual,
    SourceFact,
    SourceScan,
)
from linesmith.analyzer.sharing.parts import users_of
from linesmith.patches.edit.verify import Verification
from linesmith.patches.matrix.evidence import paragraphs, summary, unchecked
from linesmith.patches.message.trouble import INDENT, bounds, is_judged, joined, separated, things
from linesmith.patches.series.mails import repository
from linesmith.patches.source.body import Remarks

# Holders, places in the source, pairs of members, moves and names that are listed.
_HOLDERS = 2
_PLACES = 6
_PAIRS = 3
_MOVES = 4
_NAMES = 3
# What a parser does not see: units that the configuration leaves out.
LEFT = "code that this build leaves out"
CODE = "code that relies on the order of members"
# Assertions about these are rules of the layout, not facts.
_GROUP_MARK = "__cacheline_group_"

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


def message_rows(rows: Iterable[str]) -> str:
    """Rows of a message, one below the other."""
    return "\n".join(paragraph(f"{INDENT}{row}", then=3 * INDENT) for row in rows)


def moves_text(moves: Sequence[Move]) -> str:
    """What the moves do, as a sentence."""
    clauses = [move.clause for move in moves[:_MOVES]]
    if len(moves) > _MOVES:
        clauses.append(f"{len(moves) - _MOVES} more moves")
    text = "; ".join(clauses)
    return f"{text[0].upper()}{text[1:]}."


def saving(found: Judgement, finding: Finding, *, exact: bool) -> str:
    """A sentence about what replay says that the change saves, of all misses of the profile; empty without a replay.

    ``exact`` tells that the tree's layouts are those that were replayed.
    """
    if not is_judged(found):
        return ""
    basis = "the recorded accesses" if found.runs == 1 else f"{found.runs} runs reconstructed from the profile"
    layouts = "" if exact else " with the layouts of the ELF file"
    verb = "saves" if found.saved >= 0 else "adds"
    share, interval = with_span(*bounds(found))
    return (
        f"This {verb} {share} of the {things(found, finding)} of the {finding.whole} (80% interval {interval}):"
        f" {abs(found.saved):,.0f} of {found.whole:,.0f},"
        f" estimated by replaying {basis}{layouts}."
    )


def starts_text(
    residuals: Sequence[Residual], granules: tuple[int, int], title: str, holders: Sequence[str] = ()
) -> str:
    """In how many possible starts of an object members share a line: pairs that meet less often, or more often.

    Empty where objects can start at one place of a line only, so that the layout tells. ``title`` is the record in C,
    ``holders`` those that it is embedded in.
    """
    size = min((one.line_bytes for one in residuals), default=CACHE_LINE_BYTES)
    if all(granule % size == 0 for granule in granules):
        return ""
    less = separated(residuals)
    more = [one for one in residuals if one.line_bytes == size and one.after > one.before]
    rows = list[str]()
    for one in (*less[:_PAIRS], *more[:_PAIRS]):
        old, new = (one.line_bytes // gcd(one.line_bytes, granule) for granule in granules)
        shares = f"{round(one.before * old)} of {old} -> {round(one.after * new)} of {new}"
        rows.append(f"{one.first} and {one.second}: {shares}")
    if left := len(less[_PAIRS:]) + len(more[_PAIRS:]):
        rows.append(
            f"{left} more pair{'s' * (left != 1)}{f', {len(more[_PAIRS:])} more often' if more[_PAIRS:] else ''}"
        )
    if not rows:
        return ""
    embedded = f"is embedded in {listed(holders, 1)} and " if holders else ""
    starts = f"{embedded}starts at multiples of {granules[0]} bytes"
    offsets = f"the {size // gcd(size, granules[0])} offsets"
    if granules[0] != granules[1]:
        starts, offsets = f"{starts}, with the change of {granules[1]} bytes", "the offsets"
    head = f"{title} {starts}. Of {offsets} at which it can start in a {size}-byte line, these share a line:"
    return f"{paragraph(head)}\n\n{message_rows(rows)}"


def cost_text(candidate: Candidate, check: Verification) -> str:
    """Size, slab and memory before and after, of the record and of those that hold one by value."""
    before, after = check.before.outer.size, check.after.outer.size
    said = [f"The size stays {after} bytes" if before == after else f"The size goes from {before} to {after} bytes"]
    pairs = [(old, new) for old, new in zip(*candidate.memory, strict=False)]
    if pairs:
        old, new = max(pairs, key=lambda pair: pair[1].pages_per_1000 - pair[0].pages_per_1000)
        if old.pages_per_1000 == new.pages_per_1000:
            said.append("its slab caches take no more memory")
        else:
            said.append(f"1,000 objects of {new.cache} take {old.pages_per_1000} -> {new.pages_per_1000} pages")
    holders = [f"{one.record} {one.before} -> {one.after} bytes" for one in candidate.holders]
    if holders:
        said.append(f"what holds one grows with it: {listed(holders, _HOLDERS)}")
    text = f"{'; '.join(said)}."
    size = paragraph(f"{text} {candidate.split}".rstrip())
    if not candidate.loose or check.granules[1] == check.after.granule:
        return size
    are = "are" if len(candidate.loose) > 1 else "is"
    again = " as before" if check.granules[0] == check.granules[1] else ""
    loose = f"{joined(candidate.loose, _NAMES)} {are} created without this alignment, so objects there start at any"
    return f"{size}\n\n{paragraph(f'{loose} multiple of {check.granules[1]} bytes{again}.')}"


@dataclass(frozen=True, slots=True)
class FurtherChecks:
    """What was checked of a change besides the configuration at hand.

    ``configurations`` and ``code`` are a sentence or two each, empty where nothing was looked at; ``details`` are for
    reviewers, wrapped. ``builds_left`` and ``code_left`` are clauses: what the checks did not reach.
    """

    configurations: str = ""
    builds_left: str = ""
    code: str = ""
    code_left: str = ""
    details: str = ""


NO_FURTHER_CHECKS = FurtherChecks()


def further_checks(
    checks: Sequence[ConfigurationCheck], scan: SourceScan | None, title: str, facts: Sequence[SourceFact]
) -> FurtherChecks:
    """What the message has on other configurations and of code, where it was scanned; ``title`` is the record in C.

    ``facts`` are those of the record that the candidate was checked against.
    """
    known = {fact.place for fact in facts}
    binding = [one for one in scan.dependencies if one.binds] if scan else []
    missed = [
        one
        for one in binding
        if one.place not in known and not any(name.startswith(_GROUP_MARK) for name in one.members)
    ]
    held = [one for one in binding if one not in missed]
    blocks = [paragraphs(checks, title)]
    blocks += [f"{title}: relies on the order of members, which holds:\n{_places(held)}"] if held else []
    if missed:
        blocks.append(f"{title}: relies on members that this build does not have, not checked:\n{_places(missed)}")
    left = f"{LEFT}, and {len(missed)} place{'s' * (len(missed) != 1)} there relying on it" if missed else LEFT
    return FurtherChecks(
        summary(checks),
        unchecked(checks),
        _code(scan, title, len(held)) if scan else "",
        left if scan else "",
        "\n\n".join(block for block in blocks if block),
    )


def is_worse(checks: Sequence[ConfigurationCheck]) -> bool:
    """Whether something compiles no more under one of them, or members meet on a line more often than before.

    So it counts as well where not all was judged in time.
    """
    pairs = (one for check in checks for one in check.residuals if one.line_bytes == CACHE_LINE_BYTES)
    met = any(one.after > one.before for one in pairs)
    return met or any(check.unjudged or any(user.failed for user in check.users) for check in checks)


def _code(scan: SourceScan, title: str, held: int) -> str:
    """How much code was searched for what relies on the order of members, and what of that still holds."""
    if not scan.units:
        # A tree that is configured but not built has no units; that none relies on the order would say nothing.
        found = f"{held} place{'s' * (held != 1)}, which still hold{'s' * (held == 1)}" if held else "none"
        return (
            "Searched the sources for offsetof(), positional initialisers and memcpy()/memset() of ranges of"
            f" members: {found}."
        )
    failed = f" ({len(scan.failed):,} of them with errors)" if scan.failed else ""
    units = f"the {scan.units:,} unit{'s' * (scan.units != 1)} that use{'s' * (scan.units == 1)} {title}{failed}"
    if not held:
        return f"Nothing in {units} relies on the order of its members."
    return f"In {units}, {held} place{'s' * (held != 1)} rel{'y' if held > 1 else 'ies'} on the order; it still holds."


def _places(places: Sequence[Dependency]) -> str:
    rows = []
    for one in places[:_PLACES]:
        of = f" of {', '.join(one.members[:_PLACES])}" if one.members else ""
        rows.append(f"{one.place}: {one.kind.value}{of}")
    more = [f"{INDENT}{len(places) - _PLACES} more"] if len(places) > _PLACES else []
    return "\n".join((message_rows(rows), *more))


def remarks_on(candidate: Candidate, finding: Finding) -> Remarks:
    """A sentence for each member that the candidate takes off the line of others, for the next reader of the source.

    None stands twice in a record. Where none of the members that move is one of a pair that they separate, the first
    of them says what it separates.
    """
    pairs = separated(candidate.residuals)
    found: dict[str, str] = {}
    for move in candidate.moves:
        for name in filter(None, (*(move.members or (move.member,)), move.partner)):
            others = [(one, {one.first, one.second} - {name}) for one in pairs if name in (one.first, one.second)]
            mine = [(pair, other) for pair, (other,) in others if other not in found]
            if mine and name not in found:
                found[name] = _remark(move.kind, name, mine, finding)
    # One of several that say the same; those that give no reason only where none does.
    first = {text: name for name, text in reversed(found.items())}
    reasoned = {text: name for text, name in first.items() if "ritten" in text}
    found = {name: text for text, name in (reasoned or first).items()}
    if not found and (one := next((pair for pair in pairs if not pair.after), None)):
        writers = {name: _writers(name, finding) for name in (one.first, one.second)}
        name = next((name for name, by in writers.items() if by), one.second)
        other = one.first if name == one.second else one.second
        written = f", written{writers[name]}," if writers[name] else ""
        found[candidate.moves[0].member] = f"Keeps {name}{written} off the cache line of {other}."
    return found


def _remark(kind: MoveKind, name: str, pairs: Sequence[tuple[Residual, str]], finding: Finding) -> str:
    others = list(dict.fromkeys(other for _, other in pairs))
    away = "off the cache line of" if all(pair.after == 0 for pair, _ in pairs) else "away from"
    head = ""
    if kind is MoveKind.ALIGN:
        head, away = "Starts a cache line, ", away.replace("the cache line", "that")
    names = joined(others, _NAMES)
    if by := _writers(name, finding):
        text = f"{head}written{by}; {away} {names}."
    else:
        writer = next((by for by in (_writers(other, finding) for other in others) if by), "")
        text = f"{head}{away} {names}{f', written{writer}' if writer else ''}".removesuffix(".") + "."
    return f"{text[0].upper()}{text[1:]}"


def _writers(name: str, finding: Finding) -> str:
    """By whom a member is written: `` by f() etc.``; empty where nobody is known to, or the record is uncertain."""
    members = [one for one in finding.members if one.top == name]
    if (finding.objects and finding.objects[0].doubt) or not any(one.written for one in members):
        return ""
    functions = users_of(name, members, writing=True)
    return f" by {functions[0]}(){' etc.' * (len(functions) > 1)}" if functions else " often"
