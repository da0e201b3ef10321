# SPDX-License-Identifier: GPL-2.0-or-later
"""What is hot in a profile, on one screen: a table of records, the next command, and a paragraph on its record."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from linesmith.analyzer.base.text import listed, with_cxx_names
from linesmith.analyzer.model import Bounds, ElfIdentity, LineMember, Outcome, TriageKind
from linesmith.analyzer.report.findings import ProfileSection, count_range
from linesmith.analyzer.report.prose import WIDTH, counted, cut, in_columns, prose, shell_rows, wrapped
from linesmith.analyzer.sharing.findings import recorded_from
from linesmith.analyzer.sharing.parts import INDEX, is_of_each, users_of
from linesmith.analyzer.sharing.records import WORTH_MOVING, PairGroup, RecordContention, RecordPair, quiet
from linesmith.analyzer.sharing.triage import doubted, mostly_doubted

# Records that have a row at most, and the least share of one; the others are counted in one row.
MOST_ROWS, LEAST_ROW = 12, 0.01
# In place of what a layout removes, where that may be nothing or all of it; what shares lack that a text leaves out.
UNKNOWN, LEAST_LEFT_OUT = "unknown", 0.005
UNATTRIBUTED = "not attributed"
_SUGGEST = (
    "suggest tries moves and says what they save, how surely, and what they cost in size and memory. Here no layout was"
    " tried and no source read: nothing is ready to be sent"
)
_ASKED = "what to do, and what it saves, is what suggest found for this profile"
# Lines of a row, of one among many, of all records together and of the paragraph; characters of a remark and of a
# command; remarks; kinds of memory that holds no known record.
MOST_CELL, LEAST_CELL, MOST_TABLE, MOST_PARAGRAPH = 6, 4, 36, 8
MOST_REMARK, MOST_COMMAND, MOST_REMARKS, MOST_PLACES = 180, 60, 2, 4
# What a narrow cell leaves out: functions, then remedies that no layout is.
_LEFT_OUT = re.compile(r", in [^;]+"), re.compile(r"(?<=true sharing|k contention): [^;]+(?=; )")
# Columns of the figures, and of the width that they leave the parts of the other columns.
_FIGURES, _PARTS = 16, (0.25, 0.36, 0.39)
_HEAD_FIGURES = (" share     false", "of all   sharing")
_HEAD_SUGGESTED = (" share   suggest", "of all     saves")
_HEAD = ("record, and where it lives", "members that meet, writers", "kind: what to do")
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
    """The records by their share, ``full`` for all of them; ``suggest`` is the next command but for ``--type``.

    That is named where the answer is known not to be that there is nothing to do, or where there is no other record.
    """
    columns = min(columns, WIDTH)
    if sentence := quiet(records, shown.profile):
        return f"{prose(sentence, columns=columns)}\n"
    blocks = ["\n".join(_head(records, elf, shown, columns)), "\n".join(_table(records, shown, columns, full))]
    asked, helped = _asked(records), _helped(records)
    named = [one for one in records if one.name and not one.apart]
    if suggest:
        only = sum(one.share >= LEAST_ROW for one in named) <= 1
        narrowed = ("--type", helped.name) if helped and (asked or only) else ()
        command = shell_rows("next:", (*suggest, *narrowed), columns) if helped or not asked else ()
        blocks.append("\n".join([prose(_summary(helped, shown, asked=asked), then="  ", columns=columns), *command]))
    if first := helped or next((one for one in named if one.kinds), None):
        most = f"with the {'largest saving' if asked else 'most false sharing'}"
        most = "whose change suggest explains" if asked and _column(first, asked=asked) == UNKNOWN else most
        which = most if helped else "the first that is explained"
        why = f", {which} (--type {named[0].name} shows row 1)" if first is not named[0] else ""
        blocks.append(_paragraph(first, f"{first.name}{why}", unit(shown), columns))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _asked(records: Sequence[RecordContention]) -> bool:
    return any(one.suggested for one in records)


def _summary(helped: RecordContention | None, shown: ProfileSection, *, asked: bool) -> str:
    """The largest saving that `suggest` found; before it was asked, the record with the most misses for nothing."""
    if helped is None:
        return f"{_ASKED}: no change" if asked else f"no gain by moving members is sure; {_SUGGEST}"
    most = _column(helped, asked=asked).replace("≤", "at most")
    if asked and most == UNKNOWN:
        return f"{_ASKED}: a change of {helped.name}, its saving is not known"
    unknown = f"between nothing and all of its {helped.share:.1%}"
    first = f"{helped.name}, {unknown if most == UNKNOWN else f'{most} of all {unit(shown)}'}"
    return f"{_ASKED}; the largest saving: {first}" if asked else f"most false sharing: {first}; {_SUGGEST}"


def _column(one: RecordContention, *, asked: bool) -> str:
    """What `suggest` says that its change of the record saves, ``-`` without one; else the misses for nothing."""
    if not asked:
        return by_layout(one)
    found = one.suggested
    return "" if found is None else "-" if found.saves is None else found.saves or UNKNOWN


def _head(records: Sequence[RecordContention], elf: ElfIdentity, shown: ProfileSection, columns: int) -> Iterator[str]:
    profile = shown.profile
    known = sum(one.share for one in records if one.name and not one.apart)
    # A text may leave lines out: its shares are of all that was counted.
    whole = sum(one.contended for one in records) / (sum(one.share for one in records) or 1)
    contended = f"{whole:,.0f} {unit(shown)}"
    title = f" ({'; '.join(filter(None, (profile.title, shown.which)))})" if profile.title or shown.which else ""
    build = f", build-id {elf.build_id[:12]}" if elf.build_id else ""
    of = f"{Path(profile.source).name}{title} on {Path(elf.path).name}{build}"
    yield prose(f"{of}: {known:.1%} of {contended} attributed to records", then="  ", columns=columns)
    if recording := profile.recording:
        nodes = counted(len(set(recording.nodes)) or 1, "node")
        command = cut(recorded_from(profile)[1], MOST_COMMAND)
        machine = f"{counted(len(recording.nodes), 'CPU')} on {nodes}{f', running {command}' if command else ''}"
        counting = "accesses counted in simulated caches, not sampled on hardware"
        yield prose(f"recorded on {recording.on}, {machine}: {counting}", then="  ", columns=columns)
    yield from (prose(cut(one.text, MOST_REMARK), "remark: ", "  ", columns) for one in profile.remarks[:MOST_REMARKS])
    if (more := len(profile.remarks) - MOST_REMARKS) > 0:
        yield f"and {counted(more, 'more remark')}: --full"


def _helped(records: Sequence[RecordContention]) -> RecordContention | None:
    """The record of the change that `suggest` explains, where it was asked; else of the most false sharing.

    A record whose members may be others has neither.
    """
    if _asked(records):
        return next((one for one in records if one.suggested and one.suggested.first), None)
    sure = (one for one in records if one.movable and not _in_doubt(one))
    return max(sure, key=lambda one: one.removable.most, default=None)


def _in_doubt(one: RecordContention) -> bool:
    """Whether on no line of the record members meet that are known, which is what ``suggest`` asks of each line."""
    met = [finding for finding in one.findings if finding.cost.sharings]
    return bool(met) and all(map(mostly_doubted, met))


def unit(shown: ProfileSection) -> str:
    """What the profile counts, as a noun."""
    return "misses after stores by other CPUs" if shown.profile.recording else "contended loads"


def _table(records: Sequence[RecordContention], shown: ProfileSection, columns: int, full: bool) -> Iterator[str]:
    """A row for each record, of as many lines as all of them have room for; then the others, each in a sentence.

    The records with the least shares have no rows of their own where the rows would be too short to say what to do.
    """
    widths = [int((columns - _FIGURES - 6) * part) for part in _PARTS]
    count, most = MOST_ROWS, MOST_CELL
    while True:
        rows = tuple(record_rows(records, shown, count, full=full))
        named = [one for one in rows if one.members or one.advice]
        cells = ((one.record, one.members, one.advice) for one in named)
        held = sum(max(len(_cell(*pair, most)) for pair in zip(row, widths, strict=True)) for row in cells)
        if full or held <= MOST_TABLE or not count:
            break
        count, most = (len(named) - 1, most) if most <= LEAST_CELL else (count, most - 1)
    if named:
        yield from _lines(_HEAD_SUGGESTED if _asked(records) else _HEAD_FIGURES, _HEAD, widths, 2)
    for one in rows:
        figures = f"{one.share:>6} {one.removable:>9}"
        if one in named:
            yield from _lines((figures,), (one.record, one.members, one.advice), widths, most)
        else:
            yield prose(one.record, f"{figures}  ", " " * (_FIGURES + 2), columns)


def _lines(figures: Sequence[str], cells: Sequence[str], widths: Sequence[int], most: int) -> Iterator[str]:
    wrapped = [figures, *(_cell(cell, width, most) for cell, width in zip(cells, widths, strict=True))]
    return (in_columns(parts, [_FIGURES, *widths]).rstrip() for parts in zip_longest(*wrapped, fillvalue=""))


def _cell(text: str, width: int, most: int) -> list[str]:
    """The text in at most so many lines: without what can be left out, then the first parts, each whole."""
    text, end = with_cxx_names(text), ""
    for left_out in _LEFT_OUT:
        text = left_out.sub("", text) if len(wrapped(text, width)) > most else text
    while len(wrapped(f"{text}{end}", width)) > most and "; " in text:
        text, end = text.rpartition("; ")[0], "; …"
    return wrapped(f"{text}{end}", width, most)


def record_rows(
    records: Sequence[RecordContention], shown: ProfileSection, count: int = MOST_ROWS, *, full: bool = False
) -> Iterator[RecordRow]:
    """A row for ``count`` records that are worth one, or for ``full`` for each, and the others in a row each.

    The record that a layout helps most has a row. Others are further records, what is not known, and what emulation
    makes hot.
    """
    named, recording = [one for one in records if one.name and not one.apart], shown.profile.recording
    asked = _asked(records)
    most = len(named) if full else min(count, max(1, sum(one.share >= LEAST_ROW for one in named)))
    if (helped := _helped(records)) and helped not in named[:most]:
        named.remove(helped)
        named.insert(most - 1, helped)
    for one in named[:most]:
        place = one.places[0] if one.places else "heap" if recording and recording.ring == "user" else ""
        kind, _, name = place.partition(" ")
        where = _PLACES.get(place, kind if name == one.name else place)
        whose = " in an unknown struct" * is_inner(one) or " in another layout" * is_laid_out_otherwise(one)
        record = ": ".join((f"{one.name}{whose}", ", ".join(filter(None, (where, counted(one.lines, "line"))))))
        saves = _column(one, asked=asked)
        yield RecordRow(f"{one.share:.1%}", saves, record, members_that_meet(one), what_to_do(one))
    unknown, apart = [one for one in records if not one.name and not one.apart], [one for one in records if one.apart]
    owners = ", ".join(f"{one.apart} {one.share:.1%}" for one in apart)
    lines, memory = memory_of(unknown)
    for group, what in (
        (named[most:], f"and {counted(len(named) - most, 'more record')}"),
        (unknown, f"{UNATTRIBUTED} to a record ({lines}){': ' * bool(memory)}{memory}"),
        (apart, f"excluded, hotter under emulation: {owners}"),
    ):
        if group:
            yield RecordRow(f"{sum(one.share for one in group):.1%}", "", what)
    left_out = 1 - sum(one.share for one in records)
    if left_out >= LEAST_LEFT_OUT:
        yield RecordRow(f"{left_out:.1%}", "", "on lines that the profile leaves out")


def memory_of(unknown: Sequence[RecordContention]) -> tuple[str, str]:
    """How many lines hold no object that is known, and what memory that is: ``9 lines``, ``stack 1.2%``."""
    known = [f"{_PLACES.get(one.places[0], one.places[0])} {one.share:.1%}" for one in unknown if one.places]
    count = sum(one.lines for one in unknown)
    reasons = (one.objects[0].reason for record in unknown for one in record.findings if one.objects)
    reason = next(filter(None, reasons), "")
    if reason and count > 1:
        reason = f"the hottest, because {reason.replace(' fits it', ' fits the likeliest type')}"
    words = [listed(known, MOST_PLACES), reason]
    return counted(count, "line"), "; ".join(filter(None, words))


def by_layout(one: RecordContention) -> str:
    """The misses for nothing that another order or alignment may remove, of the profile; ``-`` where they are few."""
    named = one.several or not _OF_LAYOUT.isdisjoint(one.kinds)
    if not one.movable and not (named and one.removable.most >= WORTH_MOVING * one.share):
        return "-"
    least, most, share = (f"{part:.1%}" for part in (one.removable.least, one.removable.most, one.share))
    if (least == "0.0%" and most == share) or _in_doubt(one):
        return UNKNOWN
    return "-" if most == "0.0%" else most if least == most else f"≤ {most}"


# Members of a group in a row and in the paragraph; groups, functions.
MOST_VICTIMS, MOST_NAMED, MOST_GROUPS, MOST_FUNCTIONS = 2, 6, 2, 3
# A group with less of the misses of the heaviest is not named; a share that is less is not 0.0%.
LEAST_GROUP, _LEAST_SHARE = 0.01, 0.0005
_NEIGHBOUR = re.compile(r"(?<= of the )(.+?) at (-?)0x[0-9a-f]+\Z")
# What only another layout changes; that of objects, or of members.
_BY_ALIGNING = frozenset((TriageKind.SEVERAL_OBJECTS, TriageKind.ADJACENT_LINE))
_OF_LAYOUT = _BY_ALIGNING | {TriageKind.FALSE_SHARING, TriageKind.STRADDLE}
_OF_ITSELF = (TriageKind.LOCK_CONTENTION, TriageKind.TRUE_SHARING)
_REMEDIES = {
    TriageKind.LOCK_CONTENTION: "shard {} or hold it shorter",
    TriageKind.SEVERAL_OBJECTS: "align each to a line of its own",
    TriageKind.ADJACENT_LINE: "align to 128 bytes",
    TriageKind.STRADDLE: "move it off the boundary of two lines",
    TriageKind.NO_WRITER: "record stores, too",
}


_OTHER_ALGORITHM = "only another algorithm writes {} less often"
# What makes stores to a member fewer, by its type and path; the first that fits.
_FEWER = (
    (r"(?:^|[\W_])rb_|_tree", "shard or shorten the tree of {}"),
    (r"list_(?:bl_)?(?:head|node)|\b(?:next|prev|pprev|first)\Z", "shard or shorten the list of {}"),
    (r"atomic|refcount|kref|percpu_(?:counter|ref)", "count {} per CPU or in batches"),
    (r"[*\[]|^(?:struct|union|class|float|double)\b", _OTHER_ALGORITHM),
    (r"\b_?[Bb]ool\b|^enum|(?:_|\b)(?:flags?|state)\Z|\b(?:on|is|has)_\w+\Z", "write {} only where its value changes"),
    ("", "write {} less often (a counter: per CPU, a flag: read it first)"),
)


def _parts(one: RecordContention) -> Iterator[tuple[TriageKind, str, PairGroup | None]]:
    """What is wrong with a record, the main thing first; what a layout can do is named if it removes enough."""
    groups = one.groups
    own = next((group for group in groups if group.itself), None)
    apart = next((group for group in groups if not (group.itself or group.of_other)), None)
    other = next((group for group in groups if group.of_other), None)
    helps = by_layout(one) != "-"
    known = [kind for kind in one.kinds if kind is not TriageKind.UNKNOWN and (helps or kind not in _BY_ALIGNING)]
    if helps and _OF_LAYOUT.isdisjoint(known):
        known += [TriageKind.FALSE_SHARING] if one.movable and apart else [TriageKind.SEVERAL_OBJECTS]
    for kind in known or ([TriageKind.TRUE_SHARING] if own else one.kinds):
        if kind is TriageKind.FALSE_SHARING:
            yield kind, _separate(one, apart) if apart else "", apart
        elif kind is TriageKind.TRUE_SHARING and own:
            leaf = _leaf(one, own.writer)
            of_lock = any(member.path == leaf and member.lock for member in _members(one))
            if of_lock and TriageKind.LOCK_CONTENTION in known:
                continue
            yield kind, _fewer(one, leaf), own
        else:
            remedy = "find out which struct holds it" if is_inner(one) and own else _REMEDIES.get(kind, "")
            about = own if kind is TriageKind.LOCK_CONTENTION else other
            yield kind, remedy.format((own and own.writer) or "the lock"), about


def is_inner(one: RecordContention) -> bool:
    """Whether all that is known is a type that many records hold."""
    return any(it.objects and it.objects[0].outcome is Outcome.INNER_TYPE_ONLY for it in one.findings[:1])


def is_laid_out_otherwise(one: RecordContention) -> bool:
    """Whether the build of the report has the members of the record at other offsets."""
    return any(it.objects[0].laid_out_otherwise for it in one.findings if it.objects and not it.simulated)


def _fewer(one: RecordContention, name: str) -> str:
    """How stores to a member, or to those inside it, become fewer: by what it is."""
    inside = name.removesuffix(" (?)").replace("[]", "")
    known = next((it for it in _members(one) if inside in (it.path, it.top)), None)
    if known and known.lock:
        return _REMEDIES[TriageKind.LOCK_CONTENTION].format(name)
    declared = f"{known.type} {known.path}" if known else inside
    remedy = next(words for shape, words in _FEWER if re.search(shape, declared))
    if is_of_each(next(iter(one.places), ""), one.name):
        remedy = remedy.replace("per CPU or in", "in").replace("a counter: per CPU, ", "")
    if remedy == _OTHER_ALGORITHM and known and known.write_inferred and not known.writes:
        remedy = "its store to {} is inferred from the code, not sampled: record stores to be sure"
    remedy = remedy.format(name)
    return remedy.replace("per CPU", "per thread") if one.program else remedy


def _shown_groups(one: RecordContention) -> list[PairGroup]:
    """Those that the advice is about, in its order, then the heaviest others that count."""
    groups = one.groups
    counting = [group for group in groups if group.contended.most >= LEAST_GROUP * groups[0].contended.most]
    told = [group for _, _, group in _parts(one) if group]
    shown = [group for at, group in enumerate(told) if group not in told[:at]]
    return [*shown, *(group for group in counting if group not in shown)][: max(MOST_GROUPS, len(shown))]


def members_that_meet(one: RecordContention) -> str:
    """Who misses after stores to whom, and which function makes them: the heaviest groups."""
    words, named = list[str](), set[str]()
    for group in _shown_groups(one):
        function = next((pair.function for pair in group.pairs if pair.function), "")
        words.append(_met(one, [(group, function if group.writer not in named else "")], MOST_VICTIMS))
        named.add(group.writer)
    return "; ".join(words) or (_touched(one) if one.findings else "not examined")


def _met(one: RecordContention, same: Sequence[tuple[PairGroup, str]], most: int, used: str = "") -> str:
    """Who misses after stores to whom, each with the functions that store; ``used`` are those that miss."""
    group, by = same[0]
    if group.itself and not used and len(same) == 1:
        return f"{_leaf(one, group.writer)} is written by several CPUs{f', in {by}' if by else ''}"
    names = [_leaf(one, group.writer)] if group.itself else [shown_name(one, name) for name in group.victims]
    missing = f"{listed(names, most)}{f' (in {used})' if used else ''} {'misses' if len(names) == 1 else 'miss'}"
    stored = (
        f"{'itself' if each.itself else shown_name(one, each.writer)}{f' by {code}' if code else ''}"
        for each, code in same
    )
    return f"{missing} after stores to {', or to '.join(stored)}"


def shown_name(one: RecordContention, name: str) -> str:
    """A member, with a mark where it may be another one; one of another object on the line without the distance."""
    if one.name and name.startswith("0x"):
        return f"what is at {name} of the line" if one.lines == 1 else "bytes beside it"
    shown = _NEIGHBOUR.sub(lambda found: f"{found[1]} {'before' if found[2] else 'behind'} it", name)
    return f"{shown} (?)" if any(INDEX.sub("", name) in doubted(finding) for finding in one.findings) else shown


def _members(one: RecordContention) -> Iterator[LineMember]:
    return (member for finding in one.findings for member in finding.members if member.object_offset is not None)


def _leaf(one: RecordContention, name: str) -> str:
    """The member inside a struct that is stored to most, of a lock or a scalar the name as it is."""
    mine = [member for member in _members(one) if member.top == name]
    counts: Counter[str] = Counter()
    for member in mine if not all(member.lock for member in mine) else ():
        counts[member.path] += member.writes + sum(function.contended for function in member.functions)
    path = counts.most_common(1)[0][0] if counts else name
    return path if path.startswith(f"{name}.") else shown_name(one, name)


def _touched(one: RecordContention) -> str:
    """The members that are accessed where no writer is known."""
    counts: Counter[str] = Counter()
    for member in _members(one):
        counts[member.top] += sum(function.contended for function in member.functions)
    return listed([shown_name(one, name) for name, count in counts.most_common() if count], MOST_VICTIMS) or "not known"


def what_to_do(one: RecordContention) -> str:
    """What is wrong, and what can help: what `suggest` found for that kind, where it was asked."""
    parts, known = {kind: remedy for kind, remedy, _ in _parts(one)}, one.suggested
    if known and (known.saves is not None or not one.fixed):
        moved = [kind for kind in parts if kind in _OF_LAYOUT]
        changed = [kind for kind in (known.of, *_OF_ITSELF) if kind in parts][:1]
        answers = (known.layout, moved, TriageKind.FALSE_SHARING), (known.structure, changed, known.of)
        for what, kinds, usual in answers:
            if what and (kinds or known.saves is not None):
                parts.pop(TriageKind.UNKNOWN, None)
                kind = next(iter(kinds), usual)
                also = f"{known.layout}, or: " if what != known.layout == parts.get(kind) else ""
                parts |= {**dict.fromkeys(kinds, ""), kind: f"{also}{what}"}
    return "; ".join(f"{kind}: {remedy}" if remedy else kind.value for kind, remedy in parts.items())


def _separate(one: RecordContention, group: PairGroup) -> str:
    """Which member to separate from those that miss after stores to it; how, `suggest` says."""
    writer = shown_name(one, group.writer)
    if one.fixed:
        return f"no order helps, all of it is one line: {_fewer(one, writer)}"
    if by_layout(one) == "-":
        return "little of it"
    array = INDEX.sub("", group.pairs[0].writer)
    if all(INDEX.sub("", pair.victim) == array for pair in group.pairs):
        return f"align the elements of {array} to a line each"
    return f"try to separate {writer} from {listed([shown_name(one, name) for name in group.victims], MOST_VICTIMS)}"


def _paragraph(one: RecordContention, title: str, unit: str, columns: int) -> str:
    """Who misses on the record, who writes, and from where, in whole sentences; ``unit`` is what the profile counts."""
    sentences = list(met_sentences(one, unit))
    lock = next((finding.lock for finding in one.findings if finding.lock), None)
    if lock and lock.holders:
        sentences.append(f"The lock {lock.name} is held in {listed(lock.holders, MOST_FUNCTIONS)}.")
    texts = (f"{title}: {' '.join(sentences[:count])}" for count in range(len(sentences), 0, -1))
    shown = [prose(text, columns=columns) for text in texts]
    return next((text for text in shown if len(text.splitlines()) <= MOST_PARAGRAPH), "".join(shown[-1:]))


def met_sentences(one: RecordContention, unit: str) -> Iterator[str]:
    """One for each of the heaviest groups, and one for the misses that they leave."""
    groups = _shown_groups(one)
    rest = one.contended - one.unknown
    sure, exact = all(group.contended.least == group.contended.most for group in groups), True
    left, every, stored = list(groups), one.groups, set[str]()
    while left:
        group = left[0]
        # Samples do not say after stores to which of several members: the same misses are counted once.
        same = [each for each in every if (each.victims, each.contended) == (group.victims, group.contended)]
        same = [group] if sure or group.contended.least else same
        by = [(each, users_in(one, each.pairs, writes=True) if each.writer not in stored else "") for each in same]
        what = _met(one, by, MOST_NAMED, users_in(one, group.pairs, writes=False))
        most = group.contended.most
        contended = Bounds(most, most) if len(same) > 1 else group.contended
        code = any(functions for _, functions in by) and not stored
        callers = ", callers not recorded" if code and not one.calls_known else ""
        yield f"{what}: {count_range(contended)}{'' if stored else f' {unit}'} ({_share(one, contended)}){callers}."
        left = [each for each in left if each not in same]
        stored.update(each.writer for each in same)
        rest -= most
        exact = exact and contended.least == contended.most
    text = [finding for finding in one.findings if not finding.simulated]
    rows = (function.contended for finding in text for member in finding.members for function in member.functions)
    missing = max(sum(finding.cost.contended for finding in text) - sum(rows), 0.0)
    more = [(rest - missing, "between other members")] if exact else []
    more += [(missing, "in no row of the report, of any member"), (one.unknown, "of members that are not known")]
    words = [f"{count:,.0f} ({_share(one, Bounds(count, count))}) {where}" for count, where in more if count >= 1]
    if groups and words:
        yield f"The rest: {', '.join(words)}."
    if any(map(doubted, text)):
        yield "What is marked (?) may be another member in the build of the report: give its own ELF file to know."


def _share(one: RecordContention, amount: Bounds) -> str:
    """Of all contention of the profile."""
    share = amount.times(one.share / one.contended if one.contended else 0.0)
    words = f"{'' if share.least == share.most else 'at most '}{share.most:.1%} of all"
    return "less than 0.1%" if share.most < _LEAST_SHARE else words


def users_in(one: RecordContention, pairs: Sequence[RecordPair], most: int = MOST_FUNCTIONS, *, writes: bool) -> str:
    """Who waits, or who was seen to store, else whose code does, and who called those that are named."""
    users, callers = Counter[str](), Counter[str]()
    for pair in pairs:
        users.update(pair.stores if writes else pair.waits)
    name = INDEX.sub("", pairs[0].writer if writes else pairs[0].victim)
    own = [member for member in _members(one) if name in (member.top, member.path)]
    names = [user for user, _ in users.most_common()] or list(users_of(name, own, writing=writes))
    most = 2 if len(names) == 2 else most
    for pair in pairs:
        found = set(names[:most]).intersection(pair.stores if writes else pair.waits)
        callers[one.called_from(pair.writer if writes else pair.victim, found)] += round(pair.contended.most)
    caller = next((caller for caller, _ in callers.most_common() if caller), "")
    called = f", called from {caller}" if caller else ", callers not recorded" * bool(one.callers)
    seen = not (writes and own) or one.findings[0].simulated or any(member.writes for member in own)
    return f"{listed(names, most)}{'' if seen else ' (inferred)'}{called}" if names else ""
