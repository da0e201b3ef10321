# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from files to what commands work on: layouts, access maps, findings, and the kernel they are judged for.

Progress and remarks go to standard error. What explains a profile is ``analyzer.sharing.analysis``; here its files are
read, and what they do not hold is refused with the next step.
"""

from __future__ import annotations

import gc
import re
import shlex
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
    SnapshotError,
    TraceError,
    TypeNotFound,
)
from linesmith.analyzer.cli.options import EXPLAINED, FIRST_REPORT, words_to_go_on
from linesmith.analyzer.cli.output import check_destinations, deliver, remark, say, shown

if TYPE_CHECKING:
    from linesmith.analyzer.access.access_map import AccessMap
    from linesmith.analyzer.access.store import AccessReading
    from linesmith.analyzer.cli.options import EvidenceOptions, MachineOptions
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.lint.rules.catalogue import LintedBuild
    from linesmith.analyzer.model import ElfIdentity, Profile, Snapshot
    from linesmith.analyzer.sharing.analysis import Explanation
    from linesmith.analyzer.slab.allocation import Kernel


_RELEASE = re.compile(r"(\d{1,3})\.(\d{1,3})(?:[.-].*)?\Z")
_RESULTS = ("output", "save")
# Records and variables that may be asked for instead.
MOST_NAMES = 20


# An ELF file.


def load(elf: Path) -> Reading:
    """The layouts of ``elf``; says how far it is when standard error is a terminal, and what went less than well."""
    from linesmith.analyzer.layouts.dwarf import read_layouts

    with shown(f"reading {elf.name}") as progress:
        reading = read_layouts(elf, progress)
    for sentence in reading.remarks:
        remark(sentence)
    return reading


def load_accesses(elf: Path) -> AccessReading:
    """The access map of ``elf``, made when it is not at hand; says the same things."""
    from linesmith.analyzer.access.store import read_accesses  # imports numpy, which most commands do without

    with shown(f"analyzing the code of {elf.name}") as progress:
        reading = read_accesses(elf, progress)
    for sentence in reading.remarks:
        remark(sentence)
    return reading


def load_accesses_if_any(elf: Path) -> AccessMap | None:
    """The access map of ``elf``; where none can be made it says why, for there is weaker evidence to go by."""
    try:
        return load_accesses(elf).accesses
    except (CodeMissing, DebugInfoMissing) as error:
        remark(f"{error}; accesses are derived from the types that functions declare")
        return None


def save_index(reading: Reading, elf: Path, destination: Path) -> None:
    """Write the layouts of ``elf`` with what else they are judged by, its kernel's release; raises ``OutputError``."""
    import msgspec

    from linesmith.analyzer.layouts.store import NO_STAMP, IndexedLayouts, SavedIndex, content
    from linesmith.analyzer.slab.caches import release_of

    release = release_of(elf)
    # As linux_banner has it, so that the release is found here as it is in an image.
    banner = "Linux version {}.{} ".format(*release) if release else ""
    # It is made to be handed on, so it does not tell where the file lay.
    identity = replace(reading.identity, path=elf.name, debug_path=None)
    layouts = IndexedLayouts(msgspec.structs.replace(reading.layouts.head, stamp=NO_STAMP), reading.layouts.body)
    deliver(content(SavedIndex(identity, reading.reader, banner), layouts), destination)


# The kernel whose slab caches hold the objects, and the source tree.


@dataclass(frozen=True, slots=True)
class KnownKernel:
    """The kernel of an ELF file; ``named`` tells that its release is known, not taken for the usual one."""

    kernel: Kernel
    named: bool


def kernel_of(elf: Path, identity: ElfIdentity, machine: MachineOptions) -> KnownKernel:
    """The kernel that ``elf`` is or runs on.

    Raises ``click.UsageError`` for what is no release, ``SlabFactsError`` for a file that says nothing of caches.
    """
    from linesmith.analyzer.slab.allocation import Kernel
    from linesmith.analyzer.slab.caches import machine_of, measured_caches, release_of

    if not machine.release:
        release = release_of(elf)
    elif match := _RELEASE.match(machine.release):
        release = int(match[1]), int(match[2])
    else:
        raise click.UsageError(f"--kernel {machine.release} is not a release; write it like 6.12")
    measured = measured_caches(machine.slabinfo, machine.page_bytes) if machine.slabinfo else {}
    kernel = Kernel(machine_of(identity.machine, release, machine.cpus, machine.page_bytes), measured)
    return KnownKernel(kernel, release is not None)


def side(machine: MachineOptions, reading: Reading) -> LintedBuild:
    """A build as the lint judges it, where nobody asks who touches what."""
    from linesmith.analyzer.lint.rules.catalogue import LintedBuild
    from linesmith.analyzer.slab.allocation import has_slabs

    kernel = kernel_of(Path(reading.identity.path), reading.identity, machine).kernel
    return LintedBuild(reading.layouts, kernel, slabs=has_slabs(reading.layouts))


def root_of(place: Path) -> Path:
    """The root of the git tree around ``place``, or ``place`` where there is none."""
    return next((one for one in (place, *place.parents) if (one / ".git").exists()), place)


# A profile.


def analyse(
    elf: Path,
    profile: Path,
    evidence: EvidenceOptions = FIRST_REPORT,
    type_: str | None = None,
    top: int | None = None,
    trace: Path | None = None,
) -> Explanation:
    """Read the files and explain the ``top`` lines of a report, of which a ``type_`` shows some.

    ``struct x`` and ``x`` are the same. A ``trace`` must be that of the report: ``TraceError`` comes before the work.
    Raises ``NothingToSuggest`` when no line holds a ``type_``, ``ProfileError``, also for a profile that cannot name
    members, ``TypeNotFound``, ``BuildIdDiffers``, ``SnapshotError``, ``ElfError``,
    ``DebugInfoMissing`` or ``DebugInfoDamaged``.
    """
    from linesmith.analyzer.attribution.placement import Trust
    from linesmith.analyzer.sharing.analysis import TOP, explain
    from linesmith.plugins.api import SCRIPT
    from linesmith.plugins.profiles.formats import digest_of
    from linesmith.plugins.registry import read_profiles

    reports = read_profiles(profile)
    gc.freeze()  # the command ends soon: to look for circles among a million values takes half a second
    report = _chosen(reports, evidence.section, profile)
    trust = Trust(evidence.trust or Trust.BUILD_ID)
    named = any(access.function for line in report.lines for access in line.accesses)
    if trust is Trust.SYMBOLS and report.sampling is not None and not named:
        raise ProfileError(f"{profile} has no names of functions for --by-symbol; give the text of {SCRIPT}")
    if trace is not None:
        from linesmith.tuner.replay.replayer import trace_of

        trace_of(report.recording, profile, trace)
    reading = load(elf)
    if evidence.snapshot is not None:
        report = _with_snapshot(report, evidence.snapshot, reading.identity)
    found = explain(reading, report, top or TOP, load_accesses_if_any, trust, digest_of(report.lines))
    found = narrowed_to(replace(found, reports=len(reports)), type_)
    _refuse_without_offsets(found.profile)
    return found


def narrowed_to(found: Explanation, type_: str | None, line: int | None = None) -> Explanation:
    """Only what holds a ``type_`` or is that variable, or only the ``line`` of that rank; all of it without either.

    Raises ``NothingToSuggest`` when no line holds a ``type_``, ``ProfileError`` where there is no such line.
    """
    from linesmith.analyzer.layouts.collection import bare_name
    from linesmith.analyzer.sharing.analysis import narrowed, of_line

    whole = found
    if type_ and not (found := narrowed(whole, bare_name(type_))).findings:
        raise _not_held(whole, bare_name(type_))
    if line is not None and not (found := of_line(found, line)).findings:
        raise ProfileError(f"{whole.profile.source} has no line {line}; `linesmith hot --full` lists them")
    return found


def _chosen(reports: Sequence[Profile], section: int, path: Path) -> Profile:
    if not 1 <= section <= len(reports):
        said = "one report" if len(reports) == 1 else f"{len(reports)} reports"
        step = "leave out --section" if len(reports) == 1 else f"give one from 1 to {len(reports)}"
        raise ProfileError(f"{path} holds {said}, so --section {section} does not exist; {step}")
    return reports[section - 1]


def _refuse_without_offsets(profile: Profile) -> None:
    if not profile.has_offsets:
        cut = any(line.accesses for line in profile.lines)
        listed = "has rows without offsets" if cut else "lists shared lines but no offsets"
        advice = (
            "include the column 'Offset' of `perf c2c report --stdio`"
            if cut
            else "include the part headed 'Shared Cache Line Distribution Pareto'"
        )
        raise ProfileError(f"{profile.source} {listed}, so members cannot be named; {advice}")


def _not_held(found: Explanation, record: str) -> NothingToSuggest | TypeNotFound:
    """The answer that no line holds the type, and the records and variables that do lie there, most contended first."""
    from linesmith.analyzer.base.text import listed
    from linesmith.analyzer.layouts.collection import records_meant

    recognised = (thing.type for one in found.findings for thing in one.objects if thing.type)
    names = dict.fromkeys((*(one.name for one in found.records if one.name), *recognised))
    instead = (
        f"found: {listed(names, MOST_NAMES)}" if names else f"no object was recognised; see `{hot_command(found)}`"
    )
    none = f"no line of {found.profile.source} holds {record}"
    if not found.reading.layouts.variants(record):
        near = records_meant(found.reading.layouts, record)
        meant = f" ({near})" if near else ""
        raise TypeNotFound(f"{none}: no such type or variable{meant}; {instead}")
    return NothingToSuggest(f"{none}; {instead}")


def hot_command(found: Explanation) -> str:
    """The command, as a shell takes it, that shows all of the profile as this command explained it."""
    files = Path(found.reading.identity.path), Path(found.profile.source)
    return shlex.join(("linesmith", "hot", *words_to_go_on(*files, EXPLAINED)))


def _with_snapshot(profile: Profile, path: Path, elf: ElfIdentity) -> Profile:
    """The profile with the objects of a saved snapshot; raises ``SnapshotError`` when they are another kernel's."""
    from linesmith.analyzer.model import Remark
    from linesmith.plugins.snapshots.identify import read_snapshot

    snapshot = read_snapshot(path)
    if snapshot.build_id and elf.build_id and snapshot.build_id != elf.build_id:
        raise SnapshotError(
            f"{path} is a snapshot of build-id {snapshot.build_id}, but {elf.path} has {elf.build_id}; give the ELF"
            " file of the same build"
        )
    addresses = addresses_of(profile)
    if not known_among(addresses, snapshot):
        raise SnapshotError(
            f"{path} has none of the {len(addresses):,} addresses of {profile.source}; take a snapshot before the"
            " machine reboots"
        )
    return replace(profile, areas=snapshot.areas, remarks=(*profile.remarks, *map(Remark, snapshot.remarks)))


def addresses_of(profile: Profile) -> frozenset[int]:
    """Every address of its accesses."""
    return frozenset(
        line.address + (access.offset or 0)
        for line in profile.lines
        if line.address is not None
        for access in line.accesses
    )


def known_among(addresses: frozenset[int], snapshot: Snapshot) -> int:
    """How many of the addresses lie in objects of the snapshot."""
    from linesmith.analyzer.attribution.variables import ObjectMap

    known = ObjectMap(snapshot.areas)
    return sum(known.at(address) is not None for address in addresses)


def trace_to_replay(found: Explanation, profile: Path, named: Path | None) -> Path | None:
    """The trace to replay: the one that is ``named``, which ``analyse`` has checked, or else the recording's own.

    Where that is not there, or is another's, a remark says so.
    """
    from linesmith.tuner.replay.replayer import trace_of

    try:
        return named or trace_of(found.given.recording, profile)
    except TraceError as error:
        remark(f"the trace is not replayed: {error}")
        return None


def check_save(save: Path | None, output: Path | None) -> None:
    """Raise ``OutputError`` where ``save_profile`` would, before any work is done."""
    if save is not None:
        check_destinations([place for place in (save, output) if place], _RESULTS)


def save_profile(profile: Profile, save: Path | None) -> None:
    """Write the profile and say so; raises ``OutputError``, or ``ProfileError`` for counts that it cannot hold."""
    from linesmith.plugins.profiles.formats import encode_for

    if save is not None:
        deliver(encode_for(profile, save), save, _RESULTS)
        say(f"profile: {save}")
