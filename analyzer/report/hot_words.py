# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a record in the table of ``hot``: which members meet, who writes them, what can help; and a paragraph.

A miss is between two members, or on one that several CPUs write. Members that miss for stores to the same one are a
group, and elements of one array are one member.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import Bounds, LineMember, TriageKind
from linesmith.analyzer.report.findings import count_range
from linesmith.analyzer.report.prose import counted, prose
from linesmith.analyzer.sharing.records import RecordContention, RecordPair, functions_of

# Members of a group in a row and in the paragraph; groups, functions, members to move away from.
MOST_VICTIMS, MOST_NAMED, MOST_GROUPS, MOST_FUNCTIONS, MOST_OTHERS = 2, 6, 2, 3, 2
# A group with less of the misses of the heaviest is not named; a share that is less is not 0.0%.
LEAST_GROUP, _LEAST_SHARE = 0.01, 0.0005
_INDEX = re.compile(r"\[\d+\]")
_COUNTER = re.compile(r"count|refs?\b|usage|users|nr_|num|total|bytes|stat|cum_|hits|packets|_cnt")
_OF_OTHER = " of "
_NEIGHBOUR = re.compile(r"(?<= of the )(.+?) at (-?)0x[0-9a-f]+\Z")
_REMEDIES = {
    TriageKind.LOCK_CONTENTION: "shard {}",
    TriageKind.SEVERAL_OBJECTS: "align each to a line of its own",
    TriageKind.ADJACENT_LINE: "align to 128 bytes",
    TriageKind.STRADDLE: "move it off the boundary of two lines",
    TriageKind.NO_WRITER: "sample stores, too",
}


@dataclass(frozen=True, slots=True)
class PairGroup:
    """``pairs`` of one ``writer``; of ``itself`` where the member that misses is the one that is written."""

    writer: str
    itself: bool
    pairs: tuple[RecordPair, ...]

    @property
    def victims(self) -> tuple[str, ...]:
        """The members that miss, heaviest first."""
        return tuple(dict.fromkeys(_INDEX.sub("[]", pair.victim) for pair in self.pairs))

    @property
    def contended(self) -> Bounds:
        """The misses of all."""
        return sum((pair.contended for pair in self.pairs), Bounds())


def _groups(one: RecordContention) -> list[PairGroup]:
    """The heaviest groups of a record."""
    found: dict[tuple[str, bool], list[RecordPair]] = {}
    for pair in one.pairs:
        writer = _INDEX.sub("[]", pair.writer)
        found.setdefault((writer, _INDEX.sub("[]", pair.victim) == writer), []).append(pair)
    groups = [PairGroup(writer, itself, tuple(pairs)) for (writer, itself), pairs in found.items()]
    groups.sort(key=lambda group: -group.contended.most)
    return [one for one in groups[:MOST_GROUPS] if one.contended.most >= LEAST_GROUP * groups[0].contended.most]


def members_that_meet(one: RecordContention) -> str:
    """Who misses after stores to whom, and which function makes them: the heaviest groups."""
    words = []
    named: set[str] = set()
    for group in _groups(one):
        function = next((pair.function for pair in group.pairs if pair.function), "")
        by = f", in {function}" if function and group.writer not in named else ""
        if group.itself:
            words.append(f"{_leaf(one, group.writer)}: written by several CPUs{by}")
        else:
            verb = "misses" if len(group.victims) == 1 else "miss"
            who = listed(map(_shown, group.victims), MOST_VICTIMS)
            words.append(f"{who} {verb} after stores to {_shown(group.writer)}{by}")
        named.add(group.writer)
    return "; ".join(words) or (_touched(one) if one.findings else "not examined")


def _shown(name: str) -> str:
    """A member; one of another object on the line without the distance."""
    return _NEIGHBOUR.sub(lambda found: f"{found[1]} {'before' if found[2] else 'behind'} it", name)


def _members(one: RecordContention) -> Iterator[LineMember]:
    return (member for finding in one.findings for member in finding.members if member.object_offset is not None)


def _leaf(one: RecordContention, name: str) -> str:
    """The member inside a struct that is stored to most, of a lock or a scalar the name as it is."""
    counts: Counter[str] = Counter()
    for member in _members(one):
        if member.top == name and not member.lock:
            counts[member.path] += member.writes + sum(function.contended for function in member.functions)
    path = counts.most_common(1)[0][0] if counts else name
    return path if path.startswith(f"{name}.") else _shown(name)


def _touched(one: RecordContention) -> str:
    """The members that are accessed where no writer is known."""
    counts: Counter[str] = Counter()
    for member in _members(one):
        counts[member.top] += sum(function.contended for function in member.functions)
    return listed([name for name, count in counts.most_common() if count], MOST_VICTIMS) or "not known"


def what_to_do(one: RecordContention) -> str:
    """What is wrong, and what can help."""
    remedies = [(kind.value, _remedy(one, kind)) for kind in one.kinds]
    if one.movable and TriageKind.FALSE_SHARING not in one.kinds and (apart := _separate(one)):
        remedies.append((TriageKind.FALSE_SHARING.value, apart))
    return "; ".join(f"{kind}: {remedy}" if remedy else kind for kind, remedy in remedies)


def _remedy(one: RecordContention, kind: TriageKind) -> str:
    own = next((pair.writer for pair in one.pairs if pair.victim == pair.writer), "")
    match kind:
        case TriageKind.FALSE_SHARING:
            return _separate(one)
        case TriageKind.TRUE_SHARING if own:
            leaf = _leaf(one, own)
            return f"count {leaf} per CPU" if _COUNTER.search(leaf) else f"write {leaf} less often"
    return _REMEDIES.get(kind, "").format(own or "the lock")


def _separate(one: RecordContention) -> str:
    """Which member to move away from which: the one that most meet; ``""`` where no two are known."""
    met: Counter[str] = Counter()
    pairs = [pair for pair in one.pairs if pair.victim != pair.writer and _OF_OTHER not in pair.victim + pair.writer]
    for pair in pairs:
        met.update({pair.writer: round(4 * pair.contended.most), pair.victim: round(3 * pair.contended.most)})
    if not met:
        return ""
    hub = max(met, key=lambda name: met[name])
    others = [pair.victim if pair.writer == hub else pair.writer for pair in pairs if hub in (pair.victim, pair.writer)]
    if one.fixed:
        return f"no order helps, all of it is one line; write {hub} less often"
    array = _INDEX.sub("", hub)
    if all(_INDEX.sub("", other) == array for other in others):
        return f"align the elements of {array} to a line each"
    return f"move {hub} away from {listed(dict.fromkeys(others), MOST_OTHERS)}"


def paragraph(one: RecordContention, unit: str, columns: int, most: int) -> str:
    """Who misses on the record, who writes, and from where, in at most so many lines: whole sentences.

    ``unit`` is that of contention.
    """
    sentences = list(_sentences(one, unit))
    lock = next((finding.lock for finding in one.findings if finding.lock), None)
    came = _callers(one)
    sentences += [f"They are called from {came}."] if came else []
    if lock and lock.holders:
        sentences.append(f"The lock {lock.name} is held in {listed(lock.holders, MOST_FUNCTIONS)}.")
    shown = ""
    for count in range(len(sentences), 0, -1):
        shown = prose(f"{one.name}: {' '.join(sentences[:count])}", columns=columns)
        if len(shown.splitlines()) <= most:
            break
    return shown


def _sentences(one: RecordContention, unit: str) -> Iterator[str]:
    """One for each of the heaviest groups, and one for the misses that they leave."""
    groups = _groups(one)
    examined = float(sum(finding.cost.contended for finding in one.findings))
    rest = examined
    for at, group in enumerate(groups):
        written = _functions(one, [group.writer], writes=True)
        by = f", in {written}" if written and group.writer not in [one.writer for one in groups[:at]] else ""
        if group.itself:
            what = f"{_leaf(one, group.writer)} is written by several CPUs{by}"
        else:
            used = _functions(one, group.victims, writes=False)
            verb = "misses" if len(group.victims) == 1 else "miss"
            who = f"{listed(map(_shown, group.victims), MOST_NAMED)}{f' (in {used})' if used else ''}"
            what = f"{who} {verb} after stores to {_shown(group.writer)}{by}"
        amount = f"{count_range(group.contended)}{'' if at else f' {unit}'}"
        yield f"{what}: {amount} ({_share(one, group.contended)})."
        rest -= group.contended.most
    more = [(rest, "between other members")]
    lines = one.lines - len(one.findings)
    more += [(one.contended - examined, f"on {counted(lines, 'line')} not examined")] if lines else []
    words = [f"{count:,.0f} ({_share(one, Bounds(count, count))}) {where}" for count, where in more if count >= 1]
    if groups and words:
        yield f"And {', '.join(words)}."


def _share(one: RecordContention, amount: Bounds) -> str:
    """Of all contention of the profile."""
    share = amount.times(one.share / one.contended if one.contended else 0.0)
    if share.most < _LEAST_SHARE:
        return "less than 0.1%"
    return f"{'' if share.least == share.most else 'at most '}{share.most:.1%} of all"


def _functions(one: RecordContention, names: Sequence[str], writes: bool) -> str:
    counts: Counter[str] = Counter()
    for name in dict.fromkeys(name.replace("[]", "") for name in names):
        counts.update(functions_of(one.findings, name, writes))
    return listed([name for name, _ in counts.most_common()], MOST_FUNCTIONS)


def _callers(one: RecordContention) -> str:
    """Who calls the functions that meet on the heaviest pairs, where the profile has callers."""
    names = {_INDEX.sub("", name) for pair in one.pairs[:MOST_GROUPS] for name in (pair.victim, pair.writer)}
    counts: Counter[str] = Counter()
    for member in (member for finding in one.findings for member in finding.members if member.top in names):
        direct = {function.name for function in member.functions}
        counts.update({path.functions[0]: path.count for path in member.callers if path.functions[0] not in direct})
    return listed([name for name, _ in counts.most_common()], MOST_FUNCTIONS)
