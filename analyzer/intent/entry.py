# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile and a change that helped say should stay so: the intent of one record.

Members that a change keeps apart become isolations; ``usage`` says which members a profile saw, and whether they are
read or written there; the budget leaves some room to grow.

It is written as ``linesmith.toml`` has it: what is read back is equal. Types are added behind the end of such a file;
every other character stays as it is. The file of a user is replaced as a whole or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import IntentError, OutputError
from linesmith.analyzer.base.files import read_regular
from linesmith.analyzer.base.text import is_unseen
from linesmith.analyzer.intent.reading import MOST_BYTES, intent_in
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import meeting_phases
from linesmith.analyzer.layouts.leaves import named
from linesmith.analyzer.layouts.placement import round_up
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    ConflictPair,
    Finding,
    Isolation,
    Layout,
    Residual,
    SizeBudget,
    SlabBasis,
    TypeIntent,
)
from linesmith.analyzer.sharing.parts import own_members
from linesmith.analyzer.sharing.triage import doubted
from linesmith.analyzer.slab.allocation import Kernel, own_cache

# Shares of the object starts are written with two digits, rounded up.
_DIGITS = 100
# A member with a smaller share of the record's samples is not called hot.
HOT_PART = 0.01
# Of its own samples: from here on a member is written often, up to there hardly ever.
WRITTEN_PART = 0.05
READ_MOSTLY_PART = 0.02
# A record may grow by this part of its size, rounded up to whole lines, before its budget tells.
MARGIN = 16
# Steps in which the largest size is looked for of which a slab holds as many.
WORD = 8
_MOST_PAIRS = 3
# Of the contention on the record's lines; less is no reason for its layout.
_LEAST_SHARE = 0.01
_WIDTH = 100
_INDENT = "    "
_LAST_OF_FOUR_DIGITS = 0xFFFF
Value = str | int | float | Sequence[str] | None


def separated_by(candidate: Candidate, pairs: Iterable[ConflictPair], line_bytes: int) -> tuple[Residual, ...]:
    """Those of the ``pairs`` that the candidate parts on lines of ``line_bytes``, wherever objects are known to lie.

    The first member of each is the one that is written.
    """
    proofs: dict[tuple[str, str, int], float] = {}
    for proof in candidate.proofs:
        key = proof.first, proof.second, proof.line_bytes
        proofs[key] = max(proof.share, proofs.get(key, 0.0))
    found = []
    for pair in pairs:
        for one in candidate.residuals:
            if one.line_bytes == line_bytes and one.after < one.before and {one.first, one.second} == {*_members(pair)}:
                known = proofs.get((one.first, one.second, line_bytes), 0.0)
                found.append(Residual(*_members(pair), line_bytes, one.before, max(one.after, known)))
    return tuple(found)


def separated_between(
    before: tuple[Layout, Layouts], after: tuple[Layout, Layouts], pairs: Iterable[ConflictPair], line_bytes: int
) -> tuple[Residual, ...]:
    """Those of the ``pairs`` that meet in fewer phases of one layout than of the other."""
    found: list[Residual] = []
    for pair in pairs:
        then, now = _share(*before, pair, line_bytes), _share(*after, pair, line_bytes)
        if then is not None and now is not None and now < then:
            found.append(Residual(*_members(pair), line_bytes, then, now))
    return tuple(found)


def isolations(parted: Iterable[Residual]) -> tuple[Isolation, ...]:
    """What is to stay so: one isolation for each written member and share; of a pair separated twice, the weakest."""
    weakest: dict[tuple[str, str, int], float] = {}
    for one in parted:
        key = one.first, one.second, one.line_bytes
        if (one.second, one.first, one.line_bytes) not in weakest:
            weakest[key] = max(one.after, weakest.get(key, 0.0))
    grouped: dict[tuple[str, int, float], list[str]] = {}
    for (first, second, line_bytes), share in weakest.items():
        phases = ceil(share * _DIGITS) / _DIGITS
        if phases < 1:
            grouped.setdefault((first, line_bytes, phases), []).append(second)
    return tuple(Isolation((first,), tuple(others), size, phases) for (first, size, phases), others in grouped.items())


def _members(pair: ConflictPair) -> tuple[str, str]:
    """The two members, the one that is written first."""
    return (pair.first, pair.second) if pair.writer == pair.first else (pair.second, pair.first)


def _share(layout: Layout, layouts: Layouts, pair: ConflictPair, line_bytes: int) -> float | None:
    """In how many of the starts that the record's alignment allows the two meet; ``None`` where one is not there."""
    first, second = named(layout, layouts, pair.first), named(layout, layouts, pair.second)
    if first is None or second is None:
        return None
    granule = max(layout.natural_alignment, layout.alignment or 1)
    return meeting_phases(first.span, second.span, line_bytes, granule)


@dataclass(frozen=True, slots=True)
class Usage:
    """Members by what was sampled on them, hottest first; ``hot`` holds those of the other two, too.

    ``samples`` are all of the record's.
    """

    hot: tuple[str, ...]
    read_mostly: tuple[str, ...]
    write_hot: tuple[str, ...]
    samples: int


def usage(lines: Iterable[Finding], layout: Layout, layouts: Layouts) -> Usage:
    """What the lines' first objects, each such a record, were surely seen to be used for."""
    samples, writes, inferred = Counter[str](), Counter[str](), set[str]()
    for member in (one for line in lines for one in own_members(line) if not one.doubted):
        path = _outermost_path(member.path, layout, layouts)
        if path:
            samples[path] += member.reads + member.writes
            writes[path] += member.writes
            inferred |= {path} if member.write_inferred else set()
    ranked = sorted(samples, key=lambda path: -samples[path])
    hot = [path for path in ranked if samples[path] >= max(1, HOT_PART * samples.total())]
    written = tuple(path for path in hot if path in inferred or writes[path] / samples[path] >= WRITTEN_PART)
    read = (path for path in hot if path not in written and writes[path] / samples[path] <= READ_MOSTLY_PART)
    return Usage(tuple(hot), tuple(read), written, samples.total())


def _outermost_path(path: str, layout: Layout, layouts: Layouts) -> str:
    """The outermost member on the way to ``path`` that fits a cache line, or the last one before an array.

    Empty where the record has no such member.
    """
    told = ""
    for part in path.split("."):
        bare, bracket, _ = part.partition("[")
        longer = f"{told}.{bare}" if told else bare
        found = named(layout, layouts, longer)
        if found is None:
            break
        told = longer
        if bracket or found.span.size <= CACHE_LINE_BYTES:
            break
    return told


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an intent rests on: ``lines`` whose first objects are of the record, and which pairs a change ``separated``.

    ``profile`` and ``change`` stand in the reason: the profile's name, and in a clause what separates members and
    what was measured of it. ``kernel`` is ``None`` for a program. ``nominal`` tells that the profile has shares only.
    """

    layout: Layout
    layouts: Layouts
    lines: Sequence[Finding]
    profile: str
    separated: Sequence[Residual] = ()
    change: str = ""
    kernel: Kernel | None = None
    nominal: bool = False

    def entry(self, *, largest: int = 0) -> TypeIntent:
        """The intent of the record; ``largest`` is the size in bytes that a change gives it, where it grows."""
        seen = usage(self.lines, self.layout, self.layouts)
        # Members that C code can name, not those of another object on the line, and that surely were sampled.
        perhaps = frozenset[str]().union(*map(doubted, self.lines))
        sure = (one for one in self.separated if not perhaps & {one.first, one.second})
        apart = [one for one in sure if self._are_named(one.first, one.second)]
        return TypeIntent(
            record=self.layout.name,
            reason=one_line(self._reason()),
            isolations=isolations(apart),
            budget=budget(self.layout, self.kernel, largest),
            hot=seen.hot,
            read_mostly=seen.read_mostly,
            write_hot=seen.write_hot,
        )

    def _are_named(self, *names: str) -> bool:
        return all(_outermost_path(name, self.layout, self.layouts) for name in names)

    def _reason(self) -> str:
        contended = sum(line.cost.contended if line.cost.exact else line.contended for line in self.lines)
        count = len(self.lines)
        held = "1 line holds" if count == 1 else f"{count:,} lines hold"
        weight = "" if self.nominal else f", with {contended:,} {self.lines[0].unit}"
        said = [f"{self.profile}: {held} a {self.layout.title}{weight}"]
        for pair in self._heaviest() if contended else ():
            if pair.weight >= contended * _LEAST_SHARE:
                other = pair.second if pair.writer == pair.first else pair.first
                share = min(pair.weight / contended, 1)
                said.append(f"{pair.writer} is written beside {other} (in {share:.0%} of its contention)")
        return "; ".join(filter(None, (*said, _in_doubt(self.lines), self.change)))

    def _heaviest(self) -> list[ConflictPair]:
        """The pairs that cost most over all lines, of members that C code can name."""
        weights: dict[tuple[str, str, str], int] = {}
        for pair in (pair for line in self.lines for pair in line.triage.pairs):
            key = pair.first, pair.second, pair.writer
            if self._are_named(pair.first, pair.second):
                weights[key] = weights.get(key, 0) + pair.weight
        ranked = sorted(weights.items(), key=lambda item: -item[1])[:_MOST_PAIRS]
        return [ConflictPair(*names, weight) for names, weight in ranked]


def budget(layout: Layout, kernel: Kernel | None, largest: int = 0) -> SizeBudget:
    """Room for the record to grow, in whole lines, and as many objects in a slab as now where its cache is known.

    Of that room only as much as leaves a slab these objects: of two limits that differ one would never count.
    """
    size = max(layout.size, largest)
    room = round_up(size + size // MARGIN, CACHE_LINE_BYTES)
    cache = own_cache(layout, kernel) if kernel else None
    if kernel is None or cache is None or cache.basis is SlabBasis.ASSUMED or size != layout.size:
        return SizeBudget(room)
    objects = cache.geometry.objects
    return SizeBudget(_fitting(layout, kernel, objects, room), None, objects)


def _fitting(layout: Layout, kernel: Kernel, objects: int, room: int) -> int:
    """The largest size up to ``room``, in whole words, of which as many ``objects`` fit into a slab; else its own."""
    for size in range(room, layout.size, -WORD):
        cache = own_cache(replace(layout, size=size), kernel)
        if cache is not None and cache.geometry.objects >= objects:
            return size
    return layout.size


def _in_doubt(lines: Sequence[Finding]) -> str:
    """What `hot` doubts of the first line of which it doubts something, and of how many others it does."""
    doubts = [one.doubt for line in lines for one in line.objects[:1] if one.doubt]
    more = len(doubts) - 1
    held = "line" if more == 1 else "lines"
    others = f" (and more of {more:,} other {held}, as `linesmith hot` tells)" if more > 0 else ""
    return f"uncertain: {doubts[0]}{others}" if doubts else ""


def written(intent: TypeIntent) -> str:
    """The ``[[type]]`` of an intent with the tables in it, an empty line between them."""
    values: dict[str, Value] = {
        "name": intent.record,
        "reason": intent.reason,
        "link": intent.link,
        "configuration": intent.configuration,
        "hot": intent.hot,
        "read-mostly": intent.read_mostly,
        "write-hot": intent.write_hot,
    }
    tables = [_table("[[type]]", values)]
    budget = intent.budget
    if budget != SizeBudget():
        values = {"bytes": budget.bytes, "lines": budget.lines, "objects-per-slab": budget.objects_per_slab}
        tables.append(_table("[type.budget]", values))
    for group in intent.groups:
        values = {"name": group.name, "members": group.members, "lines": group.lines, "bytes": group.bytes}
        tables.append(_table("[[type.group]]", values))
    for one in intent.isolations:
        line = None if one.bytes == CACHE_LINE_BYTES else one.bytes
        values = {"members": one.members, "from": one.apart_from, "bytes": line, "phases": one.phases or None}
        tables.append(_table("[[type.isolate]]", values))
    return "\n".join(tables)


def one_line(text: str) -> str:
    """``text`` as a reason may hold it: what cannot be shown is a question mark."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))


def _table(header: str, values: Mapping[str, Value]) -> str:
    """A header with the keys that have a value."""
    said = (f"{key} = {_spelt(key, value)}" for key, value in values.items() if value not in (None, "", ()))
    return "".join(f"{line}\n" for line in (header, *said))


def _spelt(key: str, value: Value) -> str:
    """The value as it stands behind ``key``; a list on one line if it fits, else on as many as it takes."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float):
        return repr(value)
    items = [_quoted(one) for one in value or ()]
    whole = f"[{', '.join(items)}]"
    if len(key) + len(whole) + 3 <= _WIDTH:
        return whole
    lines = [_INDENT]
    for item in items:
        if len(lines[-1]) + len(item) > _WIDTH and lines[-1] != _INDENT:
            lines[-1] = lines[-1].rstrip()
            lines.append(_INDENT)
        lines[-1] += f"{item}, "
    return "\n".join(("[", *lines[:-1], lines[-1].rstrip(), "]"))


def _quoted(text: str) -> str:
    """A basic string of TOML, which has no pairs as JSON has; names of a build may hold any character."""
    signs = []
    for sign in text.replace("\\", "\\\\").replace('"', '\\"'):
        number = ord(sign)
        escaped = f"\\u{number:04x}" if number <= _LAST_OF_FOUR_DIGITS else f"\\U{number:08x}"
        signs.append(escaped if is_unseen(sign) else sign)
    return f'"{"".join(signs)}"'


def add_to(path: Path, wanted: TypeIntent) -> None:
    """Add the type to the file at ``path``, or make it; what it has stays to the byte, and its mode.

    Raises ``IntentError`` where it is no intent file or has an entry for the type, ``OutputError``.
    """
    known = read_regular(path, MOST_BYTES) if path.exists() or path.is_symlink() else b""
    try:
        text = known.decode()
    except UnicodeDecodeError:
        raise IntentError(f"{path} is not valid UTF-8; save it as UTF-8, or name another file") from None
    added = _added(text, wanted, str(path))
    try:
        files.replace_file(path, added.encode())
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; name another file") from None


def _added(text: str, wanted: TypeIntent, shown: str) -> str:
    """``text``, that of the file called ``shown``, with the type behind it.

    Raises ``IntentError`` where the text is no intent file, or already says what is wanted of the type in the same
    configuration.
    """
    known = intent_in(text, shown)
    for one in known.of(wanted.record):
        if set(one.configuration) == set(wanted.configuration):
            raise IntentError(
                f"{shown}:{one.place.rpartition(':')[2]}: {wanted.record} has an entry, which is not changed; write the"
                " new one to another file with -o, and merge by hand"
            )
    ending = "" if not text or text.endswith("\n") else "\n"
    parting = "\n" if text.strip() else ""
    result = f"{text}{ending}{parting}{written(wanted)}"
    # What a file says in inline tables cannot be gone on with behind its end.
    refusal, remedy = f"{shown}: cannot append to it", "write each type as a table `[[type]]` there"
    try:
        count = len(intent_in(result, shown).types)
    except IntentError as error:
        raise IntentError(f"{refusal} ({error}); {remedy}") from None
    if count != len(known.types) + 1:
        raise IntentError(f"{refusal}; {remedy}")
    return result
