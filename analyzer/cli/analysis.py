# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from two files to findings, which ``hot``, ``suggest`` and ``patch`` share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import (
    CodeMissing,
    DebugInfoMissing,
    NothingToSuggest,
    ProfileError,
    ProfileWithoutOffsets,
)
from linesmith.analyzer.cli.output import check_destinations, deliver, remark, say, shown
from linesmith.analyzer.model import ElfIdentity, Finding

if TYPE_CHECKING:
    from linesmith.analyzer.access.access_map import AccessMap
    from linesmith.analyzer.access.store import AccessReading
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.model import Profile, SharedLine
    from linesmith.analyzer.slab.allocation import Kernel


# Which kernel's slab caches hold the objects: its release, its CPUs, and what it says of its caches.

_RELEASE = re.compile(r"(\d{1,3})\.(\d{1,3})(?:[.-].*)?\Z")


@dataclass(frozen=True, slots=True)
class Running:
    """What the command line says of the kernel: its ``release`` (``None``: as ELF says), and the machine."""

    cpus: int
    page_bytes: int
    release: str | None = None
    slabinfo: Path | None = None


@dataclass(frozen=True, slots=True)
class KnownKernel:
    """The kernel of an ELF file; ``named`` tells that its release is known, not taken for the usual one."""

    kernel: Kernel
    named: bool


def kernel_of(elf: Path, identity: ElfIdentity, running: Running) -> KnownKernel:
    """The kernel that ``elf`` is or runs on.

    Raises ``click.UsageError`` for what is no release, ``SlabFactsError`` for a file that says nothing of caches.
    """
    from linesmith.analyzer.slab.allocation import Kernel
    from linesmith.analyzer.slab.kernel import machine_of, measured_caches, release_of

    release = _release(running.release) if running.release else release_of(elf)
    machine = machine_of(identity.machine, release, running.cpus, running.page_bytes)
    measured = measured_caches(running.slabinfo, running.page_bytes) if running.slabinfo else {}
    return KnownKernel(Kernel(machine, measured), release is not None)


def _release(text: str) -> tuple[int, int]:
    match = _RELEASE.match(text)
    if match is None:
        raise click.UsageError(f"--kernel {text} is no release; write it like 6.12")
    return int(match[1]), int(match[2])


# Keeps a profile as it was read, in our own format, where the user wants it.

_RESULTS = ("output", "save")


def check_save(save: Path | None, output: Path | None) -> None:
    """Raise ``OutputError`` or ``ToolMissing`` where ``save_profile`` would, before any work is done."""
    from linesmith.plugins.profiles.recorded import can_hold

    if save is not None:
        can_hold(save)
        check_destinations([place for place in (save, output) if place], _RESULTS)


def save_profile(profile: Profile, save: Path | None) -> None:
    """Write the profile and say so; raises ``OutputError``, or ``ProfileError`` for counts that it cannot hold."""
    from linesmith.plugins.profiles.recorded import encode_for

    if save is not None:
        deliver(encode_for(profile, save), save, _RESULTS)
        say(f"profile: {save}")


# Reads an ELF file for a command, with progress and remarks on standard error.


def load(elf: Path) -> Reading:
    """The layouts of ``elf``; says how far it is when standard error is a terminal, and what went less than well."""
    from linesmith.analyzer.layouts.dwarf import read_layouts

    with shown(f"reading {elf.name}") as progress:
        reading = read_layouts(elf, progress)
    _say(reading.remarks)
    return reading


def load_accesses(elf: Path) -> AccessReading:
    """The access map of ``elf``, made when it is not at hand; says the same things."""
    from linesmith.analyzer.access.store import read_accesses  # imports numpy, which most commands do without

    with shown(f"following the code of {elf.name}") as progress:
        reading = read_accesses(elf, progress)
    _say(reading.remarks)
    return reading


def load_accesses_if_any(elf: Path) -> AccessMap | None:
    """The access map of ``elf``; where none can be made it says why, for there is weaker evidence to go by."""
    try:
        return load_accesses(elf).accesses
    except (CodeMissing, DebugInfoMissing) as error:
        _say((f"{error}; so what functions declare must tell what they touch",))
        return None


def _say(remarks: tuple[str, ...]) -> None:
    for sentence in remarks:
        remark(sentence)


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
    from linesmith.analyzer.attribution.placement import Trust
    from linesmith.analyzer.cli.snapshot import with_snapshot
    from linesmith.analyzer.layouts.collection import bare_name
    from linesmith.analyzer.sharing.analysis import TOP, explain, refuse_unfit
    from linesmith.plugins.registry import read_named_profiles, read_profiles

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
    from linesmith.analyzer.sharing.analysis import Explanation, quiet_lines

    found = Explanation(analysis.findings, analysis.left_out, analysis.profile, analysis.same_build)
    return quiet_lines(analysis.reading, Path(analysis.reading.identity.path), found, analysis.accesses)


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
    from linesmith.analyzer.sharing.analysis import holding

    kept = holding(analysis.findings, wanted)
    if not kept:
        nowhere = f"no line of {analysis.profile.source} was found to hold {wanted}"
        raise NothingToSuggest(f"{nowhere}{_not_called(analysis.reading.layouts, wanted)}; {_held(analysis)}")
    return replace(analysis, findings=kept)


def _not_called(layouts: Layouts, wanted: str) -> str:
    """That there is no such record at all, where so, with the names that are nearest."""
    from linesmith.analyzer.layouts.collection import nearest_names

    if layouts.variants(wanted):
        return ""
    near = nearest_names(layouts, wanted)
    meant = f" (did you mean {', '.join(near)}?)" if near else ""
    return f": no struct or union is called so in the debug information{meant}"


def _held(analysis: Analysis) -> str:
    """What may be asked for instead: types recognised on a line, and those of variables and caches that lie on one."""
    from linesmith.analyzer.attribution.variables import object_totals

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


# Saves what was read of an ELF file, with what else its layouts are judged by: the kernel's release.


def save(reading: Reading, elf: Path, destination: Path) -> None:
    """Write the index of ``elf``; raises ``OutputError``."""
    import msgspec

    from linesmith.analyzer.layouts.store import NO_STAMP, IndexedLayouts, SavedIndex, content
    from linesmith.analyzer.slab.kernel import release_of

    release = release_of(elf)
    # As linux_banner has it, so that the release is found here as it is in an image.
    banner = "Linux version {}.{} ".format(*release) if release else ""
    # It is made to be handed on, so it does not tell where the file lay.
    identity = replace(reading.identity, path=elf.name, debug_path=None)
    layouts = IndexedLayouts(msgspec.structs.replace(reading.layouts.head, stamp=NO_STAMP), reading.layouts.body)
    deliver(content(SavedIndex(identity, reading.reader, banner), layouts), destination)
