# SPDX-License-Identifier: GPL-2.0-or-later
"""From a profile and the layouts of an ELF file to findings: attribute every line, then diagnose it.

Samples in equal samples out: ``accounts`` says where every sample of a profile ended. ``recorded_from`` names the
machine and the workload.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.attribution.code_touches import by_function, by_instruction, source_places
from linesmith.analyzer.attribution.evidence import CodeEvidence, function_names, gather
from linesmith.analyzer.attribution.line_members import agreements, line_members
from linesmith.analyzer.attribution.line_objects import cpus_of, joint_objects
from linesmith.analyzer.attribution.variables import lines_apart, owner_of_record
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment, containment_of
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Access,
    CacheLine,
    Finding,
    LineMember,
    LineObject,
    Operand,
    Outcome,
    Profile,
    SampleOutcome,
    Touched,
)
from linesmith.analyzer.sharing.cost import line_cost, profile_waited, unlisted
from linesmith.analyzer.sharing.parts import OF_LINE, LinePart, origin, parts, straddling
from linesmith.analyzer.sharing.triage import infer_writers, triage
from linesmith.analyzer.slab.allocation import Kernel

LEFT_OUT = "on lines not looked at"
SET_APART = "on lines set apart"
NO_ROW = "in no row of their line"
NO_LINE = "on lines that the profile left out"
OTHER_TYPE = "on lines that do not hold the type asked for"
# As many as `--cpus` takes.
MOST_CPUS = 1 << 16
# Characters of a command, and of one within a sentence.
_COMMAND, _SHORT_COMMAND = 1000, 60
# Records in another layout that are named.
MOST_NAMED = 3
# A path of somebody's machine; those of the system's folders are the same everywhere.
_PRIVATE = re.compile(r"(?<![^\s'\"=:])/(?!(?:bin|sbin|lib|lib64|usr|etc|dev|proc|sys)/)(?:[^\s/'\"]+/)+")


def findings(
    profile: Profile,
    layouts: Layouts,
    touched: Sequence[Touched],
    operands: Sequence[Operand] = (),
    lines: Sequence[CacheLine] | None = None,
    accesses: AccessMap | None = None,
    same_build: bool = False,
    kernel: Kernel | None = None,
    votes: Mapping[int, LineObject] = MappingProxyType({}),
) -> tuple[Finding, ...]:
    """One finding for each of ``lines``, in their order; without them, of all lines of the profile.

    The other lines of the profile still count: in shares, and as neighbours.

    ``touched`` and ``operands`` are what ``dwarf.touched`` and ``dwarf.operands`` say of the functions that
    ``evidence.function_names`` names; without operands the answer is less sure. ``accesses`` is the access map of the
    same file; ``same_build`` says that the code addresses of the profile are those of the file. ``kernel`` tells how
    objects lie in the slabs of the profiled kernel, ``votes`` what the code says of the objects of its areas.
    """
    containment = containment_of(layouts)
    explained = tuple(profile.lines if lines is None else lines)
    evidence = code_evidence(explained, profile, containment, touched, operands, accesses, same_build)
    if accesses is not None and same_build:
        addresses = {access.code_address for line in explained for access in line.accesses}
        evidence = replace(evidence, sources=source_places(filter(None, addresses), accesses))
    objects = joint_objects(explained, profile, evidence, kernel, votes)
    attributed = []
    for line, held in zip(explained, objects, strict=True):
        apart = _unsampled(line)
        named = line_members(replace(line, accesses=(*line.accesses, *apart)), held, evidence)
        unsampled = {access.offset for access in apart}
        members = infer_writers(tuple(one for one in named if one.offset not in unsampled), profile)
        unseen = tuple(one for one in named if one.offset in unsampled)
        attributed.append(_AttributedLine(line, held, members, unseen))
    by_address: dict[int, list[CacheLine]] = {}
    for line in profile.lines:
        if line.address is not None:
            by_address.setdefault(line.address, []).append(line)
    contended = sum(line.contended for line in profile.lines)
    whole = _WholeProfile(profile, contended, profile_waited(profile), by_address, lines_apart(profile))
    others = {one.line.address: one for one in attributed}
    return tuple(_finding(one, evidence, _buddies(one.line, others, whole), whole) for one in attributed)


@dataclass(frozen=True, slots=True)
class _AttributedLine:
    """A line with what lies on it; ``unseen`` are members that conflicts name and no access of the line."""

    line: CacheLine
    objects: tuple[LineObject, ...]
    members: tuple[LineMember, ...]
    unseen: tuple[LineMember, ...]


@dataclass(frozen=True, slots=True)
class _WholeProfile:
    """What all lines of a profile say together: ``contended`` accesses, ``waited`` cycles, and who lies where.

    ``apart`` are the lines that emulation makes hot, by address, with the owner of what lies there.
    """

    profile: Profile
    contended: int
    waited: float
    by_address: Mapping[int, Sequence[CacheLine]]
    apart: Mapping[int, str]

    def pair(self, address: int | None) -> tuple[CacheLine, ...]:
        """The lines at an address, and then those of the other half of its 128-byte pair."""
        if address is None:
            return ()
        return *self.by_address.get(address, ()), *self.by_address.get(address ^ CACHE_LINE_BYTES, ())


def code_evidence(
    lines: Sequence[CacheLine],
    profile: Profile,
    containment: Containment,
    touched: Sequence[Touched],
    operands: Sequence[Operand],
    accesses: AccessMap | None,
    same_build: bool,
) -> CodeEvidence:
    """What the functions of the lines and, if the profile is of the same build, their instructions touch."""
    if accesses is None:
        return gather(touched, operands, containment, {}, {})
    functions = by_function(*function_names(replace(profile, lines=tuple(lines))), accesses, containment)
    addresses = (access.code_address for line in lines for access in line.accesses) if same_build else ()
    instructions = by_instruction((one for one in addresses if one is not None), accesses, containment)
    return gather(touched, operands, containment, functions, instructions)


def _unsampled(line: CacheLine) -> tuple[Access, ...]:
    """One for each offset that only a conflict names: a recording keeps the last writer, if not all that it wrote."""
    sampled = {access.offset for access in line.accesses}
    functions: dict[int, str | None] = {}
    for one in line.conflicts:
        functions[one.offset] = one.function
        functions[one.writer_offset] = one.writer_function
    return tuple(Access(offset, function=name) for offset, name in functions.items() if offset not in sampled)


def _buddies(
    line: CacheLine, attributed: Mapping[int | None, _AttributedLine], whole: _WholeProfile
) -> tuple[LinePart, ...]:
    """What is touched on the other line of the 128-byte pair, distinguished from what is on this one."""
    if line.address is None or line.bytes != CACHE_LINE_BYTES:
        return ()
    other = next(iter(whole.by_address.get(line.address ^ CACHE_LINE_BYTES, ())), None)
    if other is None:
        return ()
    known = attributed.get(other.address)
    here = parts(other.accesses, known.members if known else (), known.objects if known else (), other.bytes)
    return tuple(replace(part, name=f"{part.name}{OF_LINE}{other.rank}") for part in here)


def _finding(
    one: _AttributedLine, evidence: CodeEvidence, buddies: Sequence[LinePart], whole: _WholeProfile
) -> Finding:
    line, objects, members, profile = one.line, one.objects, one.members, whole.profile
    straddler = straddling(line, objects, evidence.containment.layouts, whole.by_address)
    alone = replace(profile, lines=whole.pair(line.address))
    placed = {member.offset for member in members if member.object_offset is not None}
    outcomes: Counter[Outcome] = Counter()
    samples: Counter[Outcome] = Counter()
    for access in line.accesses:
        outcome = _outcome(access, placed, objects)
        outcomes[outcome] += 1
        samples[outcome] += samples_of(access)
    recording = profile.recording
    apart = "" if line.address is None else whole.apart.get(line.address, "")
    known = objects[0].type if objects and objects[0].outcome is Outcome.RESOLVED else ""
    return Finding(
        line.rank,
        line.address,
        line.share if line.share is not None else line.contended / (whole.contended or 1),
        line.contended,
        line.stores,
        objects,
        members,
        triage(line, objects, members, alone, straddler, one.unseen),
        line.bytes,
        tuple(sorted(outcomes.items())),
        apart or owner_of_record(known, profile),
        f"{len(recording.nodes)} CPUs under {recording.on}" if recording else "",
        agreements(line, objects, evidence),
        tuple(sorted((outcome, count) for outcome, count in samples.items() if count)),
        line_cost(line, objects, members, profile, buddies, whole.waited, one.unseen),
        quoted=profile.excerpt and line.share is None,
        stores_sampled=profile.has_stores,
    )


def _outcome(access: Access, placed: set[int], objects: Sequence[LineObject]) -> Outcome:
    """How the attribution of an access ended; ``placed`` are the offsets at which a member is known."""
    offset = access.offset
    for one in objects:
        if offset is not None and one.size is not None and 0 <= offset - one.start < one.size:
            return one.outcome
    return objects[0].outcome if offset in placed or objects[0].layout is None else Outcome.CANNOT_TELL


@dataclass(frozen=True, slots=True)
class SampleAccounts:
    """``samples`` that a profile has, and how many ended where; the counts of ``outcomes`` add up to them."""

    samples: int
    outcomes: tuple[tuple[str, int], ...]


def samples_of(access: Access) -> int:
    """Samples of one row: all of them where the profile says so, else those it has columns for."""
    return max(access.records or 0, access.contended + access.stores)


def _line_samples(line: CacheLine) -> int:
    """Samples of a line: never fewer than its rows have and those of them that were left out."""
    return max(line.records or 0, sum(map(samples_of, line.accesses)) + unlisted(line))


def accounts(profile: Profile, found: Sequence[Finding], left_out: Iterable[CacheLine]) -> SampleAccounts:
    """Where the samples of the profile ended, given the findings about its lines and the lines not looked at."""
    ended: Counter[str] = Counter()
    for finding in found:
        ended.update({outcome.value: count for outcome, count in finding.samples})
    not_looked_at, apart = {id(line) for line in left_out}, lines_apart(profile)
    for line in profile.lines:
        if id(line) in not_looked_at:
            ended[SET_APART if line.address in apart else LEFT_OUT] += _line_samples(line)
        else:
            ended[NO_ROW] += _line_samples(line) - sum(map(samples_of, line.accesses))
    on_lines = sum(map(_line_samples, profile.lines))
    ended[OTHER_TYPE] += on_lines - sum(ended.values())
    recorded = dict(profile.sampling.outcomes) if profile.sampling else {}
    shared = max(on_lines, recorded.pop(SampleOutcome.SHARED_LINE, on_lines))
    ended[NO_LINE] += shared - on_lines
    ended.update({outcome.value: count for outcome, count in recorded.items()})
    outcomes = tuple((name, count) for name, count in ended.most_common() if count)
    return SampleAccounts(shared + sum(recorded.values()), outcomes)


def type_of(finding: Finding) -> str:
    """The record or variable on the line; ``""`` where it is not known or no sure answer."""
    first = finding.objects[0] if finding.objects else None
    if first is None or not (first.variable or first.outcome in (Outcome.RESOLVED, Outcome.INNER_TYPE_ONLY)):
        return ""
    return first.type or first.variable


def place_of(finding: Finding) -> tuple[str, int] | None:
    """The type and the byte of the object with which the line begins: lines of one place are alike."""
    return (type_of(finding), -finding.objects[0].start) if type_of(finding) else None


def machine_cpus(profile: Profile, usual: int) -> int:
    """For how many CPUs the slabs of the profiled machine are made: as many as the profile says there are.

    Where it only names those sampled, ``usual`` or as many as these need.
    """
    said = cpus_of(profile)
    if said is not None:
        return min(max(said, 1), MOST_CPUS)
    found = [origin((access,)) for line in profile.lines for access in line.accesses]
    highest = (cpu + 1 for one in found for cpu in one.cpus or ())
    return min(max((usual, *(one.count or 0 for one in found), *highest)), MOST_CPUS)


def recorded_from(profile: Profile, *, another_build: bool = False) -> tuple[str, str]:
    """The machine and the workload as a noun with its article; the command that ran, empty where it is not known."""
    recording, sampling = profile.recording, profile.sampling
    words = shlex.join(recording.command) if recording else sampling.command if sampling else ""
    # In one line, without the folders of somebody's machine.
    command = textwrap.shorten(_PRIVATE.sub("", " ".join(words.split())), _COMMAND, placeholder="...")
    running = f"running {textwrap.shorten(command, _SHORT_COMMAND, placeholder=' ...')}" if command else ""
    if recording is not None:
        kernel = f"Linux {recording.kernel_release}" if recording.kernel_release else ""
        where = ", ".join(filter(None, (recording.on, kernel, running)))
        return f"a simulation of {len(recording.nodes)} CPUs and their caches ({where})", command
    build = " from another build" if another_build else ""
    if sampling is None:
        seen = max((access.cpus or 0 for line in profile.lines for access in line.accesses), default=0)
        cpus = f" with samples of {seen} CPUs" if seen > 1 else ""
        return f"a perf c2c report{build}{',' if build and cpus else ''}{cpus} (workload not named)", ""
    facts = [f"{sampling.cpus} CPUs" if sampling.cpus else "", f"Linux {sampling.release}" if sampling.release else ""]
    where = ", ".join(filter(None, (*facts, running)))
    return f"a perf profile{build}{f' ({where})' if where else ''}", command


def doubt_of_build(profile: Profile, found: Iterable[Finding], *, another: bool, same: bool) -> str:
    """A sentence on a report that is not known to be of the build of the ELF file; empty for one that is."""
    firsts = [finding.objects[0] for finding in found if finding.objects and not finding.simulated]
    if others := dict.fromkeys(one.type for one in firsts if one.laid_out_otherwise):
        told = "its members are identified by the functions that access them"
        return f"In the build of the report, {listed(others, MOST_NAMED)} is in another layout: {told}."
    if same or profile.recording or (profile.sampling and not another):
        return ""
    told = "are those at the report's offsets in this build, as far as the functions access them."
    return f"Members {told}" if another else f"Whether the report is of this build is not known: members {told}"
