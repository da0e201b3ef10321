# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from two files to findings, which ``hot``, ``suggest`` and ``patch`` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from linesmith.analyzer.addresses.object_totals import object_totals
from linesmith.analyzer.addresses.placement import Trust
from linesmith.analyzer.cli.loading import load, load_accesses_if_any
from linesmith.analyzer.cli.snapshots import with_snapshot
from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.errors import NothingToSuggest, ProfileError, ProfileWithoutOffsets
from linesmith.analyzer.explain import TOP, Explanation, explain, holding, refuse_unfit
from linesmith.analyzer.explain import beside as explained_beside
from linesmith.analyzer.model import Finding, Profile, SharedLine
from linesmith.analyzer.selection import bare_name, nearest_names
from linesmith.plugins.registry import read_named_profiles, read_profiles

if TYPE_CHECKING:
    from linesmith.analyzer.access import AccessMap
    from linesmith.analyzer.layouts import Layouts

# Lines that are looked at where a type is named: a recording has many that may hold it.
TOP_OF_A_TYPE = 200


@dataclass(frozen=True, slots=True)
class Analysis:
    """Findings of one report of a profile text; ``section`` counts the text's reports from 1.

    ``given`` is the report as it was read, with the objects of a snapshot; ``profile`` is moved to where the ELF file
    has things. ``left_out`` are lines that were not looked at, as ``explain.Explanation`` has them. ``accesses`` is
    the access map of the ELF file, where one can be made.
    """

    reading: Reading
    given: Profile
    profile: Profile
    section: int
    sections: int
    findings: tuple[Finding, ...]
    left_out: tuple[SharedLine, ...] = ()
    accesses: AccessMap | None = None
    same_build: bool = False


def analyse(
    elf: Path,
    profile: Path,
    section: int,
    type_: str | None = None,
    top: int | None = None,
    snapshot: Path | None = None,
    trust: str | None = None,
) -> Analysis:
    """Read the files and explain the ``top`` lines of the chosen report, or of those that may hold a ``type_``.

    ``struct x`` and ``x`` are the same; a ``snapshot`` names objects by address; ``trust`` is what to go by where the
    builds differ. Raises ``NothingToSuggest`` when no line holds a ``type_``, ``BuildIdDiffers``, ``ProfileError``,
    ``SnapshotError``, ``ElfError``, ``DebugInfoMissing`` or ``DebugInfoDamaged``.
    """
    reports = read_named_profiles(profile) if trust == Trust.SYMBOLS else read_profiles(profile)
    chosen = _chosen(reports, section, profile)
    reading = load(elf)
    if snapshot is not None:
        chosen = with_snapshot(chosen, snapshot, reading.identity)
    wanted = bare_name(type_) if type_ else None
    trusted = Trust(trust or Trust.BUILD_ID)
    refuse_unfit(reading, elf, chosen, trusted)
    accesses = load_accesses_if_any(elf)
    looked_at = top or (TOP_OF_A_TYPE if wanted else TOP)
    found = explain(reading, elf, chosen, wanted, looked_at, accesses, trusted)
    parts = found.profile, section, len(reports), found.findings, found.left_out, accesses, found.same_build
    analysis = Analysis(reading, chosen, *parts)
    return analysis if wanted is None else _holding(analysis, wanted)


def beside(analysis: Analysis) -> tuple[Finding, ...]:
    """Lines that were not looked at, of the records that were found: what else is done to them."""
    found = Explanation(analysis.findings, analysis.left_out, analysis.profile, analysis.same_build)
    return explained_beside(analysis.reading, Path(analysis.reading.identity.path), found, analysis.accesses)


def with_offsets(analysis: Analysis) -> Analysis:
    """The same analysis; raises ``ProfileWithoutOffsets`` when its profile cannot name members."""
    profile = analysis.profile
    if not profile.has_offsets:
        cut = any(line.accesses for line in profile.lines)
        listed = "has rows whose offsets were cut out" if cut else "lists shared lines but no offsets"
        advice = (
            "paste them with the column 'Offset' as `perf c2c report --stdio` prints it"
            if cut
            else "paste the part headed 'Shared Cache Line Distribution Pareto' as well"
        )
        raise ProfileWithoutOffsets(f"{profile.source} {listed}, so members cannot be named; {advice}")
    return analysis


def _holding(analysis: Analysis, wanted: str) -> Analysis:
    kept = holding(analysis.findings, wanted)
    if not kept:
        nowhere = f"no line of {analysis.profile.source} was found to hold {wanted}"
        raise NothingToSuggest(f"{nowhere}{_not_called(analysis.reading.layouts, wanted)}; {_held(analysis)}")
    return replace(analysis, findings=kept)


def _not_called(layouts: Layouts, wanted: str) -> str:
    """That there is no such record at all, where so, with the names that are nearest."""
    if layouts.variants(wanted):
        return ""
    near = nearest_names(layouts, wanted)
    meant = f" (did you mean {', '.join(near)}?)" if near else ""
    return f": no struct or union is called so in the debug information{meant}"


def _held(analysis: Analysis) -> str:
    """What may be asked for instead: types recognised on a line, and those of variables and caches that lie on one."""
    recognised = (thing.type for one in analysis.findings for thing in one.objects if thing.type)
    lying = (one.types[0] for one in object_totals(analysis.profile) if len(one.types) == 1)
    types = dict.fromkeys((*recognised, *lying))
    return f"found: {', '.join(types)}" if types else "no object was recognised on any line; see `linesmith hot`"


def _chosen(reports: Sequence[Profile], section: int, path: Path) -> Profile:
    if not 1 <= section <= len(reports):
        said = "one report" if len(reports) == 1 else f"{len(reports)} reports"
        step = "leave --section away" if len(reports) == 1 else f"give one from 1 to {len(reports)}"
        raise ProfileError(f"{path} holds {said}, so there is no --section {section}; {step}")
    return reports[section - 1]
