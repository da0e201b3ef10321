# SPDX-License-Identifier: GPL-2.0-or-later
"""A record of a profile in words: which members meet, who stores and from where, what is wrong and what can help."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import Bounds, LineMember, Outcome, TriageKind
from linesmith.analyzer.report.findings import count_range
from linesmith.analyzer.sharing.parts import INDEX, is_of_each, users_of
from linesmith.analyzer.sharing.records import WORTH_MOVING, PairGroup, RecordContention, RecordPair
from linesmith.analyzer.sharing.triage import doubted, mostly_doubted

# In place of what a layout removes, where that may be nothing or all of it.
UNKNOWN = "unknown"
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


def in_doubt(one: RecordContention) -> bool:
    """Whether on no line of the record members meet that are known, which is what ``suggest`` asks of each line."""
    met = [finding for finding in one.findings if finding.cost.sharings]
    return bool(met) and all(map(mostly_doubted, met))


def by_layout(one: RecordContention) -> str:
    """The misses for nothing that another order or alignment may remove, of the profile; ``-`` where they are few."""
    named = one.several or not _OF_LAYOUT.isdisjoint(one.kinds)
    if not one.movable and not (named and one.removable.most >= WORTH_MOVING * one.share):
        return "-"
    least, most, share = (f"{part:.1%}" for part in (one.removable.least, one.removable.most, one.share))
    if (least == "0.0%" and most == share) or in_doubt(one):
        return UNKNOWN
    return "-" if most == "0.0%" else most if least == most else f"≤ {most}"


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
