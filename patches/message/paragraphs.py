# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of the records that hold the changed one by value, for a commit message."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import gcd
from pathlib import Path, PurePosixPath

from linesmith.analyzer.base.text import paragraph
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    ConfigurationCheck,
    Dependency,
    Finding,
    HolderChange,
    Move,
    MoveKind,
    Residual,
    SourceFact,
    SourceScan,
)
from linesmith.analyzer.sharing.triage import doubted
from linesmith.patches.matrix.evidence import paragraphs, unchecked
from linesmith.patches.series.mails import Repository, repository
from linesmith.patches.source.body import Remarks

_MOST = 3


def around(holders: Sequence[HolderChange], *, exact: bool) -> str:
    """A paragraph with the costliest of ``holders``; empty where none gets another size.

    ``exact`` tells that the tree's layouts are those that the sizes are of.
    """
    if not holders:
        return ""
    whose = "" if exact else ", in the build of the ELF file"
    sizes = [f"{one.record} from {one.before} to {one.after} bytes{_in_slabs(one)}" for one in holders[:_MOST]]
    more = len(holders) - _MOST
    others = f", and {more} more" if more > 0 else ""
    return paragraph(f"What holds one by value changes its size with it{whose}: {', '.join(sizes)}{others}.")


def _in_slabs(one: HolderChange) -> str:
    """How many objects its cache has room for in a slab, before and after."""
    if one.memory is None:
        return ""
    before, after = one.memory
    pages = f" of {1 << after.order} pages" if before.order == after.order and after.order else ""
    return f" ({before.objects_per_slab} -> {after.objects_per_slab} in a slab{pages})"


# The code that relies on the order of a record's members, as a paragraph of a message.

_SHOWN = 6
# What a parser does not see: units that the configuration leaves out.
LEFT = "code that the build at hand leaves out"
# Assertions about these are rules of the layout, not facts.
_GROUP_MARK = "__cacheline_group_"


def relied(scan: SourceScan, title: str, facts: Sequence[SourceFact]) -> str:
    """What was looked at, and the places that rely on the order of the members of ``title``, with what they do.

    Candidates are made so that ``facts`` hold. A place of which none of them tells was not checked: it speaks of
    members that the build at hand does not have.
    """
    binding = [one for one in scan.dependencies if one.binds]
    units = f"{scan.units:,} unit{'s' * (scan.units != 1)} that use{'s' * (scan.units == 1)} {title}"
    failed = f" ({len(scan.failed):,} of them with errors)" if scan.failed else ""
    if not binding and not scan.units:
        # A tree that is configured but not built has no units; that none relies on the order would say nothing.
        searched = "only the text of the tree was searched, without a find"
        return paragraph(
            f"The build at hand compiled no unit that uses {title}: for code that relies on the order of "
            f"its members {searched}."
        )
    if not binding:
        return paragraph(f"Nothing in the {units}{failed} was found to rely on the order of its members.")
    known = {fact.place for fact in facts}
    checked = [one for one in binding if one.place in known or any(map(_is_mark, one.members))]
    unchecked = [one for one in binding if one not in checked]
    blocks = []
    if checked:
        rely, hold = ("relies", "holds") if len(checked) == 1 else ("rely", "hold")
        blocks.append((f"{_count(checked)} {rely} on the order of its members, and still {hold}:", checked))
    if unchecked:
        rely, was = ("relies", "was") if len(unchecked) == 1 else ("rely", "were")
        told = f"{_count(unchecked)} {rely} on the order of members that the build at hand does not have, and {was}"
        blocks.append((f"{told} not checked:", unchecked))
    return "\n\n".join(f"{paragraph(f'In the {units}{failed}, {told}')}\n\n{_listed(those)}" for told, those in blocks)


def _count(places: Sequence[Dependency]) -> str:
    return f"{len(places):,} place{'s' * (len(places) != 1)}"


def _is_mark(member: str) -> bool:
    return member.startswith(_GROUP_MARK)


def _listed(places: Sequence[Dependency]) -> str:
    rows = [paragraph(f"  {_place(one)}", then="      ") for one in places[:_SHOWN]]
    more = [f"  {len(places) - _SHOWN} more"] if len(places) > _SHOWN else []
    return "\n".join((*rows, *more))


def _place(one: Dependency) -> str:
    of = f" of {', '.join(one.members[:_SHOWN])}" if one.members else ""
    return f"{one.place}: {one.kind.value}{of}"


# What was checked of a change beyond the configuration at hand, and what that leaves unchecked, for a message.

# Of a profile that is not of the ELF file's build.
OF_ANOTHER_BUILD = "The profile is of another build: its code addresses are not those of the ELF file."
_CODE = "code that relies on the order of members (initialisers by position, ranges from one member to another, casts)"


@dataclass(frozen=True, slots=True)
class Beyond:
    """``configurations`` and ``code`` are blocks of a message, wrapped; empty where nothing was looked at.

    ``builds_left`` and ``code_left`` are clauses: what the checks did not reach. ``profile`` is a sentence about the
    profile where it is of another build than the ELF file.
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


NOTHING_BEYOND = Beyond()


def beyond(
    checks: Sequence[ConfigurationCheck], scan: SourceScan | None, title: str, facts: Sequence[SourceFact]
) -> Beyond:
    """What is said of other configurations and of code, where it was scanned; ``title`` is the record in C.

    ``facts`` are those of the record that the candidate was checked against.
    """
    code, code_left = (relied(scan, title, facts), LEFT) if scan else ("", "")
    return Beyond(paragraphs(checks, title), unchecked(checks), code, code_left)


def is_worse(checks: Sequence[ConfigurationCheck]) -> bool:
    """Whether something compiles no more under one of them, or members meet on a line more often than before.

    So it counts as well where not all was judged in time.
    """
    pairs = (one for check in checks for one in check.residuals if one.line_bytes == CACHE_LINE_BYTES)
    met = any(one.after > one.before for one in pairs)
    return met or any(check.unjudged or any(user.failed for user in check.users) for check in checks)


# Why a member stands where a candidate puts it, in a sentence for the next reader of the source.

_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two direct members that meet less often than before; ``never`` tells that they do so no more."""

    first: str
    second: str
    never: bool

    def other(self, name: str) -> str | None:
        """The partner of ``name``; ``None`` where it is none of both."""
        return {self.first: self.second, self.second: self.first}.get(name)


def why(candidate: Candidate, finding: Finding) -> Remarks:
    """A sentence for each member that the candidate takes off the line of others.

    Where none of the members that move is one of a pair that it parts, the first of them says what it keeps apart.
    Nothing is said of members of which it is in doubt that they were sampled.
    """
    in_doubt = doubted(finding)
    pairs = [pair for pair in _parted(candidate.residuals) if not in_doubt & {pair.first, pair.second}]
    said: dict[str, str] = {}
    for move in candidate.moves:
        for name in _moved(move):
            mine = [pair for pair in pairs if pair.other(name) and pair.other(name) not in said]
            if mine and name not in said:
                said[name] = _sentence(move.kind, name, mine, finding)
    if not said and pairs:
        said[candidate.moves[0].member] = f"Keeps {pairs[0].first} and {pairs[0].second} apart."
    return said


def _parted(residuals: Sequence[Residual]) -> list[_Pair]:
    """Pairs that meet less often than before on lines of the smallest size, each once."""
    size = min((one.line_bytes for one in residuals), default=0)
    found: dict[tuple[str, str], _Pair] = {}
    for one in residuals:
        names = _top(one.first), _top(one.second)
        if one.line_bytes == size and one.after < one.before and names[0] != names[1]:
            found.setdefault(names, _Pair(*names, never=one.after == 0))
    return list(found.values())


def _moved(move: Move) -> tuple[str, ...]:
    names = (*(move.members or (move.member,)), move.partner)
    return tuple(name for name in names if name)


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _sentence(kind: MoveKind, name: str, pairs: Sequence[_Pair], finding: Finding) -> str:
    written = frozenset(member.top for member in finding.members if member.written)
    read = frozenset(member.top for member in finding.members if member.reads)
    others = list(dict.fromkeys(other for pair in pairs if (other := pair.other(name))))
    head = "Kept off the cache line of" if all(pair.never for pair in pairs) else "Kept away from"
    if kind is MoveKind.ALIGN:
        head = "Begins a cache line, away from"
    if finding.objects and finding.objects[0].doubt:
        return f"{head} {_some_names(others)}."
    if name in written and any(other in read for other in others):
        return f"{head} {_some_names(others)}: readers there would wait for writers of this."
    if any(other in written for other in others):
        return f"{head} {_some_names(others)}: readers of this would wait for writers there."
    return f"{head} {_some_names(others)}."


def _some_names(names: Sequence[str]) -> str:
    if len(names) > _NAMES_SHOWN:
        return f"{', '.join(names[:_NAMES_SHOWN])} and {len(names) - _NAMES_SHOWN} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


# How often pairs of members meet on a line, as rows of a message.

# Pairs of members that are listed in any case.
_PAIRS = 6


def pair_rows(residuals: Sequence[Residual], granules: tuple[int, int]) -> list[str]:
    """A row for each of the heaviest pairs, which come first, and for all that meet more often than before.

    Objects start at multiples of ``granules`` bytes before and after the change; each size of a line has its share.
    """
    sizes = line_sizes(residuals)
    pairs = [list(them) for _, them in groupby(residuals, lambda one: (one.first, one.second))]
    shown = [them for at, them in enumerate(pairs) if at < _PAIRS or any(one.after > one.before for one in them)]
    rows = [f"{them[0].first} and {them[0].second}: {_by_size(them, sizes, granules)}" for them in shown]
    if left := len(pairs) - len(shown):
        rows.append(f"{left} more pair{'s' * (left != 1)}: no more often than before")
    return rows


def line_sizes(residuals: Sequence[Residual]) -> tuple[int, ...]:
    """The sizes of lines in bytes, in the order of the columns."""
    return tuple(dict.fromkeys(one.line_bytes for one in residuals))


def _by_size(of_pair: Sequence[Residual], sizes: Sequence[int], granules: tuple[int, int]) -> str:
    """What a pair has for each size of a line."""
    found = {
        one.line_bytes: f"{_share(one.before, one.line_bytes, granules[0])} -> "
        f"{_share(one.after, one.line_bytes, granules[1])}"
        for one in of_pair
    }
    return "; ".join(found.get(size, "not known") for size in sizes)


def _share(share: float, line_bytes: int, granule: int) -> str:
    starts = line_bytes // gcd(line_bytes, granule)
    return f"{round(share * starts)} of {starts}"


# What a candidate is expected to save, for a commit message: with its limits, for the reader has no other figure.


def expectation(candidate: Candidate, finding: Finding, title: str, *, exact: bool) -> str:
    """A paragraph about the contended accesses that go away; empty where none were priced.

    ``title`` is the type as C names it; ``exact`` tells that the tree's layouts are those that the figures are of.
    """
    saving = candidate.saving
    if not saving.before:
        return ""
    counted = "accesses" if finding.simulated else "loads"
    surely = "perhaps" if saving.may_lose or candidate.doubt else "likely"
    most = min(saving.contended.most, saving.before)
    text = (
        f"Predicted{'' if exact else ' for the layout of the ELF file'}: {surely} {saving.likely:,.0f} of the"
        f" {saving.before:,.0f} contended {counted} of {title} go away ({saving.contended.least:,.0f} to {most:,.0f})."
    )
    text += " By these limits it may also lose." if saving.may_lose else ""
    if not finding.stores and not finding.simulated:
        text += " No store was sampled on the line, so how often its members are written is not known."
    return paragraph(text)


# How a commit's subject begins: as the tree's own history has it for the file, else by a rule on its path.

_SUBJECT = re.compile(r"([A-Za-z][\w/.,+-]{0,30}(?: [\w/.,+-]{1,20})?): (\S)")
_GENERAL = frozenset(("treewide", "revert", "merge", "tree-wide"))
_COMMITS = 30
# One commit is chance; two with one prefix are a habit.
_HABIT = 2


@dataclass(frozen=True, slots=True)
class Style:
    """The words in front of a subject, and whether what follows begins with a capital letter."""

    prefix: str
    capital: bool = False

    def subject(self, text: str) -> str:
        """``text``, an imperative in lower case, as the first line of a message."""
        return f"{self.prefix}: {text[:1].upper() if self.capital else text[:1]}{text[1:]}"


def style(tree: Path, file: str) -> Style:
    """What is most usual for ``file`` in its last 30 commits, else for its folder, else ``prefix_by_path``."""
    known = repository(tree)
    found = (_habit(known, path) for path in _paths(file)) if known and known.head else ()
    return next((one for one in found if one), Style(prefix_by_path(file)))


def prefix(tree: Path, file: str) -> str:
    """The words in front of the subject of a change of ``file``."""
    return style(tree, file).prefix


def prefix_by_path(file: str) -> str:
    """The last folder of the path, without ``include/linux``; a header right there gives its name up to ``_``.

    ``include/linux/fs.h`` gives ``fs``, ``include/linux/mm_types.h`` ``mm``, ``include/net/tcp.h`` ``net``,
    ``kernel/sched/sched.h`` ``sched``.
    """
    path = PurePosixPath(file)
    folders = [part for part in path.parent.parts if part not in ("include", "linux", "src", "asm")]
    return folders[-1] if folders else path.stem.partition("_")[0]


def _paths(file: str) -> Iterator[str]:
    """The file, then its folder where that belongs to one subsystem."""
    yield file
    folder = PurePosixPath(file).parent
    if folder.name not in ("", "include", "linux", "src"):
        yield str(folder)


def _habit(known: Repository, path: str) -> Style | None:
    told = known.answer("log", "--no-show-signature", "-n", str(_COMMITS), "--no-merges", "--format=%s", "--", path)
    matches = [match for match in map(_SUBJECT.match, told.splitlines()) if match and _is_of_one(match[1])]
    most = Counter(match[1] for match in matches).most_common(1)
    if not most or most[0][1] < _HABIT:
        return None
    first = [match[2] for match in matches if match[1] == most[0][0]]
    return Style(most[0][0], sum(letter.isupper() for letter in first) * 2 > len(first))


def _is_of_one(prefix: str) -> bool:
    """Whether a prefix names one part of the tree."""
    return prefix.lower() not in _GENERAL
