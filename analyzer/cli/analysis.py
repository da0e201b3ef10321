# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from two files to findings, which ``hot``, ``suggest`` and ``patch`` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.dwarf import Reading, operands, touched
from linesmith.analyzer.errors import (
    BuildIdDiffers,
    DebugInfoMissing,
    NothingToSuggest,
    ProfileError,
    ProfileWithoutOffsets,
)
from linesmith.analyzer.evidence import functions_asked
from linesmith.analyzer.findings import findings
from linesmith.analyzer.holders import lines_that_may_hold
from linesmith.analyzer.model import Finding, Profile, SharedLine
from linesmith.plugins.registry import read_profiles

# Lines that are looked at unless the user asks for another number.
TOP = 50


@dataclass(frozen=True, slots=True)
class Analysis:
    """Findings of one report of a profile text; ``section`` counts the text's reports from 1.

    ``left_out`` are lines of the report that were not looked at: those set apart, and those below the hottest.
    """

    reading: Reading
    profile: Profile
    section: int
    sections: int
    findings: tuple[Finding, ...]
    left_out: tuple[SharedLine, ...] = ()


def analyse(elf: Path, profile: Path, section: int, type_: str | None = None, top: int = TOP) -> Analysis:
    """Read both files and explain the ``top`` lines of the chosen report, or of those that hold a ``type_``.

    ``struct x`` and ``x`` are the same. Raises ``NothingToSuggest`` when no
    line holds one, ``BuildIdDiffers``, ``ProfileError``, ``ElfError``, ``DebugInfoMissing`` or ``DebugInfoDamaged``.
    """
    reports = read_profiles(profile)
    chosen = _chosen(reports, section, profile)
    reading = _with_code(load(elf), elf)
    _same_build(chosen, reading)
    wanted = type_.split()[-1] if type_ else None
    kept, left_out = _hottest(chosen, wanted, reading, top)
    asked = functions_asked(replace(chosen, lines=kept))
    found = findings(chosen, reading.layouts, touched(elf, *asked), operands(elf, *asked), wanted, kept)
    analysis = Analysis(reading, chosen, section, len(reports), found, left_out)
    return analysis if wanted is None else _holding(analysis, wanted)


def with_offsets(analysis: Analysis) -> Analysis:
    """The same analysis; raises ``ProfileWithoutOffsets`` when its profile cannot name members."""
    if not analysis.profile.has_offsets:
        message = (
            f"{analysis.profile.source} lists shared lines but no offsets, so members cannot be named; "
            "paste the part headed 'Shared Cache Line Distribution Pareto' as well"
        )
        raise ProfileWithoutOffsets(message)
    return analysis


def _holding(analysis: Analysis, wanted: str) -> Analysis:
    kept = tuple(_foremost(one, wanted) for one in analysis.findings if any(it.type == wanted for it in one.objects))
    if not kept:
        raise NothingToSuggest(f"no line of {analysis.profile.source} was found to hold {wanted}; {_held(analysis)}")
    return replace(analysis, findings=kept)


def _foremost(finding: Finding, wanted: str) -> Finding:
    """The finding with the objects of the wanted type first: what is proposed is for the first object."""
    return replace(finding, objects=tuple(sorted(finding.objects, key=lambda one: one.type != wanted)))


def _hottest(
    profile: Profile, wanted: str | None, reading: Reading, top: int
) -> tuple[tuple[SharedLine, ...], tuple[SharedLine, ...]]:
    """The ``top`` lines that count, in the profile's order, and the other lines.

    Only a look at every line of a pasted report can tell which of them hold the ``wanted`` type.
    """
    counting = [line for line in profile.lines if not line.apart]
    if wanted and profile.areas:
        may_hold = lines_that_may_hold(wanted, replace(profile, lines=tuple(counting)), Containment(reading.layouts))
        kept = may_hold[:top]
    else:
        kept = tuple(counting if wanted else counting[:top])
    chosen = set(map(id, kept))
    return kept, tuple(line for line in profile.lines if id(line) not in chosen)


def _same_build(profile: Profile, reading: Reading) -> None:
    """A recording's addresses are those of one build; raises ``BuildIdDiffers`` for another."""
    recorded = profile.recording.build_id if profile.recording else None
    given = reading.identity.build_id
    if recorded and given and recorded != given:
        raise BuildIdDiffers(
            f"{profile.source} was recorded on build-id {recorded}, but {reading.identity.path} has {given}; "
            "give the ELF file of the same build"
        )


def _with_code(reading: Reading, elf: Path) -> Reading:
    if reading.reader == "BTF":
        message = f"{elf} holds BTF only, which does not tell what functions touch; give the same build with DWARF"
        raise DebugInfoMissing(message)
    return reading


def _held(analysis: Analysis) -> str:
    types = dict.fromkeys(thing.type for one in analysis.findings for thing in one.objects if thing.type)
    return f"found: {', '.join(types)}" if types else "no object was recognised on any line; see `linesmith hot`"


def _chosen(reports: Sequence[Profile], section: int, path: Path) -> Profile:
    if not 1 <= section <= len(reports):
        raise ProfileError(f"{path} holds {len(reports)} report(s), so there is no --section {section}")
    return reports[section - 1]
