# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ``suggest`` and ``patch`` that say what proposals rest on beside the profile and the layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from linesmith.analyzer.base.errors import NothingToSuggest, ScanFailed, ToolMissing
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.output import Steps, remark, shown
from linesmith.analyzer.cli.settled import is_default, is_given

if TYPE_CHECKING:
    from linesmith.analyzer.base.deadline import Deadline
    from linesmith.analyzer.cli.analysis import Analysis
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.model import Candidate, Layout, Profile, SourceFacts, SourceScan
    from linesmith.tuner.constraints.facts import Premises


# Members that the sources hold together, such as those of one ``#if``: no candidate parts them.


def with_blocks(premises: Premises, found: Analysis, tree: Path | None, deadline: Deadline) -> Premises:
    """``premises`` with the blocks of the records found, as far as the ELF file has their members; the same without
    a ``tree``. Reading that counts against ``deadline``.
    """
    if tree is None:
        return premises
    from linesmith.analyzer.model import SourceFacts
    from linesmith.patches.edit.patch import held_together
    from linesmith.tuner.constraints.facts import known_facts

    with deadline.running():
        told = SourceFacts(tuple((name, held_together(name, layout, tree)) for name, layout in objects(found).items()))
    known = known_facts(told, found.reading.layouts)
    return replace(premises, facts=SourceFacts((*premises.facts.records, *known.records)))


def objects(found: Analysis) -> dict[str, Layout]:
    """The records that lie on the lines found, by name."""
    layouts = found.reading.layouts
    known = [thing for one in found.findings for thing in one.objects[:1] if thing.layout is not None]
    return {thing.type: layouts.by_id(thing.layout) for thing in known if thing.layout is not None}


# Which candidate a user means: by its number in a list, or by its name, which holds in every list that has it.

MOST_LISTED = 5
# No list has more candidates than these digits count.
_MOST_DIGITS = 9


class CandidateChoice(click.ParamType):  # type: ignore[type-arg]
    """A number from 1 on, or a name."""

    name = "candidate"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The number, or the name in small letters; fails on anything else."""
        if isinstance(value, int):
            return value
        text = str(value).lower()
        if text.isascii() and text.isalpha():
            return text
        number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
        if not number or not int(text):
            self.fail(f"{value!r:.60} is neither the number of a candidate, from 1 on, nor its name.", param, ctx)
        return int(text)


def number_of(
    chosen: int | str | None, candidates: Sequence[Candidate], free: Callable[[], Sequence[Candidate]] = tuple
) -> int | None:
    """The number of the chosen one of ``candidates``, from 1 on; ``None`` where none is chosen.

    ``free`` gives those that there would be without what the source tells; it is called where the name is not known.
    Raises ``NothingToSuggest`` where there is no such candidate, or several have the name.
    """
    from linesmith.analyzer.model.candidate import candidate_name

    if chosen is None:
        return None
    if isinstance(chosen, int):
        if chosen <= len(candidates):
            return chosen
        known = f"there are only {len(candidates)} candidates" if len(candidates) != 1 else "there is only 1 candidate"
        raise NothingToSuggest(f"{known}, so there is no --candidate {chosen}; see `linesmith suggest`")
    names = [candidate_name(one) for one in candidates]
    if names.count(chosen) == 1:
        return names.index(chosen) + 1
    raise NothingToSuggest(_ambiguous(chosen, names) if chosen in names else _unknown(chosen, candidates, free()))


def _ambiguous(chosen: str, names: Sequence[str]) -> str:
    numbers = " and ".join(str(number) for number, name in enumerate(names, 1) if name == chosen)
    return f"candidates {numbers} are both called {chosen}; give the number"


def _unknown(chosen: str, candidates: Sequence[Candidate], free: Sequence[Candidate]) -> str:
    from linesmith.analyzer.model.candidate import candidate_name
    from linesmith.analyzer.report.candidate import short_change

    there = [f"{candidate_name(one)} ({short_change(one)})" for one in candidates]
    gone = next((short_change(one) for one in free if candidate_name(one) == chosen), "")
    more = [f"{len(there) - MOST_LISTED} more"] if len(there) > MOST_LISTED else []
    why = f"what the source tells rules out {chosen} ({gone})" if gone else f"no candidate is called {chosen} here"
    return f"{why}; there are: {', '.join([*there[:MOST_LISTED], *more])}"


# The way from a source tree to what its code says of records, with progress on standard error.

_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
_MOST_RECORDS = 30
_TREE = click.option(
    "--tree", metavar="DIR", type=_DIRECTORY, help="The sources: what code relies on counts. Only read."
)


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources that a command reads, if any: tree, build directory, and what all reading counts against."""

    tree: Path | None
    build: Path | None
    deadline: Deadline


def scanning_given(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--tree``, ``--build`` and ``--deadline`` to a command, which gets them together as ``sources``."""

    @wraps(command)
    def gathered(*, tree: Path | None, build: Path | None, deadline: Deadline, **others: object) -> None:
        command(sources=Sources(tree, build, deadline), **others)

    return _TREE(options.build(options.deadline_given(gathered)))


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was found; where nothing could be, ``reason`` says why."""

    scans: tuple[SourceScan, ...] = ()
    reason: str = ""


def scan(tree: Path, build: Path | None, records: Sequence[str]) -> tuple[SourceScan, ...]:
    """What the code of ``tree`` says of each record; raises ``ScanFailed`` and ``ToolMissing``.

    What could not be parsed is told.
    """
    from linesmith.patches.scan.scan import Watch, scanned

    with shown(f"scanning {tree.name or tree} for {_named(records)}") as progress:
        found = scanned(tree, build, records, Watch(progress, Steps()))
    failed = dict(pair for one in found for pair in one.failed)
    if failed:
        unit, complaint = next(iter(failed.items()))
        remark(f"{len(failed)} of the scanned units were not parsed without errors; the first is {unit}: {complaint}")
    return found


def scan_if_possible(tree: Path, build: Path | None, records: Sequence[str]) -> Scanned:
    """The same; where it cannot be had, the reason is a value."""
    try:
        return Scanned(scan(tree, build, records))
    except (ScanFailed, ToolMissing) as error:
        return Scanned(reason=str(error))


def scan_layouts(sources: Sources, chosen: Sequence[Layout], types: Sequence[str]) -> tuple[SourceScan, ...]:
    """The same for the chosen layouts, nothing without a tree; raises ``click.UsageError`` for too many records."""
    if sources.tree is None:
        _refuse_build_alone(sources.build)
        return ()
    records = tuple(dict.fromkeys(layout.name for layout in chosen if layout.name))
    if not types or len(records) > _MOST_RECORDS:
        raise click.UsageError(f"--tree scans up to {_MOST_RECORDS} records at once, not {len(records)}; name a TYPE")
    with sources.deadline.running():
        return scan(sources.tree, sources.build, records)


def scan_findings(sources: Sources, found: Analysis) -> tuple[SourceScan, ...]:
    """The same for the records of the findings, nothing without a tree.

    A tree that is set for all commands need not be that of this program: then a scan that fails is a remark.
    """
    if sources.tree is None:
        _refuse_build_alone(sources.build)
        return ()
    with sources.deadline.running():
        if is_given("tree"):
            return scan(sources.tree, sources.build, records_of(found))
        scanned = scan_if_possible(sources.tree, sources.build, records_of(found))
    if scanned.reason:
        remark(f"code that relies on the order was not looked for: {scanned.reason}")
    return scanned.scans


def _refuse_build_alone(build: Path | None) -> None:
    if build is not None and is_given("build"):
        raise click.UsageError("--build is a build of the sources that --tree names; give both")


def told(scans: Sequence[SourceScan]) -> str:
    """The scans as text, each behind an empty line."""
    if not scans:
        return ""
    from linesmith.analyzer.report.source_scan import render_text

    return "".join(f"\n{render_text(one)}" for one in scans)


def records_of(found: Analysis) -> tuple[str, ...]:
    """The records that candidates for the findings can change."""
    layouts = found.reading.layouts
    known = [thing.layout for one in found.findings for thing in one.objects[:1] if thing.layout is not None]
    return tuple(dict.fromkeys(name for number in known if (name := layouts.by_id(number).name)))


def scanned_facts(scans: Sequence[SourceScan], layouts: Layouts) -> SourceFacts:
    """What the scans forbid, of members that the ELF file has."""
    from linesmith.patches.scan.scan import facts_of
    from linesmith.tuner.constraints.facts import known_facts

    return known_facts(facts_of(scans), layouts)


def _named(records: Sequence[str]) -> str:
    return records[0] if len(records) == 1 else f"{len(records)} records"


_GROWTH = click.option(
    "--growth",
    metavar="BYTES",
    type=click.IntRange(min=0),
    help="By how much a struct may grow; without it, it may where nothing else helps.",
)
_CONSTRAINTS = click.option(
    "--constraints",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Facts of the source that no candidate may violate (TOML).",
)
_CONFIGURATION = click.option(
    "--configuration",
    "configurations",
    metavar="ELF",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A build of the same source with another configuration: no candidate may be illegal there. Can be repeated.",
)


_OPTIONS = (
    *(_GROWTH, _CONSTRAINTS, _CONFIGURATION),
    *(options.cpus, options.page_size, options.kernel, options.slabinfo),
)


@dataclass(frozen=True, slots=True)
class Given:
    """The options as they were given; ``release`` is ``None`` for that of the ELF file, ``growth`` is in bytes.

    ``cpus_said`` tells that the user, not the default, says how many CPUs there are.
    """

    growth: int | None
    constraints: Path | None
    cpus: int
    page_bytes: int
    release: str | None
    slabinfo: Path | None
    configurations: tuple[Path, ...] = ()
    cpus_said: bool = True

    def on_machine_of(self, profile: Profile) -> Given:
        """The same with the CPUs of the profiled machine, where the user said none."""
        from linesmith.analyzer.sharing.accounts import machine_cpus

        return self if self.cpus_said else replace(self, cpus=machine_cpus(profile, self.cpus), cpus_said=True)

    def premises(self, elf: Path, reading: Reading, scans: Sequence[SourceScan] = ()) -> Premises:
        """What proposals may rest on; objects of a program without a kernel's banner lie in no slabs.

        ``scans`` are what the source says; what a person wrote down comes first.

        Raises ``ConstraintsError``, ``SlabFactsError``, ``click.UsageError``, and what reading an ELF file raises.
        """
        from linesmith.analyzer.cli.analysis import Running, kernel_of, load
        from linesmith.analyzer.model import NO_FACTS, SourceFacts
        from linesmith.tuner.constraints.facts import Configuration, Premises, check_facts, read_facts

        known = kernel_of(elf, reading.identity, Running(self.cpus, self.page_bytes, self.release, self.slabinfo))
        kernel = known.kernel if known.named or self.slabinfo else None
        others = tuple(Configuration(one.name, load(one).layouts) for one in self.configurations)
        facts = read_facts(self.constraints) if self.constraints else NO_FACTS
        check_facts(facts, reading.layouts, *(one.layouts for one in others))
        told = SourceFacts((*facts.records, *scanned_facts(scans, reading.layouts).records)) if scans else facts
        return Premises(told, kernel, self.growth, others, parsed={scan.record: scan.units for scan in scans})


_Status = TypeVar("_Status")


def premises_given(command: Callable[..., _Status]) -> Callable[..., _Status]:
    """Add the options to a command, which gets them together as ``given``."""

    @wraps(command)
    def gathered(
        *,
        growth: int | None,
        constraints: Path | None,
        cpus: int,
        page_size: str,
        kernel: str | None,
        slabinfo: Path | None,
        configurations: tuple[Path, ...],
        **others: object,
    ) -> _Status:
        machine = cpus, options.PAGES[page_size], kernel, slabinfo
        said = not is_default("cpus")
        return command(given=Given(growth, constraints, *machine, configurations, said), **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered
