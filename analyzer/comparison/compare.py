# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles side by side: what vanished from the hot lines, what stayed, what is new.

Rows are matched by what ``hot`` calls them, record or variable and member, never by address or by likeness: lines of
which the object is not known are one row. Counts of recordings are exact; samples have intervals. docs/compare.md says
what the fates of rows rest on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import copysign, exp, hypot, inf, log, sqrt
from statistics import median

from linesmith.analyzer.base.text import cxx_name, plain_name
from linesmith.analyzer.comparison.sums import NAMELESS, Meeting, ObjectSum, Place, ProfileSums, is_vague, sums
from linesmith.analyzer.model import (
    Bounds,
    CacheLine,
    Change,
    Exposure,
    Fate,
    Finding,
    LineMember,
    MemberChange,
    ObjectChange,
    Profile,
    ProfileChange,
)
from linesmith.analyzer.sharing.cost import share_of, unlisted

OPERATIONS = "operations"
# Two-sided 99 % of the normal distribution, for many members are compared at once; and 80 %, which is shown.
Z, SHOWN_Z = 2.575829, 1.281552
# Unchanged counts of two runs vary by this multiple of chance, as exec storms of a kernel did: docs/compare.md.
USUAL_SCATTER = 5.0
# It is fitted so that 95 % of the rows with so many accesses lie within 1.96 deviations; a change is beyond five.
LEAST_ROWS, LEAST_COUNT = 40, 20
QUANTILE, QUANTILE_SQUARE = 0.95, 3.841459
EXACT_Z = 5.0
# Four fifths of the squares of a standard normal variable are below this.
PAIRS_QUANTILE, PAIRS_SQUARE = 0.8, 1.642374
LEAST_PAIRS = 12
SMALLEST_SCATTER, MOST_SCATTER = 1e-6, 2.0
# How long CPUs wait for a lock depends on who comes first: by this relative deviation its counts vary besides.
LOCK_SCATTER = 0.15
MOST_FUNCTIONS = 6
_NOBODY: Counter[str] = Counter()
_NONE = Bounds()


@dataclass(frozen=True, slots=True)
class ProfileFindings:
    """A profile with its findings; ``set_apart`` are lines that emulation makes hot."""

    profile: Profile
    findings: tuple[Finding, ...]
    set_apart: tuple[CacheLine, ...] = ()

    @property
    def contended(self) -> int:
        """All contended accesses of the lines that count."""
        return sum(one.contended for one in self.findings)


def compare(old: ProfileFindings, new: ProfileFindings, operations: tuple[float, float] | None = None) -> ProfileChange:
    """What changed from the ``old`` profile to the ``new`` one; ``operations`` are how many each run did."""
    exact = bool(old.profile.recording and new.profile.recording)
    looked = exposure(old.profile, new.profile, operations)
    new = replace(new, findings=_called_alike(old.findings, new.findings))
    sides = sums(old.findings), sums(new.findings)
    looked = replace(looked, scatter=_scatter(sides, looked, exact))
    unplaced = sides[0].unplaced(sides[1]), sides[1].unplaced(sides[0])
    by_victim: dict[str, list[Meeting]] = {}
    for key in dict.fromkeys((*sides[0].meetings, *sides[1].meetings)):
        by_victim.setdefault(key.victim.type, []).append(key)
    fates = _RowFates(exact, looked, sides, unplaced, sides[0].locks | sides[1].locks, by_victim)
    objects = [fates.object(name) for name in dict.fromkeys((*sides[0].objects, *sides[1].objects))]
    doubtful = any(map(is_vague, (*old.findings, *new.findings))) or any(types for types, _ in fates.unplaced)
    known, total = fates.known(), fates.change(old.contended, new.contended)
    return ProfileChange(
        exact,
        looked,
        replace(total, fate=known.fate) if exact else total,
        known,
        tuple(sorted(objects, key=_largest)),
        () if exact or not doubtful else tuple(sorted(fates.functions(), key=_largest)),
        tuple(cautions((old, new), looked, sides)),
    )


def _called_alike(old: Sequence[Finding], new: Sequence[Finding]) -> tuple[Finding, ...]:
    """The ``new`` findings with functions called as in the ``old``, where one of both texts has bare names of C++."""
    sides: list[dict[str, set[str]]] = [{}, {}]
    for findings, plain in zip((old, new), sides, strict=True):
        for name in {it.name for one in findings for member in one.members for it in member.functions}:
            plain.setdefault(plain_name(cxx_name(name)), set()).add(name)
    called = {}
    for name, (ours, theirs) in ((name, (sides[0][name], sides[1][name])) for name in sides[0] if name in sides[1]):
        if len(ours) == len(theirs) == 1 and ours != theirs and name in ours | theirs:
            called[next(iter(theirs))] = next(iter(ours))

    def alike(member: LineMember) -> LineMember:
        functions = (replace(one, name=called.get(one.name, one.name)) for one in member.functions)
        return replace(member, functions=tuple(functions))

    return tuple(replace(one, members=tuple(map(alike, one.members))) if called else one for one in new)


def _largest(one: ObjectChange | MemberChange) -> tuple[int, str]:
    return -max(one.change.before, one.change.after), one.type


def exposure(before: Profile, after: Profile, operations: tuple[float, float] | None = None) -> Exposure:
    """By what counts are compared: operations, as counted for recordings, or how much was sampled, if both say so."""
    if operations:
        return Exposure(OPERATIONS, *operations)
    if before.recording:
        return Exposure("", 1.0, 1.0)
    both = before, after
    looked = [float(one.sampling.samples if one.sampling else dict(one.totals).get("Total records", 0)) for one in both]
    if all(looked):
        return Exposure("samples", *looked)
    looked = [float(sum(line.records or 0 for line in one.lines)) for one in both]
    if all(looked) and all(line.records is not None for one in both for line in one.lines):
        return Exposure("samples on shared lines", *looked)
    return Exposure("", 1.0, 1.0)


def _scatter(sides: tuple[ProfileSums, ProfileSums], looked: Exposure, exact: bool) -> float:
    """How far rows differ that did not change: see ``Exposure``."""
    if not exact:
        held = [[(key, *it) for key, of in one.objects.items() for it in of.waits.items() if it[0]] for one in sides]
        counts = [{Place(key, member): waits.total() for key, member, waits in rows} for rows in held]
        return scatter_of([(count, counts[1].get(key, 0)) for key, count in counts[0].items()])
    keys = {**sides[0].meetings, **sides[1].meetings}
    rows = ([round(side.meetings.get(key, _NONE).most) for side in sides] for key in keys)
    squares = sorted(
        (after / looked.after - before / looked.before) ** 2 / (before / looked.before**2 + after / looked.after**2)
        for before, after in rows
        if before + after >= LEAST_COUNT
    )
    if len(squares) < LEAST_ROWS:
        return USUAL_SCATTER
    return max(1.0, squares[int(QUANTILE * (len(squares) - 1))] / QUANTILE_SQUARE)


def ratio_of(before: float, after: float, before_total: float, after_total: float, z: float) -> Bounds:
    """Where the ratio of two Poisson rates, after to before, lies; ``inf`` is its upper limit where before is 0.

    Given their sum, one of two Poisson counts is binomial (Przyborowski and Wilenski, Biometrika 31, 1940).
    """
    if before + after <= 0 or before_total <= 0 or after_total <= 0:
        return Bounds(0.0, inf)
    share = share_of(after, before + after, z)
    scale = before_total / after_total
    return Bounds(_odds(share.least) * scale, _odds(share.most) * scale)


def widened(ratio: Bounds, middle: float, scatter: float, z: float) -> Bounds:
    """Limits of a ratio about ``middle`` when both rates scatter besides, with the relative deviation ``scatter``."""
    extra = z * sqrt(2) * scatter
    if not extra:
        return ratio
    return Bounds(_away(middle, ratio.least, -extra), _away(middle, ratio.most, extra))


def _away(middle: float, limit: float, extra: float) -> float:
    """The limit moved so that its distance from the middle (as logarithms) and ``extra`` add up as squares do."""
    if limit in (0.0, inf):
        return limit
    if not 0 < middle < inf:
        return limit * exp(extra)
    return middle * exp(copysign(hypot(log(limit / middle), extra), extra))


def scatter_of(pairs: Sequence[tuple[int, int]]) -> float:
    """The relative deviation of rates between two profiles that explains how far most pairs of counts are apart.

    It is beyond what counting leaves to chance, and about the change that all have in common. It is fitted to four
    fifths of the pairs, so that up to a fifth of them may really change. 0 with fewer than ``LEAST_PAIRS`` pairs of
    ``LEAST_COUNT`` or more.
    """
    counted = [pair for pair in pairs if min(pair) >= LEAST_COUNT]
    if len(counted) < LEAST_PAIRS:
        return 0.0
    logs = [log(after / before) for before, after in counted]
    common = median(logs)
    low, high = 0.0, MOST_SCATTER
    for _ in range(40):
        tried = (low + high) / 2
        squares = sorted(
            (one - common) ** 2 / (1 / before + 1 / after + 2 * tried**2)
            for one, (before, after) in zip(logs, counted, strict=True)
        )
        wider = squares[int(PAIRS_QUANTILE * (len(squares) - 1))] > PAIRS_SQUARE
        low, high = (tried, high) if wider else (low, tried)
    return high if high > SMALLEST_SCATTER else 0.0


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else inf


def change_of(before: int, after: int, looked: Exposure, exact: bool, waited: bool = False) -> Change:
    """A change of counts with what it means; ``waited`` tells that it is of a lock, or of who lies on its line."""
    if exact:
        rates = before / looked.before, after / looked.after
        difference, mean = rates[1] - rates[0], sum(rates) / 2
        variance = looked.scatter * (rates[0] / looked.before + rates[1] / looked.after)
        variance += 2 * (LOCK_SCATTER * mean) ** 2 if waited else 0.0
        same = abs(difference) <= EXACT_Z * sqrt(variance)
        return Change(before, after, _fate(before, after, same, difference < 0))
    counted = ratio_of(before, after, looked.before, looked.after, Z)
    shown = ratio_of(before, after, looked.before, looked.after, SHOWN_Z)
    middle = (after * looked.before) / (before * looked.after) if before else 0.0
    ratio = widened(counted, middle, looked.scatter, Z)
    fate = _fate(before, after, ratio.least <= 1 <= ratio.most, ratio.most < 1)
    return Change(before, after, fate, widened(shown, middle, looked.scatter, SHOWN_Z))


def _fate(before: int, after: int, same: bool, fewer: bool) -> Fate:
    if same:
        return Fate.STAYED if (before and after) or before == after else Fate.UNCLEAR
    if not before or not after:
        return Fate.NEW if after else Fate.VANISHED
    return Fate.FELL if fewer else Fate.ROSE


@dataclass(frozen=True, slots=True)
class _RowFates:
    """Makes the rows of a comparison, each with its fate."""

    exact: bool
    looked: Exposure
    sides: tuple[ProfileSums, ProfileSums]
    unplaced: tuple[tuple[frozenset[str], Counter[str]], tuple[frozenset[str], Counter[str]]]
    locks: frozenset[Place]
    by_victim: Mapping[str, Sequence[Meeting]]

    def change(self, before: int, after: int, places: Iterable[Place] = ()) -> Change:
        """A change of accesses to these places."""
        return change_of(before, after, self.looked, self.exact, waited=not self.locks.isdisjoint(places))

    def known(self) -> Change:
        """What became of all objects that are known."""
        before, after = (sum(one.contended for name, one in side.objects.items() if name) for side in self.sides)
        return self.change(before, after)

    def object(self, type_: str) -> ObjectChange:
        """All objects of a record, or a variable; of what is not known nobody can say what became of it."""
        old, new = (side.of(type_) for side in self.sides)
        rows = () if not type_ else self._meetings(type_) if self.exact else self._waits(type_, old, new)
        places = (Place(type_, member) for side in (old, new) for member in side.waits)
        change = self.change(old.contended, new.contended, places)
        functions: Counter[str] = Counter()
        for counts in (*old.waits.values(), *new.waits.values()):
            functions.update(counts)
        return ObjectChange(
            type_,
            (old.objects, new.objects),
            (old.lines, new.lines),
            self._unless_unseen(change, functions, type_) if type_ else replace(change, fate=Fate.UNSEEN),
            tuple(sorted(rows, key=_largest)),
        )

    def _meetings(self, type_: str) -> Iterator[MemberChange]:
        """The exact counts of who waits for whom in a record."""
        for key in self.by_victim.get(type_, ()):
            before, after = (round(side.meetings.get(key, _NONE).most) for side in self.sides)
            functions = [side.functions.get(key, _NOBODY) for side in self.sides]
            yield self._row(key.victim, self.change(before, after, (key.victim, key.writer)), functions, key)

    def _waits(self, type_: str, old: ObjectSum, new: ObjectSum) -> Iterator[MemberChange]:
        """The samples of each member of a record."""
        for member in dict.fromkeys((*old.waits, *new.waits)):
            functions = [side.waits.get(member, _NOBODY) for side in (old, new)]
            if any(functions):
                before, after = (counts.total() for counts in functions)
                yield self._row(Place(type_, member), self.change(before, after), functions)

    def functions(self) -> Iterator[MemberChange]:
        """The samples of each function over all lines, whatever they hold."""
        counts = [Counter[str](), Counter[str]()]
        for side, sum_ in zip(self.sides, counts, strict=True):
            for one in side.objects.values():
                for waits in one.waits.values():
                    sum_.update(waits)
        for name in dict.fromkeys((*counts[0], *counts[1])):
            change = self.change(counts[0][name], counts[1][name])
            hidden = self.sides[1 if change.before else 0].unknown[NAMELESS]
            gone = change.fate in (Fate.VANISHED, Fate.NEW) and hidden >= max(change.before, change.after)
            if name != NAMELESS:
                yield MemberChange("", "", replace(change, fate=Fate.UNSEEN) if gone else change, functions=(name,))

    def _row(
        self, place: Place, change: Change, functions: Sequence[Counter[str]], key: Meeting | None = None
    ) -> MemberChange:
        before, after = functions
        waited = [{name for name, count in counts.items() if count} for counts in functions]
        writer = key.writer if key else Place("", "")
        return MemberChange(
            place.type,
            place.member,
            self._unless_unseen(change, functions[0] + functions[1], place.type),
            writer.type,
            writer.member,
            bool(key and key.apart),
            _most(before if change.before else after, waited[0] | waited[1]),
            () if key else _most(before, waited[0] - waited[1]),
            () if key else _most(after, waited[1] - waited[0]),
        )

    def _unless_unseen(self, change: Change, functions: Counter[str], type_: str) -> Change:
        """The change; what may be on a line of nothing known has neither vanished nor is it new for sure.

        Of samples it may be there if its functions are: which lines are known differs from one text to the next.
        """
        if change.fate not in (Fate.VANISHED, Fate.NEW):
            return change
        (here, _), (_, there) = self.unplaced if change.before else self.unplaced[::-1]
        rate = self.looked.after / self.looked.before if change.before else self.looked.before / self.looked.after
        named = sum(there[name] for name in functions.keys() - {NAMELESS})
        enough = named + there[NAMELESS] >= max(change.before, change.after) * rate
        hidden = enough or (named > 0 and not self.exact)
        return replace(change, fate=Fate.UNSEEN) if hidden or type_ in here else change


def _most(counts: Counter[str], names: set[str]) -> tuple[str, ...]:
    return tuple(name for name, count in counts.most_common() if count and name in names)[:MOST_FUNCTIONS]


def cautions(
    both: tuple[ProfileFindings, ProfileFindings], looked: Exposure, sides: tuple[ProfileSums, ProfileSums]
) -> Iterator[str]:
    """Reasons why a difference between two profiles may not be what it seems."""
    profiles = [one.profile for one in both]
    recordings = [one.recording for one in profiles]
    if recordings[0] and recordings[1]:
        yield (
            "counts are exact, but two runs of one command differ: a row counts as changed from five standard"
            f" deviations of unchanged rows, whose variance is {looked.scatter:.1f} times the count, more at locks"
        )
        differ = recordings[0].command[1:] != recordings[1].command[1:]
        if differ and looked.unit != OPERATIONS:
            yield "the commands differ: use --operations N,M if one did more work"
    else:
        yield from _about_samples(looked)
    if profiles[0].display != profiles[1].display:
        yield "one profile counts HITM and the other peer snoops: their counts cannot be compared"
    if any(line.nominal for one in profiles for line in one.lines):
        yield "a text without counts has shares only: counts assume 10,000 per line, and intervals mean nothing"
    for when, one, side in zip(("before", "after"), both, sides, strict=True):
        if missing := sum(map(unlisted, one.profile.lines)):
            accesses = "access stands" if missing == 1 else "accesses stand"
            yield f"{when}: {missing:,} contended {accesses} in no row, so what seems to have vanished may be there"
        if not recordings[0] and (nameless := side.unknown[NAMELESS]):
            yield f"{when}: of {nameless:,} contended accesses neither object nor function is known"
        if one.set_apart:
            hot = sum(line.contended for line in one.set_apart)
            lines = f"{len(one.set_apart):,} lines with {hot:,} contended accesses"
            yield f"{when}: {lines} are not compared, because emulation makes them hot"


def _about_samples(looked: Exposure) -> Iterator[str]:
    if not looked.unit:
        yield (
            "neither report has the number of samples: counts are compared as if both were sampled for the same"
            " time; less contention and fewer samples look the same"
        )
    if looked.scatter:
        yield (
            f"members differ by {looked.scatter:.1%} between the profiles beyond the counting error; the intervals"
            " include that"
        )
    yield "contended loads are not time: a faster run can have more of them; only a benchmark measures speed"
