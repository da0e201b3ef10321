# SPDX-License-Identifier: GPL-2.0-or-later
"""From a profile and the layouts of an ELF file to findings: attribute every line, then diagnose it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.attribution.code_touches import CodeTouches, by_function, by_instruction
from linesmith.analyzer.attribution.evidence import Evidence, functions_asked, gather
from linesmith.analyzer.attribution.line_members import agreements, line_members
from linesmith.analyzer.attribution.line_objects import joint_objects
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Access,
    Conflict,
    Finding,
    LineMember,
    LineObject,
    Operand,
    Outcome,
    Profile,
    SharedLine,
    Touched,
)
from linesmith.analyzer.sharing.accounts import samples_by_outcome
from linesmith.analyzer.sharing.cost import line_cost
from linesmith.analyzer.sharing.parts import OF_LINE, Part, parts, straddling
from linesmith.analyzer.sharing.statistics import profile_waited
from linesmith.analyzer.sharing.triage import infer_writers, triage
from linesmith.analyzer.slab.allocation import Kernel


@dataclass(frozen=True, slots=True)
class _Met:
    """A line with what lies on it; ``unseen`` are members that conflicts name and no access of the line."""

    line: SharedLine
    objects: tuple[LineObject, ...]
    members: tuple[LineMember, ...]
    unseen: tuple[LineMember, ...] = ()


@dataclass(frozen=True, slots=True)
class _Whole:
    """What all lines of a profile say together: ``contended`` accesses, ``waited`` cycles, and who lies where."""

    contended: int
    waited: float
    by_address: Mapping[int, Sequence[SharedLine]]

    def pair(self, address: int | None) -> tuple[SharedLine, ...]:
        """The lines at an address, and then those of the other half of its 128-byte pair."""
        if address is None:
            return ()
        return *self.by_address.get(address, ()), *self.by_address.get(address ^ CACHE_LINE_BYTES, ())


def findings(
    profile: Profile,
    layouts: Layouts,
    touched: Sequence[Touched],
    operands: Sequence[Operand] = (),
    wanted: str | None = None,
    lines: Sequence[SharedLine] | None = None,
    accesses: AccessMap | None = None,
    same_build: bool = False,
    kernel: Kernel | None = None,
) -> tuple[Finding, ...]:
    """One finding for each of ``lines``, in their order; without them, of all lines of the profile.

    The other lines of the profile still count: in shares, and as neighbours.

    ``touched`` and ``operands`` are what ``dwarf.touched`` and ``dwarf.operands`` say of the functions that
    ``evidence.functions_asked`` names; without operands the answer is less sure. Lines that could be of several
    types are taken for ``wanted`` ones where that explains them. ``accesses`` is the access map of the same file;
    ``same_build`` says that the code addresses of the profile are those of the file. ``kernel`` tells how objects lie
    in the slabs of the profiled kernel.
    """
    containment = Containment(layouts)
    explained = profile.lines if lines is None else lines
    mapped = _mapped(replace(profile, lines=tuple(explained)), accesses, same_build, containment)
    evidence = gather(touched, operands, layouts, *mapped)
    objects = joint_objects(explained, profile, evidence, containment, kernel, wanted)
    pairs = zip(explained, objects, strict=True)
    met = [_met(line, one, profile, evidence, containment) for line, one in pairs]
    by_address = {one.line.address: one for one in met}
    whole = _whole(profile)
    return tuple(
        _finding(one, profile, evidence, containment, _buddies(one.line, by_address, whole), whole) for one in met
    )


def _whole(profile: Profile) -> _Whole:
    by_address: dict[int, list[SharedLine]] = {}
    for line in profile.lines:
        if line.address is not None:
            by_address.setdefault(line.address, []).append(line)
    return _Whole(sum(line.contended for line in profile.lines), profile_waited(profile), by_address)


def _mapped(
    profile: Profile, accesses: AccessMap | None, same_build: bool, containment: Containment
) -> tuple[dict[str, CodeTouches], dict[int, CodeTouches]]:
    """What the functions of the profile and, if it is of the same build, its instructions touch."""
    if accesses is None:
        return {}, {}
    functions = by_function(*functions_asked(profile), accesses, containment)
    if not same_build:
        return functions, {}
    addresses = (access.code_address for line in profile.lines for access in line.accesses)
    return functions, by_instruction((one for one in addresses if one is not None), accesses, containment)


def _met(
    line: SharedLine, objects: tuple[LineObject, ...], profile: Profile, evidence: Evidence, containment: Containment
) -> _Met:
    members = line_members(line, objects, evidence, containment)
    unseen = line_members(replace(line, accesses=_untold(line)), objects, evidence, containment)
    return _Met(line, objects, infer_writers(members, profile), unseen)


def _untold(line: SharedLine) -> tuple[Access, ...]:
    """One for each offset that only a conflict names: a recording keeps the last writer, if not all that it wrote."""
    told = {access.offset for access in line.accesses}
    sides = [side for one in line.conflicts for side in _sides(one)]
    return tuple(Access(offset, function=function) for offset, function in dict(sides).items() if offset not in told)


def _sides(one: Conflict) -> tuple[tuple[int, str | None], ...]:
    return (one.offset, one.function), (one.writer_offset, one.writer_function)


def _buddies(line: SharedLine, met: Mapping[int | None, _Met], whole: _Whole) -> tuple[Part, ...]:
    """What is touched on the other line of the 128-byte pair, told apart from what is on this one."""
    if line.address is None or line.bytes != CACHE_LINE_BYTES:
        return ()
    other = next(iter(whole.by_address.get(line.address ^ CACHE_LINE_BYTES, ())), None)
    if other is None:
        return ()
    known = met.get(other.address)
    here = parts(other.accesses, known.members if known else (), known.objects if known else (), other.bytes)
    return tuple(replace(part, name=f"{part.name}{OF_LINE}{other.rank}") for part in here)


def _finding(
    met: _Met,
    profile: Profile,
    evidence: Evidence,
    containment: Containment,
    buddies: Sequence[Part],
    whole: _Whole,
) -> Finding:
    line, objects, members = met.line, met.objects, met.members
    straddles, near = straddling(line, objects, containment.layouts, profile), whole.pair(line.address)
    return Finding(
        line.rank,
        line.address,
        line.share if line.share is not None else line.contended / (whole.contended or 1),
        line.contended,
        line.stores,
        objects,
        members,
        triage(line, objects, members, replace(profile, lines=near), straddles, met.unseen),
        line.bytes,
        _outcomes(line, members, objects),
        line.apart,
        _simulated(profile),
        agreements(line, objects, evidence, containment),
        samples_by_outcome(_ended(line, members, objects)),
        line_cost(line, objects, members, profile, buddies, whole.waited, met.unseen),
        quoted=profile.excerpt and line.share is None,
        stores_sampled=profile.has_stores,
    )


def _simulated(profile: Profile) -> str:
    recording = profile.recording
    return f"{len(recording.nodes)} CPUs under {recording.on}" if recording else ""


def _outcomes(
    line: SharedLine, members: Sequence[LineMember], objects: Sequence[LineObject]
) -> tuple[tuple[Outcome, int], ...]:
    """Accesses by outcome; the counts add up to the accesses of the line."""
    return tuple(sorted(Counter(outcome for outcome, _ in _ended(line, members, objects)).items()))


def _ended(
    line: SharedLine, members: Sequence[LineMember], objects: Sequence[LineObject]
) -> list[tuple[Outcome, Access]]:
    placed = {member.offset for member in members if member.object_offset is not None}
    return [(_outcome(access, placed, objects), access) for access in line.accesses]


def _outcome(access: Access, placed: set[int], objects: Sequence[LineObject]) -> Outcome:
    offset = access.offset
    for one in objects:
        if offset is not None and one.size is not None and 0 <= offset - one.start < one.size:
            return one.outcome
    placed_here = offset in placed
    return objects[0].outcome if placed_here or objects[0].layout is None else Outcome.CANNOT_TELL
