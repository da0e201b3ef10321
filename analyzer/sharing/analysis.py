# SPDX-License-Identifier: GPL-2.0-or-later
"""From a profile and its ELF file to findings: which lines are looked at, and what lies on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.store import KeptAnswers, kept_answers
from linesmith.analyzer.attribution.code_touches import with_written_names
from linesmith.analyzer.attribution.evidence import evidence_of, function_names
from linesmith.analyzer.attribution.identify import (
    found_objects,
    identified,
    lines_known_to_hold,
    lines_of_unknown_memory,
    open_objects,
)
from linesmith.analyzer.attribution.line_members import KNOWN
from linesmith.analyzer.attribution.line_objects import ClaimedMemory, is_kernel
from linesmith.analyzer.attribution.placement import (
    Trust,
    placed,
    refuse_other_samples,
    with_linked_code,
    with_variables,
)
from linesmith.analyzer.attribution.variables import ObjectMap, lines_apart, main_area
from linesmith.analyzer.base.errors import DebugInfoMissing, ProfileError
from linesmith.analyzer.layouts.containment import Containment, containment_of
from linesmith.analyzer.layouts.dwarf import Reading, operands, touched
from linesmith.analyzer.model import CacheLine, Finding, LineObject, ObjectKind, Operand, Outcome, Profile, Touched
from linesmith.analyzer.sharing.contended_lock import name_locks
from linesmith.analyzer.sharing.cost import removable_limit
from linesmith.analyzer.sharing.findings import code_evidence, findings
from linesmith.analyzer.sharing.records import (
    WORTH_CHANGING,
    RecordContention,
    area_name,
    contention_by_record,
    record_name,
)
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.caches import machine_of, release_of

# Lines that are looked at unless the user asks for another number.
TOP = 100
# Records of which further lines are looked at, and lines of each.
MOST_RECORDS = 8
MOST_QUIET = 100
# Of a record that has this share of the contention so many lines are looked at, however cool each is.
MOST_EXAMPLES = 3
# Lines below the hottest that are looked at for a type.
MOST_COLDER = 200

_Code = tuple[tuple[Touched, ...], tuple[Operand, ...]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Findings of a profile, hottest first.

    ``left_out`` are lines that were not looked at: those that emulation makes hot, and those below the hottest.
    ``symbols`` are those of functions of C++, by the names in the profile.
    ``profile`` is the one ``given``, with its addresses as in the ELF file, if they are of the ``same_build``, and with
    what its objects are. ``votes`` are those of the code on these, by their first address. ``reading`` is that of the
    ELF file, ``accesses`` its access map, where one can be made. ``reports`` counts those of the profile's text.
    ``narrowed_to`` a type, ``others`` are the findings about lines that hold none, ``colder`` those about further lines
    that do; ``unseen`` are the lines that were left out before. ``records`` are those of the whole profile in any case.
    """

    findings: tuple[Finding, ...]
    left_out: tuple[CacheLine, ...]
    profile: Profile
    same_build: bool
    reading: Reading
    given: Profile
    accesses: AccessMap | None = None
    symbols: Mapping[str, str] = field(default_factory=dict)
    reports: int = 1
    votes: Mapping[int, LineObject] = field(default_factory=dict)
    others: tuple[Finding, ...] = ()
    colder: tuple[Finding, ...] = ()
    unseen: tuple[CacheLine, ...] = ()
    narrowed_to: str = ""
    records: tuple[RecordContention, ...] = ()
    answers: KeptAnswers | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class _KeptExplanation:
    """What of an explanation is kept: not the ``lines`` if they are those given, and no finding twice.

    ``left_out`` and those in ``explained``, which are of each record, are numbers of lines and of findings.
    """

    findings: tuple[Finding, ...]
    left_out: tuple[int, ...]
    profile: Profile
    lines: tuple[CacheLine, ...] | None
    same_build: bool
    votes: dict[int, LineObject]
    records: tuple[RecordContention, ...]
    explained: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, found: Explanation) -> _KeptExplanation:
        """What ``explain`` found."""
        profile, lines = found.profile, found.profile.lines
        number = {id(one): at for at, one in enumerate((*lines, *found.findings))}
        return cls(
            found.findings,
            tuple(number[id(line)] for line in found.left_out),
            replace(profile, lines=(), source=""),
            None if lines is found.given.lines else lines,
            found.same_build,
            dict(found.votes),
            tuple(replace(record, findings=()) for record in found.records),
            tuple(tuple(number[id(one)] - len(lines) for one in record.findings) for record in found.records),
        )

    def explanation(
        self, reading: Reading, given: Profile, accesses: AccessMap | None, answers: KeptAnswers
    ) -> Explanation:
        """What it was made of, for a profile and a build that are the same."""
        lines = given.lines if self.lines is None else self.lines
        pairs = zip(self.records, self.explained, strict=True)
        return Explanation(
            self.findings,
            tuple(lines[number] for number in self.left_out),
            replace(self.profile, lines=lines, source=given.source),
            self.same_build,
            reading,
            given,
            accesses,
            votes=self.votes,
            records=tuple(replace(one, findings=tuple(self.findings[at] for at in numbers)) for one, numbers in pairs),
            answers=answers,
        )


def explain(
    reading: Reading,
    profile: Profile,
    top: int = TOP,
    map_of: Callable[[Path], AccessMap | None] = lambda _: None,
    trust: Trust = Trust.BUILD_ID,
    digest: bytes = b"",
) -> Explanation:
    """Explain the ``top`` lines of the profile.

    ``reading`` is that of the ELF file, ``map_of`` gives its access map, which can take long, once it is sure that the
    files fit; without one, what functions declare must do. ``trust`` is for sampled profiles of another build. A
    ``digest`` stands for the profile's lines. Raises ``ProfileError`` when the profile was recorded on another build,
    ``DebugInfoMissing`` where there is BTF only, ``ElfError`` or ``DebugInfoDamaged``.
    """
    _refuse_unfit(reading, profile, trust)
    accesses = map_of(Path(reading.identity.path))
    symbols: Mapping[str, str] = {}
    lines = profile.lines
    if accesses is not None and not is_kernel(reading.layouts):
        profile, accesses, symbols = with_written_names(profile, accesses, reading.identity)
    digest, question = digest if profile.lines is lines else b"", ("explanation",)
    answers = kept_answers(reading, profile, digest, trust.value, accesses is not None, top)
    if answers is not None and (kept := answers.load(question, _KeptExplanation)) is not None:
        return replace(kept.explanation(reading, profile, accesses, answers), symbols=symbols)
    found = replace(_explained_anew(reading, profile, top, accesses, symbols, trust), answers=answers)
    if answers is not None:
        answers.keep(question, _KeptExplanation.of(found))
    return found


def _explained_anew(
    reading: Reading, profile: Profile, top: int, accesses: AccessMap | None, symbols: Mapping[str, str], trust: Trust
) -> Explanation:
    """What ``explain`` answers."""
    given, elf, kernel = profile, Path(reading.identity.path), is_kernel(reading.layouts)
    profile = placed(profile, reading.identity, reading.layouts, accesses, kernel, trust)
    # By build-id, or because its code addresses were found in the file.
    recorded = profile.recording.build_id if profile.recording else None
    same_build = bool(profile.sampling and profile.sampling.build_id) or (
        recorded is not None and recorded == reading.identity.build_id
    )
    if accesses is not None and profile.sampling is None and profile.recording is None:
        profile, moved = with_linked_code(profile, accesses, kernel, reading.identity)
        if moved is not None:
            same_build = True
            profile = with_variables(profile, reading.identity, reading.layouts, accesses, kernel, moved)
    kept, left_out = _hottest(profile, top)
    objects = open_objects(profile, kernel)
    # Of the functions of both at once: to look for any takes most of the time.
    code = _code_of((*objects, *kept), profile, elf, symbols)
    evidence = code_evidence(objects, profile, containment_of(reading.layouts), *code, accesses, same_build)
    known = identified(profile, objects, evidence)
    profile = replace(profile, areas=known.areas)
    found = Explanation((), left_out, profile, same_build, reading, given, accesses, symbols=symbols, votes=known.votes)
    locked = name_locks(_explained(found, kept, code), reading.layouts, accesses, partial(touched, elf), profile)
    if profile.recording is not None:
        profile = replace(profile, areas=(*profile.areas, *found_objects(profile, locked, reading.layouts)))
    records = contention_by_record(locked, profile, reading.layouts)
    return replace(found, findings=locked, profile=profile, records=records)


def narrowed(found: Explanation, record: str) -> Explanation:
    """Only the findings whose line holds a ``record``, as they are, and ``colder`` lines that hold one.

    The ``record`` is a type, or a variable that ``contention_by_record`` calls by its own name.

    Where none of the hottest does, the colder ones are the findings. Only a look at every line of a report, or of
    samples, can tell which of them hold one.
    """
    containment = containment_of(found.reading.layouts)
    held = holding(found.findings, record, containment)
    left, apart = replace(found.profile, lines=found.left_out), lines_apart(found.profile)
    lines = left.lines
    if found.profile.recording is not None:
        lines = lines_known_to_hold(record, left, containment)
        if not found.reading.layouts.variants(record):
            known = ObjectMap(area for area in left.areas if area_name(area) == record)
            lines = tuple(filter(known.met_on, left.lines))
        elif not is_kernel(found.reading.layouts):
            lines = (*lines, *_about(record, lines_of_unknown_memory(left), found, containment))
        lines = lines[:MOST_COLDER]
    colder = _apart(holding(_explained(found, lines), record, containment) if lines else (), found, containment)
    looked_at = set(map(id, lines))
    hidden = tuple(line for line in found.left_out if line.address in apart and id(line) not in looked_at)
    others = tuple(one for one in found.findings if one not in held)
    shown, behind = (held, colder) if held else (colder, ())
    narrow = replace(found, findings=shown, others=others, colder=behind, left_out=hidden)
    return replace(narrow, unseen=found.left_out, narrowed_to=record)


def _about(
    record: str, lines: tuple[CacheLine, ...], found: Explanation, containment: Containment
) -> tuple[CacheLine, ...]:
    """The lines on which code is known to touch a ``record`` or one that holds it.

    To explain all others takes most of the time, and what only a part of the record or a declaration speaks for is
    seldom sure.
    """
    if found.accesses is None:
        return lines
    own = found.reading.layouts.variants(record)
    wanted = {held.id for one in own for held in (one, *containment.holders(one.id))}
    code = code_evidence(lines, found.profile, containment, (), (), found.accesses, found.same_build)
    return tuple(
        line
        for line in lines
        if any(one in wanted for access in line.accesses for one, _ in evidence_of(access, code).touches.spots)
    )


def of_line(found: Explanation, rank: int) -> Explanation:
    """Only the findings about the line of that rank, explained now if it was left out."""
    own = tuple(one for one in (*found.findings, *found.colder) if one.rank == rank)
    own = own or _explained(found, [line for line in found.left_out if line.rank == rank])
    left = tuple(line for line in found.left_out if line.rank != rank)
    return replace(found, findings=own, colder=(), left_out=left, unseen=found.left_out)


def _apart(colder: Sequence[Finding], found: Explanation, containment: Containment) -> tuple[Finding, ...]:
    """The colder findings whose objects claim no bytes of an object of the hottest lines that is not the same."""
    lines, claimed = {line.rank: line for line in found.profile.lines}, ClaimedMemory(containment)
    for finding in found.findings:
        for one in finding.objects:
            claimed.add(one, lines[finding.rank])
    return tuple(it for it in colder if not any(claimed.rival(one, lines[it.rank]) for one in it.objects))


def quiet_lines(found: Explanation) -> tuple[Finding, ...]:
    """Lines left out that hold records whose members were found to meet: who uses these where nobody waits.

    The record comes first in each. None where the profile does not know what its memory holds.
    """
    everything = sorted((*found.findings, *found.others), key=lambda one: one.rank)
    met = (one.objects[0] for one in everything if one.objects and one.triage.pairs)
    records = list(dict.fromkeys(one.type for one in met if one.layout is not None))[:MOST_RECORDS]
    if not found.profile.areas or not records:
        return ()
    containment, apart = containment_of(found.reading.layouts), lines_apart(found.profile)
    quiet = tuple(line for line in found.unseen or found.left_out if line.address not in apart)
    left = replace(found.profile, lines=quiet)
    holding_one = {record: lines_known_to_hold(record, left, containment)[:MOST_QUIET] for record in records}
    lines = {id(line): line for kept in holding_one.values() for line in kept}
    explained = dict(zip(lines, _explained(found, tuple(lines.values())), strict=True))
    return tuple(
        one
        for record, kept in holding_one.items()
        for one in with_first([explained[id(line)] for line in kept], record)
    )


def _explained(found: Explanation, lines: Sequence[CacheLine], code: _Code | None = None) -> tuple[Finding, ...]:
    """The findings of these lines of the profile; ``code`` is that of their functions, if it was read before."""
    reading, elf, answers = found.reading, Path(found.reading.identity.path), None if code else found.answers
    question = "findings", *((line.rank, line.address) for line in lines)
    if answers is not None and (kept := answers.load(question, tuple[Finding, ...])) is not None:
        return kept
    explained = findings(
        found.profile,
        reading.layouts,
        *(code or _code_of(lines, found.profile, elf, found.symbols)),
        lines,
        found.accesses,
        found.same_build,
        # Without it: a program, whose objects lie in no slabs.
        Kernel(machine_of(reading.identity.machine, release_of(elf))) if is_kernel(reading.layouts) else None,
        found.votes,
    )
    if answers is not None:
        answers.keep(question, explained)
    return explained


def _code_of(lines: Sequence[CacheLine], profile: Profile, elf: Path, symbols: Mapping[str, str]) -> _Code:
    """What the functions of the lines declare, and the operands of their instructions; ``symbols`` are the file's."""
    whole, cut = function_names(replace(profile, lines=tuple(lines)))
    written = {symbols[name]: name for name in (*whole, *cut) if name in symbols}
    asked = [symbols.get(name, name) for name in whole] + [symbols[name] for name in cut if name in symbols]
    code = asked, [name for name in cut if name not in symbols]
    told = (replace(it, function=written[it.function]) if it.function in written else it for it in touched(elf, *code))
    used = (replace(it, function=written[it.function]) if it.function in written else it for it in operands(elf, *code))
    return tuple(told), tuple(used)


def _refuse_unfit(reading: Reading, profile: Profile, trust: Trust) -> None:
    """Raises what ``explain`` raises for files that do not fit."""
    if reading.reader == "BTF":
        elf = reading.identity.path
        message = f"{elf} holds BTF only, which does not tell what functions touch; give the same build with DWARF"
        raise DebugInfoMissing(message)
    recorded, build_id = profile.recording and profile.recording.build_id, reading.identity.build_id
    if recorded and build_id and recorded != build_id:
        raise ProfileError(
            f"{profile.source} was recorded on build-id {recorded}, but {reading.identity.path} has {build_id}; "
            "give the ELF file of the same build"
        )
    refuse_other_samples(profile, reading.identity, is_kernel(reading.layouts), trust)


def holding(found: Sequence[Finding], record: str, containment: Containment) -> tuple[Finding, ...]:
    """The findings of lines on which a ``record`` was met: as an object, around one, or in one; or of its variable.

    Those on which it may be one, or around one, count only where none is known.
    """

    def possible(one: LineObject) -> bool:
        return one.type == record or (one.outcome is Outcome.RESOLVED and record in one.containers)

    sure = tuple(one for one in found if any(_holds(it, one, record, containment) for it in one.objects))
    named = sure or tuple(one for one in found if record_name(one) == record)
    return named or tuple(one for one in found if any(map(possible, one.objects)))


def _holds(one: LineObject, finding: Finding, record: str, containment: Containment) -> bool:
    """Whether an object that is known is a ``record``, lies in one, or has one where it was accessed."""
    if one.layout is None or one.outcome not in KNOWN:
        return False
    if one.type == record or (one.origin and one.outcome is Outcome.RESOLVED and record in one.containers):
        return True
    met = (member.object_offset for member in finding.members if member.object_offset is not None)
    return any(record == name for at in met for leaf in containment.leaves(one.layout, at) for name, _ in leaf.chain)


def with_first(found: Sequence[Finding], record: str) -> tuple[Finding, ...]:
    """The findings that know a ``record``, with it first: what is proposed is for the first object."""
    known = [one for one in found if any(it.type == record and it.outcome in KNOWN for it in one.objects)]
    return tuple(replace(one, objects=tuple(sorted(one.objects, key=lambda it: it.type != record))) for one in known)


def _hottest(profile: Profile, top: int) -> tuple[tuple[CacheLine, ...], tuple[CacheLine, ...]]:
    """The ``top`` lines that count, in the profile's order, and the other lines that may be worth a look.

    Some of each record that counts, and of the rest half are those of which a layout can remove most, for of the
    hottest few can be helped.
    """
    apart = lines_apart(profile)
    able = tuple(line for line in profile.lines if line.address not in apart)
    # A contended lock is among the hottest and loses few misses when its neighbours leave, but costs time.
    hottest = range(min(len(able), top - top // 2))
    ranked = sorted(range(len(able)), key=lambda at: -removable_limit(able[at]))
    order = dict.fromkeys((*_examples(able, profile), *hottest, *ranked))
    kept = tuple(able[at] for at in sorted(list(order)[:top]))
    others = set(map(id, able)) - set(map(id, kept))
    return kept, tuple(line for line in profile.lines if line.address in apart or id(line) in others)


def _examples(lines: Sequence[CacheLine], profile: Profile) -> Iterator[int]:
    """The numbers of the hottest lines of each slab cache and variable that has a share worth a change.

    A record of which thousands of objects live has no hot line, and may still be what most CPUs meet on.
    """
    known, least = ObjectMap(profile.areas), WORTH_CHANGING * sum(line.contended for line in profile.lines)
    found: dict[tuple[ObjectKind, str], list[int]] = {}
    contended: Counter[tuple[ObjectKind, str]] = Counter()
    for at, line in enumerate(lines) if profile.areas else ():
        area = main_area(line, known)
        if area is not None and area.types:
            contended[area.kind, area.name] += line.contended
            found.setdefault((area.kind, area.name), []).append(at)
    for key, count in contended.most_common():
        yield from found[key][:MOST_EXAMPLES] if count >= least else ()
