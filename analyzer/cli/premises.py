# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ``suggest`` and ``patch`` that say what proposals rest on beside the profile and the layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from linesmith.analyzer.cli import options, scanning
from linesmith.analyzer.cli.settled import is_default

if TYPE_CHECKING:
    from linesmith.analyzer.dwarf import Reading
    from linesmith.analyzer.model import Profile, SourceScan
    from linesmith.tuner.premises import Premises

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
        from linesmith.analyzer.sharing.machine_cpus import machine_cpus

        return self if self.cpus_said else replace(self, cpus=machine_cpus(profile, self.cpus), cpus_said=True)

    def premises(self, elf: Path, reading: Reading, scans: Sequence[SourceScan] = ()) -> Premises:
        """What proposals may rest on; objects of a program without a kernel's banner lie in no slabs.

        ``scans`` are what the source says; what a person wrote down comes first.

        Raises ``ConstraintsError``, ``SlabFactsError``, ``click.UsageError``, and what reading an ELF file raises.
        """
        from linesmith.analyzer.cli.kernels import Running, kernel_of
        from linesmith.analyzer.cli.loading import load
        from linesmith.analyzer.model import NO_FACTS, SourceFacts
        from linesmith.tuner.constraints.checked import check_facts
        from linesmith.tuner.constraints.reading import read_facts
        from linesmith.tuner.premises import Configuration, Premises

        known = kernel_of(elf, reading.identity, Running(self.cpus, self.page_bytes, self.release, self.slabinfo))
        kernel = known.kernel if known.named or self.slabinfo else None
        others = tuple(Configuration(one.name, load(one).layouts) for one in self.configurations)
        facts = read_facts(self.constraints) if self.constraints else NO_FACTS
        check_facts(facts, reading.layouts, *(one.layouts for one in others))
        told = SourceFacts((*facts.records, *scanning.facts(scans, reading.layouts).records)) if scans else facts
        return Premises(told, kernel, self.growth, others, parsed={scan.record: scan.units for scan in scans})


_Status = TypeVar("_Status")


def given(command: Callable[..., _Status]) -> Callable[..., _Status]:
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
