# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith slab``: how objects of a type lie in the pages of their slab cache, and what they cost there.

Without a profile it also says what another structure of a record would cost: an object pulled in or pushed out, or a
smaller member.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import CodeMissing, DebugInfoMissing
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.analysis import kernel_of, load, load_accesses
from linesmith.analyzer.cli.output import text_columns

if TYPE_CHECKING:
    from linesmith.analyzer.cli.options import MachineOptions
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.model import Layout, StructuralAdvice
    from linesmith.analyzer.report.slab import SlabAnswer
    from linesmith.analyzer.slab.allocation import CacheOptions
    from linesmith.tuner.structure.case import Allocation


@dataclass(frozen=True, slots=True)
class StructureChange:
    """What is asked of a record; nothing where no member is named. ``size`` in bytes goes with ``shrink``."""

    pull_in: str = ""
    push_out: str = ""
    shrink: str = ""
    size: int | None = None
    cold: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def asked(self) -> bool:
        """Whether a change is asked for."""
        return bool(self.pull_in or self.push_out or self.shrink)


def _structure_change(
    pull_in: str | None, push_out: str | None, shrink: str | None, cold: str | None, without: str | None
) -> StructureChange:
    """The change; raises ``click.UsageError`` for options that do not make one."""
    member, sign, size = (shrink or "").partition("=")
    if shrink is not None and not (member and size.isdecimal() and 0 < int(size) < 1 << 20):
        raise click.UsageError(f"--shrink {shrink} does not name a member and a size; write it like --shrink vm_lock=8")
    names = [tuple(name.strip() for name in (text or "").split(",") if name.strip()) for text in (cold, without)]
    change = StructureChange(pull_in or "", push_out or "", member, int(size) if sign else None, *names)
    if (change.cold or change.without) and not change.asked:
        raise click.UsageError("--cold and --without need --pull-in, --push-out or --shrink")
    if change.cold and not change.pull_in:
        raise click.UsageError("--cold needs --pull-in: it names members to place after the embedded object")
    if change.pull_in and change.shrink not in ("", change.pull_in):
        raise click.UsageError("--pull-in and --shrink name different members; give one change at a time")
    if change.push_out and (change.pull_in or change.shrink):
        raise click.UsageError("--push-out excludes --pull-in and --shrink; give one change at a time")
    return change


_change_given = options.gathered(
    "change",
    _structure_change,
    click.option("--pull-in", metavar="MEMBER", help="Show the effect of embedding the object that MEMBER points to."),
    click.option("--push-out", metavar="MEMBER", help="Show the effect of moving MEMBER into an object of its own."),
    click.option("--shrink", metavar="MEMBER=BYTES", help="Show the effect of shrinking MEMBER to BYTES."),
    click.option("--cold", metavar="MEMBER,...", help="With --pull-in: members to place after it."),
    click.option("--without", metavar="MEMBER,...", help="Members to leave out, as another configuration does."),
)


@click.command()
@options.elf
@click.argument("types", metavar="TYPE...", nargs=-1, required=True)
@options.machine_given
@click.option("--cache", metavar="NAME", help="Slab cache that TYPE is allocated from.")
@click.option("--hwcache-align", is_flag=True, help="The cache has SLAB_HWCACHE_ALIGN.")
@click.option("--kmalloc", is_flag=True, help="TYPE is allocated with kmalloc().")
@_change_given
@options.format_
@options.output
def command(
    elf: Path,
    types: tuple[str, ...],
    machine: MachineOptions,
    cache: str | None,
    hwcache_align: bool,
    kmalloc: bool,
    change: StructureChange,
    format_: str,
    output: Path | None,
) -> None:
    """Show stride, slab order, phases and memory of objects of TYPE, also as members of other objects.

    Properties that no option or snapshot provides are computed by the rules of SLUB; each line names its source.
    --pull-in, --push-out and --shrink show the cost of a different structure.
    """
    from linesmith.analyzer.report import slab
    from linesmith.analyzer.slab.allocation import CacheOptions

    asked = CacheOptions(cache, hwcache_align=hwcache_align, kmalloc=kmalloc)
    if kmalloc and (cache or hwcache_align):
        raise click.UsageError("--kmalloc uses the general caches; give it without --cache and --hwcache-align")
    if change.asked:
        text = changed_record(elf, types, change, asked, machine, format_, text_columns(output))
        options.write(text, output)
        return
    render = slab.render_json if format_ == "json" else slab.render_text
    options.write_shown(render(slabs_of(elf, types, asked, machine)), format_, output)


def slabs_of(elf: Path, types: tuple[str, ...], asked: CacheOptions, machine: MachineOptions) -> SlabAnswer:
    """The slabs of every type asked for; raises ``TypeNotFound``, ``SlabFactsError`` or ``ElfError``."""
    from linesmith.analyzer.layouts.collection import select
    from linesmith.analyzer.layouts.containment import containment_of
    from linesmith.analyzer.report.slab import SlabAnswer
    from linesmith.analyzer.slab.starts import TypeSlabs, slab_places

    reading = load(elf)
    chosen = select(reading.layouts, types)
    known = kernel_of(elf, reading.identity, machine)
    kernel, containment = known.kernel, containment_of(reading.layouts)
    slabs = (TypeSlabs(layout, slab_places(layout, containment, kernel, asked)) for layout in chosen)
    return SlabAnswer(reading.identity, kernel.machine, known.named, tuple(slabs), bool(kernel.measured))


def changed_record(
    elf: Path,
    types: tuple[str, ...],
    change: StructureChange,
    asked: CacheOptions,
    machine: MachineOptions,
    format_: str,
    columns: int,
) -> str:
    """The changed record as text or JSON; raises ``TypeNotFound``, ``StructureRefused`` and what reading raises."""
    from linesmith.analyzer.layouts.collection import select
    from linesmith.analyzer.layouts.containment import containment_of
    from linesmith.analyzer.report.slab import SlabAnswer, render_structures, structures_json
    from linesmith.tuner.structure.case import Allocation, without

    reading = load(elf)
    chosen = select(reading.layouts, types)
    if len(chosen) != 1:
        found = f"{' '.join(types)} names {len(chosen)} records"
        raise click.UsageError(f"these options need one TYPE, and {found}; name one")
    known = kernel_of(elf, reading.identity, machine)
    layout = without(chosen[0], change.without) if change.without else chosen[0]
    advice = tuple(
        _advice(elf, reading, layout, change, Allocation(known.kernel, containment_of(reading.layouts), asked))
    )
    base = SlabAnswer(reading.identity, known.kernel.machine, known.named, (), bool(known.kernel.measured))
    if format_ == "json":
        return structures_json(advice, base, change.without)
    return render_structures(advice, reading.layouts, base, change.without, columns)


def _advice(
    elf: Path, reading: Reading, layout: Layout, change: StructureChange, home: Allocation
) -> Iterator[StructuralAdvice]:
    from linesmith.tuner.structure.case import functions_by_member
    from linesmith.tuner.structure.locks import made_smaller
    from linesmith.tuner.structure.members import Pulling, pulled_in, put_apart

    if change.pull_in:
        accesses = None
        if not change.cold:
            # The access map tells what is cold; a file without code has none.
            with suppress(CodeMissing, DebugInfoMissing):
                accesses = load_accesses(elf).accesses
        functions = functions_by_member(reading.layouts.by_id(layout.id), reading.layouts, accesses)
        pulling = Pulling(change.pull_in, change.size, cold=change.cold)
        yield from pulled_in(layout, reading.layouts, home, pulling, functions)
    elif change.push_out:
        yield from put_apart(layout, home, change.push_out)
    else:
        yield from made_smaller(layout, home, change.shrink, change.size or 0)
