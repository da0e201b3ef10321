# SPDX-License-Identifier: GPL-2.0-or-later
"""What the proposals of ``suggest``, ``patch``, ``report`` and ``intent`` rest on besides the profile and the layouts.

That are options (how much a record may grow, what a file of facts or another build forbids, the machine), and what the
source code says: who relies on the order of members, and which members one ``#if`` holds together. Both commands that
propose also take a candidate by number or by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from linesmith.analyzer.base.errors import CandidateUnknown, ScanFailed, ToolMissing, TreeError
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.options import DIRECTORY, EXISTING_FILE
from linesmith.analyzer.cli.output import StepReporter, remark, shown
from linesmith.analyzer.cli.settings import is_given

if TYPE_CHECKING:
    from linesmith.analyzer.base.errors import Deadline
    from linesmith.analyzer.cli.options import MachineOptions
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.model import Candidate, Layout, Profile, SourceScan
    from linesmith.analyzer.sharing.analysis import Explanation
    from linesmith.tuner.constraints.freedom import Premises


# Records that are scanned for at once, and candidates that a message lists.
_MOST_RECORDS = 30
# Files that are looked for in a tree, one of which has to be there; headers of the system need not.
_MOST_DECLARED, _OF_THE_SYSTEM = 500, ("/usr/include/", "/usr/lib/", "<")
MOST_LISTED = 5
# No list has more candidates than these digits count.
_MOST_DIGITS = 9


def objects(found: Explanation) -> dict[str, Layout]:
    """The records that lie on the lines found, by name: those that candidates can change."""
    layouts = found.reading.layouts
    known = [thing for one in found.findings for thing in one.objects[:1] if thing.layout is not None]
    return {thing.type: layouts.by_id(thing.layout) for thing in known if thing.layout is not None}


# What the code of a source tree says of records.


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """The sources that a command reads, if any: tree, build directory, and what all reading counts against."""

    tree: Path | None
    build: Path | None
    deadline: Deadline


scanning_given = options.gathered(
    "sources",
    ScanOptions,
    click.option("--tree", metavar="DIR", type=DIRECTORY, help="Source tree to scan (read-only)."),
    options.build,
    options.deadline_given,
)


def scan(tree: Path, build: Path | None, records: Sequence[str]) -> tuple[SourceScan, ...]:
    """What the code of ``tree`` says of each record; raises ``ScanFailed`` and ``ToolMissing``.

    What could not be parsed is named.
    """
    from linesmith.patches.scan.scan import Watch, scanned

    what = records[0] if len(records) == 1 else f"{len(records)} records"
    with shown(f"scanning {tree.name or tree} for {what}") as progress:
        found = scanned(tree, build, records, Watch(progress, StepReporter()))
    failed = dict(pair for one in found for pair in one.failed)
    if failed:
        unit, complaint = next(iter(failed.items()))
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        remark(f"code there that relies on the order of members may have been missed: {unit} ({complaint}){more}")
    return found


def scan_if_possible(tree: Path, build: Path | None, found: Explanation) -> tuple[SourceScan, ...]:
    """The same for the records of the findings; nothing, and a remark, where it cannot be had."""
    try:
        return scan(tree, build, _names(objects(found).values()))
    except (ScanFailed, ToolMissing) as error:
        remark(f"not scanned for code that relies on the member order: {error}")
        return ()


def scan_layouts(sources: ScanOptions, layouts: Sequence[Layout], types: Sequence[str]) -> tuple[SourceScan, ...]:
    """The same for these layouts, nothing without a tree; raises ``click.UsageError`` for too many records."""
    if sources.tree is None:
        _refuse_build_alone(sources.build)
        return ()
    records = _names(layouts)
    if not types or len(records) > _MOST_RECORDS:
        raise click.UsageError(f"--tree scans up to {_MOST_RECORDS} records at once, not {len(records)}; name a TYPE")
    with sources.deadline.running():
        return scan(sources.tree, sources.build, records)


def scan_findings(sources: ScanOptions, found: Explanation) -> tuple[SourceScan, ...]:
    """The same for the records of the findings, nothing without a tree.

    A tree that is set for all commands need not be that of this program: then a scan that fails is a remark.
    """
    if sources.tree is None:
        _refuse_build_alone(sources.build)
        return ()
    with sources.deadline.running():
        if is_given("tree"):
            return scan(sources.tree, sources.build, _names(objects(found).values()))
        return scan_if_possible(sources.tree, sources.build, found)


def check_tree(elf: Path, sources: ScanOptions) -> None:
    """Raise ``ScanFailed`` where nothing says how the tree is compiled, ``TreeError`` where the file is not of it."""
    if sources.tree is None or not is_given("tree"):
        return
    from linesmith.patches.scan.units import check_compiled

    check_compiled(sources.tree, sources.build)
    refuse_other_tree(elf, sources)


def refuse_other_tree(elf: Path, sources: ScanOptions) -> None:
    """Raise ``TreeError`` where no file that declares a record of the ELF file is in its tree or its build.

    Trees move, so the first parts of a path do not count.
    """
    from linesmith.analyzer.layouts.dwarf import read_layouts

    with shown(f"reading {elf.name}") as progress:
        layouts = read_layouts(elf, progress).layouts
    named = (one.file for one in layouts if one.file and not one.file.startswith(_OF_THE_SYSTEM))
    files = list(dict.fromkeys(islice(named, _MOST_DECLARED)))
    roots = [root.resolve() for root in (sources.tree, sources.build) if root is not None]
    named_by = [path.parts[path.is_absolute() :] for path in map(Path, map(os.path.normpath, files))]
    ends = [parts[at:] for parts in named_by for at in range(len(parts)) if ".." not in parts[at:]]
    # os.path, since a name may be too long for a file.
    if files and not any(os.path.isfile(root.joinpath(*end)) for root in roots for end in ends):  # noqa: PTH113
        which = f"none of the {len(files)} files that declare its records, such as" if len(files) > 1 else "no"
        what = f"{elf} was not built from {sources.tree}, which has {which} {files[0]}"
        raise TreeError(f"{what}; give --tree the sources of the ELF file")


def _names(layouts: Iterable[Layout]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.name for one in layouts if one.name))


def _refuse_build_alone(build: Path | None) -> None:
    if build is not None and is_given("build"):
        raise click.UsageError("--build needs the sources of the build; give --tree as well")


# What proposals may rest on.


@dataclass(frozen=True, slots=True)
class PremiseOptions:
    """The options as they were given; ``growth`` is in bytes.

    ``cpus_said`` tells that the user, not the default, says how many CPUs there are.
    """

    growth: int | None
    constraints: Path | None
    configurations: tuple[Path, ...]
    machine: MachineOptions
    cpus_said: bool = True

    def check(self) -> None:
        """Raise ``ConstraintsError`` for a file of facts that cannot be read, before any work is done."""
        if self.constraints is not None:
            from linesmith.tuner.constraints.facts import read_facts

            read_facts(self.constraints)

    def on_machine_of(self, profile: Profile) -> PremiseOptions:
        """The same with the CPUs of the profiled machine, where the user gave none."""
        from linesmith.analyzer.sharing.findings import machine_cpus

        if self.cpus_said:
            return self
        machine = replace(self.machine, cpus=machine_cpus(profile, self.machine.cpus))
        return replace(self, machine=machine, cpus_said=True)

    def premises(self, elf: Path, reading: Reading, scans: Sequence[SourceScan] = ()) -> Premises:
        """What proposals may rest on; objects of a program without a kernel's banner lie in no slabs.

        ``scans`` are what the source says; what a person wrote down comes first.

        Raises ``ConstraintsError``, ``SlabFactsError``, ``click.UsageError``, and what reading an ELF file raises.
        """
        from linesmith.analyzer.cli.analysis import kernel_of, load
        from linesmith.analyzer.model import NO_FACTS, SourceFacts
        from linesmith.tuner.constraints.freedom import ConfiguredBuild, Premises, known_facts

        known = kernel_of(elf, reading.identity, self.machine)
        kernel = known.kernel if known.named or self.machine.slabinfo else None
        others = tuple(ConfiguredBuild(one.name, load(one).layouts) for one in self.configurations)
        facts = NO_FACTS
        if self.constraints:
            from linesmith.tuner.constraints.facts import check_facts, read_facts

            facts = read_facts(self.constraints)
            check_facts(facts, reading.layouts, *(one.layouts for one in others))
        if scans:
            from linesmith.patches.scan.scan import facts_of

            facts = SourceFacts((*facts.records, *known_facts(facts_of(scans), reading.layouts).records))
        return Premises(facts, kernel, self.growth, others, parsed={scan.record: scan.units for scan in scans})

    def premises_of(self, found: Explanation, scans: Sequence[SourceScan], sources: ScanOptions) -> Premises:
        """Those of proposals for the findings: on the profiled machine, and with members that sources hold together.

        Members count as far as the ELF file has them; reading the tree counts against the deadline.
        """
        known = self.on_machine_of(found.profile).premises(Path(found.reading.identity.path), found.reading, scans)
        known = in_found_caches(known, found)
        if sources.tree is None:
            return known
        from linesmith.analyzer.model import SourceFacts
        from linesmith.patches.edit.patch import held_together
        from linesmith.tuner.constraints.freedom import known_facts

        with sources.deadline.running():
            blocks = tuple((name, held_together(name, one, sources.tree)) for name, one in objects(found).items())
        held = known_facts(SourceFacts(blocks), found.reading.layouts)
        return replace(known, facts=SourceFacts((*known.facts.records, *held.records)))


def in_found_caches(known: Premises, found: Explanation) -> Premises:
    """The same with the slab caches in which the profile's objects were found."""
    from linesmith.analyzer.attribution.identify import with_found_caches

    kernel = known.kernel and with_found_caches(known.kernel, found.profile, found.reading.layouts)
    return replace(known, kernel=kernel)


def _premise_options(
    growth: int | None, constraints: Path | None, configurations: tuple[Path, ...], machine: MachineOptions
) -> PremiseOptions:
    given = click.get_current_context().get_parameter_source("cpus") is not ParameterSource.DEFAULT
    return PremiseOptions(growth, constraints, configurations, machine, given)


premises_given = options.gathered(
    "basis",
    _premise_options,
    click.option(
        "--growth",
        metavar="BYTES",
        type=click.IntRange(min=0),
        help="Bytes that a struct may grow by. Default: grow only if no same-size change helps.",
    ),
    click.option(
        "--constraints",
        metavar="FILE",
        type=EXISTING_FILE,
        help="TOML file of constraints that every candidate must meet.",
    ),
    click.option(
        "--configuration",
        "configurations",
        metavar="ELF",
        multiple=True,
        type=EXISTING_FILE,
        help=("Build with another configuration, in which candidates must be legal too. Can be repeated."),
    ),
    options.machine_given,
)


# Which candidate a user means: by its number in a list, or by its name, which holds in every list that has it.


class CandidateChoice(click.ParamType):  # type: ignore[type-arg]
    """A number from 1 on, or a name."""

    name = "candidate"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The number, or the name in small letters; fails on anything else."""
        if isinstance(value, int):
            return value
        from linesmith.analyzer.model.candidate import LENGTH, LETTERS

        text = str(value).lower()
        if len(text) == LENGTH and set(text) <= set(LETTERS):
            return text
        number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
        if not number or not int(text):
            self.fail(
                f"{value!r:.60} is neither the number of a candidate, from 1 on, nor its name, such as qlkgp.",
                param,
                ctx,
            )
        return int(text)


def number_of(
    choice: int | str | None, candidates: Sequence[Candidate], free: Callable[[], Sequence[Candidate]] = tuple
) -> int | None:
    """The number of the one of ``candidates`` that is meant, from 1 on; ``None`` where none is.

    ``free`` gives those that there would be without what the source tells; it is called where the name is not known.
    Raises ``CandidateUnknown`` where there is no such candidate, or several have the name.
    """
    from linesmith.analyzer.model.candidate import candidate_name

    if choice is None:
        return None
    if isinstance(choice, int):
        if choice <= len(candidates):
            return choice
        known = f"there are only {len(candidates)} candidates" if len(candidates) != 1 else "there is only 1 candidate"
        raise CandidateUnknown(f"{known}, so --candidate {choice} does not exist; see `linesmith suggest`")
    names = [candidate_name(one) for one in candidates]
    if names.count(choice) == 1:
        return names.index(choice) + 1
    if choice in names:
        numbers = " and ".join(str(number) for number, name in enumerate(names, 1) if name == choice)
        raise CandidateUnknown(f"candidates {numbers} are both called {choice}; give the number")
    raise CandidateUnknown(_unknown(choice, candidates, free()))


def _unknown(choice: str, candidates: Sequence[Candidate], free: Sequence[Candidate]) -> str:
    from linesmith.analyzer.model.candidate import candidate_name
    from linesmith.analyzer.report.candidate import short_change

    there = [f"{candidate_name(one)} ({short_change(one)})" for one in candidates]
    gone = next((short_change(one) for one in free if candidate_name(one) == choice), "")
    more = [f"{len(there) - MOST_LISTED} more"] if len(there) > MOST_LISTED else []
    why = f"the source rules out {choice} ({gone})" if gone else f"there is no candidate {choice} here"
    return f"{why}; candidates: {', '.join([*there[:MOST_LISTED], *more])}"
