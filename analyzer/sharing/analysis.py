# SPDX-License-Identifier: GPL-2.0-or-later
"""From a profile and its ELF file to findings: which lines are looked at, and what lies on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.attribution.evidence import function_names
from linesmith.analyzer.attribution.identify import lines_known_to_hold, lines_that_may_hold
from linesmith.analyzer.attribution.line_members import KNOWN
from linesmith.analyzer.attribution.line_objects import is_kernel
from linesmith.analyzer.attribution.placement import Trust, placed, refuse_other_samples, with_variables
from linesmith.analyzer.attribution.same_code import with_linked_code
from linesmith.analyzer.base.errors import BuildIdDiffers, DebugInfoMissing
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import Reading, operands, touched
from linesmith.analyzer.model import CacheLine, Finding, Profile
from linesmith.analyzer.sharing.contended_lock import name_locks
from linesmith.analyzer.sharing.cost import removable_limit
from linesmith.analyzer.sharing.findings import findings
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.kernel import machine_of, release_of

# Lines that are looked at unless the user asks for another number.
TOP = 50
# Records of which further lines are looked at, and lines of each.
MOST_RECORDS = 8
MOST_QUIET = 100


@dataclass(frozen=True, slots=True)
class Explanation:
    """Findings of a profile, hottest first.

    ``left_out`` are lines that were not looked at: those set apart, and those below the hottest; lines whose memory is
    known to hold another type than the one asked for are not among them. ``profile`` is the one ``given``, with its
    addresses as in the ELF file, if they are of the ``same_build``. ``reading`` is that of the ELF file, ``accesses``
    its access map, where one can be made. ``reports`` counts those of the profile's text.
    """

    findings: tuple[Finding, ...]
    left_out: tuple[CacheLine, ...]
    profile: Profile
    same_build: bool
    reading: Reading
    given: Profile
    accesses: AccessMap | None = None
    reports: int = 1


def explain(
    reading: Reading,
    profile: Profile,
    wanted: str | None = None,
    top: int = TOP,
    map_of: Callable[[Path], AccessMap | None] = lambda _: None,
    trust: Trust = Trust.BUILD_ID,
) -> Explanation:
    """Explain the ``top`` lines of the profile, or of those that may hold a record called ``wanted``.

    ``reading`` is that of the ELF file, ``map_of`` gives its access map, which can take long, once it is sure that the
    files fit; without one, what functions declare must do. ``trust`` is for sampled profiles of another build. Raises
    ``BuildIdDiffers`` when the profile was recorded on another build, ``DebugInfoMissing`` where there is BTF only,
    ``ElfError`` or ``DebugInfoDamaged``.
    """
    given, elf = profile, Path(reading.identity.path)
    _refuse_unfit(reading, profile, trust)
    accesses, kernel = map_of(elf), is_kernel(reading.layouts)
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
    kept, left_out = _hottest(profile, wanted, reading, top)
    found = _explained(reading, profile, kept, wanted, accesses, same_build)
    locks = name_locks(found, reading.layouts, accesses, partial(touched, elf), profile)
    return Explanation(locks, left_out, profile, same_build, reading, given, accesses)


def quiet_lines(found: Explanation) -> tuple[Finding, ...]:
    """Lines left out that hold records whose members were found to meet: who uses these where nobody waits.

    The record comes first in each. None where the profile does not know what its memory holds.
    """
    met = (one.objects[0] for one in found.findings if one.objects and one.triage.pairs)
    records = list(dict.fromkeys(one.type for one in met if one.layout is not None))[:MOST_RECORDS]
    if not found.profile.areas or not records:
        return ()
    reading = found.reading
    containment = Containment(reading.layouts)
    left = replace(found.profile, lines=tuple(line for line in found.left_out if not line.apart))
    lines: list[Finding] = []
    for record in records:
        kept = lines_known_to_hold(record, left, containment)[:MOST_QUIET]
        if kept:
            seen = _explained(reading, found.profile, kept, record, found.accesses, found.same_build)
            lines += holding(seen, record)
    return tuple(lines)


def _explained(
    reading: Reading,
    profile: Profile,
    kept: tuple[CacheLine, ...],
    wanted: str | None,
    accesses: AccessMap | None,
    same_build: bool,
) -> tuple[Finding, ...]:
    elf, asked = Path(reading.identity.path), function_names(replace(profile, lines=kept))
    return findings(
        profile,
        reading.layouts,
        touched(elf, *asked),
        operands(elf, *asked),
        wanted,
        kept,
        accesses,
        same_build,
        # Without it: a program, whose objects lie in no slabs.
        Kernel(machine_of(reading.identity.machine, release_of(elf))) if is_kernel(reading.layouts) else None,
    )


def _refuse_unfit(reading: Reading, profile: Profile, trust: Trust) -> None:
    """Raises what ``explain`` raises for files that do not fit."""
    if reading.reader == "BTF":
        elf = reading.identity.path
        message = f"{elf} holds BTF only, which does not tell what functions touch; give the same build with DWARF"
        raise DebugInfoMissing(message)
    recorded, build_id = profile.recording and profile.recording.build_id, reading.identity.build_id
    if recorded and build_id and recorded != build_id:
        raise BuildIdDiffers(
            f"{profile.source} was recorded on build-id {recorded}, but {reading.identity.path} has {build_id}; "
            "give the ELF file of the same build"
        )
    refuse_other_samples(profile, reading.identity, is_kernel(reading.layouts), trust)


def holding(found: tuple[Finding, ...], wanted: str) -> tuple[Finding, ...]:
    """The findings that hold a ``wanted`` record, with it first: what is proposed is for the first object.

    Those that may be one count only where none is known.
    """
    possible = [one for one in found if any(it.type == wanted for it in one.objects)]
    sure = [one for one in possible if any(it.type == wanted and it.outcome in KNOWN for it in one.objects)]
    return tuple(
        replace(one, objects=tuple(sorted(one.objects, key=lambda it: it.type != wanted))) for one in sure or possible
    )


def _hottest(
    profile: Profile, wanted: str | None, reading: Reading, top: int
) -> tuple[tuple[CacheLine, ...], tuple[CacheLine, ...]]:
    """The ``top`` lines that count, in the profile's order, and the other lines that may be worth a look.

    Of a recording half of them are those of which a layout can remove most, for of the hottest few can be helped.
    Only a look at every line of a report, or of samples, can tell which of them hold the ``wanted`` type.
    """
    counting = tuple(line for line in profile.lines if not line.apart)
    if wanted and profile.areas:
        able = lines_that_may_hold(wanted, replace(profile, lines=counting), Containment(reading.layouts))
        kept = able[:top] if profile.recording else able
    else:
        able = kept = counting
    if not wanted:
        # A contended lock is among the hottest and loses few misses when its neighbours leave, but costs time.
        hottest = range(min(len(able), top - top // 2))
        ranked = sorted(range(len(able)), key=lambda at: -removable_limit(able[at]))
        kept = tuple(able[at] for at in sorted(list(dict.fromkeys((*hottest, *ranked)))[:top]))
    others = set(map(id, able)) - set(map(id, kept))
    return kept, tuple(line for line in profile.lines if line.apart or id(line) in others)
