# SPDX-License-Identifier: GPL-2.0-or-later
"""What is hot in a profile, on one screen: a table of records, the next command, and a paragraph on its record.

A miss is between two members, or on one that several CPUs write. Members that miss for stores to the same one are a
group, and elements of one array are one member.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from linesmith.analyzer.base.text import listed, with_cxx_names
from linesmith.analyzer.model import Bounds, ElfIdentity, LineMember, TriageKind
from linesmith.analyzer.report.findings import ProfileSection, count_range
from linesmith.analyzer.report.prose import WIDTH, counted, cut, in_columns, prose, shell_rows, wrapped
from linesmith.analyzer.sharing.accounts import recorded_from
from linesmith.analyzer.sharing.records import RecordContention, RecordPair, functions_of, quiet

# Records with a smaller share are counted in one row.
MOST_ROWS, LEAST_ROW = 12, 0.01
# Shares that do not add up to all by so much are of lines that a text leaves out.
LEAST_LEFT_OUT = 0.005
MOST_REMARKS = 2
# Lines of a row and of all records together; characters of a remark and of a command, lines of the paragraph.
MOST_CELL, MOST_TABLE, MOST_REMARK, MOST_COMMAND, MOST_PARAGRAPH = 6, 38, 180, 60, 8
# Memory that holds no known record.
MOST_PLACES = 4
# Columns of the figures, and of the width that they leave the parts of the other columns.
_FIGURES, _PARTS = 16, (0.25, 0.36, 0.39)
_HEAD_FIGURES = (" share removable", "       by layout")
_HEAD = ("record: its memory", "members that meet, writers", "kind: what to do")
_PLACES = {
    "pages free page": "free pages",
    "pages anonymous memory": "anonymous memory",
    "pages": "other pages",
    "struct page": "struct page array",
}


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A row of the table; what is no record has neither ``members`` nor ``advice``."""

    share: str
    removable: str
    record: str
    members: str = ""
    advice: str = ""


def render_table(
    records: Sequence[RecordContention],
    elf: ElfIdentity,
    shown: ProfileSection,
    suggest: Sequence[str] = (),
    columns: int = WIDTH,
    *,
    full: bool = False,
) -> str:
    """The records by their share, ``full`` for all of them; ``suggest`` is the next command but for ``--type``."""
    columns = min(columns, WIDTH)
    if sentence := quiet(records, shown.profile):
        return f"{prose(sentence, columns=columns)}\n"
    blocks = ["\n".join(_head(records, elf, shown, columns)), "\n".join(_table(records, shown, columns, full))]
    helped = max((one for one in records if one.movable), key=lambda one: one.removable.most, default=None)
    if helped and suggest:
        gained = by_layout(helped).replace("≤", "at most")
        gain = f"largest gain by layout: {helped.name}, {gained} of all {unit(shown)}"
        command = shell_rows("next:", (*suggest, "--type", helped.type), columns)
        blocks.append("\n".join([prose(gain, then="  ", columns=columns), *command]))
    if first := helped or next((one for one in records if one.name and one.kinds and not one.apart), None):
        blocks.append(_paragraph(first, unit(shown), columns))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _head(records: Sequence[RecordContention], elf: ElfIdentity, shown: ProfileSection, columns: int) -> Iterator[str]:
    profile = shown.profile
    known = sum(one.share for one in records if one.name or one.apart)
    contended = f"{sum(one.contended for one in records):,.0f} {unit(shown)}"
    which = f", report {shown.section} of {shown.sections} (--section takes another)" if shown.sections > 1 else ""
    title = f" ({profile.title})" if profile.title else ""
    build = f", build-id {elf.build_id[:12]}" if elf.build_id else ""
    of = f"{Path(profile.source).name}{which}{title} on {Path(elf.path).name}{build}"
    yield prose(f"{of}: {known:.1%} of {contended} attributed to records", then="  ", columns=columns)
    if recording := profile.recording:
        nodes = counted(len(set(recording.nodes)) or 1, "node")
        command = cut(recorded_from(profile)[1], MOST_COMMAND)
        machine = f"{counted(len(recording.nodes), 'CPU')} on {nodes}{f', running {command}' if command else ''}"
        counting = "accesses counted in simulated caches, not sampled on hardware"
        yield prose(f"recorded on {recording.on}, {machine}: {counting}", then="  ", columns=columns)
    for one in profile.remarks[:MOST_REMARKS]:
        yield prose(cut(one.text, MOST_REMARK), "remark: ", "  ", columns)
    more = len(profile.remarks) - MOST_REMARKS
    yield from [f"and {counted(more, 'more remark')}: --full"] if more > 0 else []


def unit(shown: ProfileSection) -> str:
    """What is counted as contention."""
    return "misses after stores by other CPUs" if shown.profile.recording else "contended loads"


def _table(records: Sequence[RecordContention], shown: ProfileSection, columns: int, full: bool) -> Iterator[str]:
    """A row for each record, of as many lines as all of them have room for; then the others, each in a sentence."""
    widths = [int((columns - _FIGURES - 6) * part) for part in _PARTS]
    rows = tuple(record_rows(records, shown, full=full))
    named = [one for one in rows if one.members or one.advice]
    if named:
        yield from _lines(_HEAD_FIGURES, _HEAD, widths, 2)
    most = MOST_CELL if full else min(MOST_CELL, MOST_TABLE // max(1, len(named)))
    for one in rows:
        figures = f"{one.share:>6} {one.removable:>9}"
        if one in named:
            yield from _lines((figures,), (one.record, one.members, one.advice), widths, most)
        else:
            yield prose(one.record, f"{figures}  ", " " * (_FIGURES + 2), columns)


def _lines(figures: Sequence[str], cells: Sequence[str], widths: Sequence[int], most: int) -> Iterator[str]:
    wrapped = [figures, *(_cell(cell, width, most) for cell, width in zip(cells, widths, strict=True))]
    for parts in zip_longest(*wrapped, fillvalue=""):
        yield in_columns(parts, [_FIGURES, *widths]).rstrip()


def _cell(text: str, width: int, most: int) -> list[str]:
    """The text in at most so many lines: of one that is longer the first parts, each whole."""
    text, end = with_cxx_names(text), ""
    while len(wrapped(f"{text}{end}", width)) > most and "; " in text:
        text, end = text.rpartition("; ")[0], "; …"
    return wrapped(f"{text}{end}", width, most)


def record_rows(
    records: Sequence[RecordContention], shown: ProfileSection, *, full: bool = False
) -> Iterator[RecordRow]:
    """A row for each record, but for ``full`` only for those that are worth one, and the others in a row each.

    Others are further records, what is not known, and what emulation makes hot.
    """
    named = [one for one in records if one.name and not one.apart]
    worth = min(MOST_ROWS, max(1, sum(one.share >= LEAST_ROW for one in named)))
    most = len(named) if full else worth
    for one in named[:most]:
        record = _record(one, shown)
        yield RecordRow(f"{one.share:.1%}", by_layout(one), record, members_that_meet(one), what_to_do(one))
    unknown, apart = [one for one in records if not one.name and not one.apart], [one for one in records if one.apart]
    owners = ", ".join(f"{one.apart} {one.share:.1%}" for one in apart)
    for group, what in (
        (named[most:], f"and {counted(len(named) - most, 'more record')}"),
        (unknown, f"not attributed to a record{_memory(unknown)}"),
        (apart, f"excluded, hotter under emulation: {owners}"),
    ):
        if group:
            yield RecordRow(f"{sum(one.share for one in group):.1%}", "", what)
    left_out = 1 - sum(one.share for one in records)
    if left_out >= LEAST_LEFT_OUT:
        yield RecordRow(f"{left_out:.1%}", "", "on lines that the profile leaves out")


def _memory(unknown: Sequence[RecordContention]) -> str:
    """What memory is known of that which holds no known object."""
    known = [f"{_PLACES.get(one.places[0], one.places[0])} {one.share:.1%}" for one in unknown if one.places]
    count = sum(one.lines for one in unknown)
    reasons = (one.objects[0].reason for record in unknown for one in record.findings if one.objects)
    reason = next(filter(None, reasons), "")
    words = [listed(known, MOST_PLACES), f"one of them: {reason}" if reason and count > 1 else reason]
    return f" ({counted(count, 'line')}){': ' if any(words) else ''}{'; '.join(filter(None, words))}"


def _record(one: RecordContention, shown: ProfileSection) -> str:
    """What it is called, where it lies, and on how many lines."""
    recording = shown.profile.recording
    place = one.places[0] if one.places else "heap" if recording and recording.ring == "user" else ""
    kind, _, name = place.partition(" ")
    where = _PLACES.get(place, kind if name == one.name else place)
    lines = counted(one.lines, "line")
    return f"{one.name}: {where}, {lines}" if where else f"{one.name}: {lines}"


def by_layout(one: RecordContention) -> str:
    """What another order or alignment of the members can remove, of the profile; ``-`` for nothing."""
    least, most = f"{one.removable.least:.1%}", f"{one.removable.most:.1%}"
    if most == "0.0%":
        return "-"
    return most if least == most else f"≤ {most}"


# The words of a record: which members meet, who writes them, what can help; and a paragraph.

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
    known = [kind for kind in one.kinds if kind is not TriageKind.UNKNOWN]
    remedies = [(kind.value, _remedy(one, kind)) for kind in known or one.kinds]
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


def _paragraph(one: RecordContention, unit: str, columns: int) -> str:
    """Who misses on the record, who writes, and from where, in whole sentences; ``unit`` is that of contention."""
    sentences = list(_sentences(one, unit))
    lock = next((finding.lock for finding in one.findings if finding.lock), None)
    came = _callers(one)
    sentences += [f"They are called from {came}."] if came else []
    if lock and lock.holders:
        sentences.append(f"The lock {lock.name} is held in {listed(lock.holders, MOST_FUNCTIONS)}.")
    shown = ""
    for count in range(len(sentences), 0, -1):
        shown = prose(f"{one.name}: {' '.join(sentences[:count])}", columns=columns)
        if len(shown.splitlines()) <= MOST_PARAGRAPH:
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
