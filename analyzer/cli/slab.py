# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith slab``: how objects of a type lie in the pages of their slab cache, and what they cost there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import CodeMissing, DebugInfoMissing
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.analysis import Running, kernel_of, load

if TYPE_CHECKING:
    from linesmith.analyzer.access.access_map import AccessMap
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.model import Layout, StructuralAdvice
    from linesmith.analyzer.report.slab import SlabAnswer
    from linesmith.analyzer.slab.allocation import CacheOptions
    from linesmith.tuner.structure.case import Allocation


# The options of ``linesmith slab`` that ask what another structure of a record would cost, without a profile.

_PULL_IN = click.option("--pull-in", metavar="MEMBER", help="What if the object that MEMBER points to were a member?")
_PUSH_OUT = click.option("--push-out", metavar="MEMBER", help="What if MEMBER were an object of its own?")
_SHRINK = click.option("--shrink", metavar="MEMBER=BYTES", help="What if MEMBER, or what it points to, were so small?")
_COLD = click.option("--cold", metavar="MEMBER,...", help="With --pull-in: members to move behind it.")
_WITHOUT = click.option(
    "--without", metavar="MEMBER,...", help="With these questions: members that another configuration lacks."
)


@dataclass(frozen=True, slots=True)
class Change:
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


def change(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them together as ``change``."""

    @wraps(command)
    def gathered(
        *,
        pull_in: str | None,
        push_out: str | None,
        shrink: str | None,
        cold: str | None,
        without: str | None,
        **others: object,
    ) -> None:
        member, size = _smaller(shrink)
        wanted = Change(pull_in or "", push_out or "", member, size, _names(cold), _names(without))
        _refuse_incomplete(wanted)
        command(change=wanted, **others)

    for option in (_WITHOUT, _COLD, _SHRINK, _PUSH_OUT, _PULL_IN):
        gathered = option(gathered)
    return gathered


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _smaller(text: str | None) -> tuple[str, int | None]:
    """``vm_lock=8`` as name and bytes."""
    if text is None:
        return "", None
    name, _, size = text.partition("=")
    if not name or not size.isdecimal() or not 0 < int(size) < 1 << 20:
        raise click.UsageError(f"--shrink {text} names no member and size; write it like --shrink vm_lock=8")
    return name, int(size)


def _refuse_incomplete(wanted: Change) -> None:
    if (wanted.cold or wanted.without) and not wanted.asked:
        raise click.UsageError("--cold and --without go with --pull-in, --push-out or --shrink, which say what changes")
    if wanted.cold and not wanted.pull_in:
        raise click.UsageError("--cold goes with --pull-in: it names what moves behind the object that is pulled in")
    if wanted.pull_in and wanted.shrink not in ("", wanted.pull_in):
        raise click.UsageError("--pull-in and --shrink name different members; ask for one change after the other")
    if wanted.push_out and (wanted.pull_in or wanted.shrink):
        raise click.UsageError("--push-out goes without --pull-in and --shrink; ask for one change after the other")


def answer(
    elf: Path, types: tuple[str, ...], wanted: Change, asked: CacheOptions, running: Running, format_: str, columns: int
) -> str:
    """The changed record as text or JSON; raises ``TypeNotFound``, ``StructureRefused`` and what reading raises."""
    from linesmith.analyzer.cli.analysis import kernel_of, load
    from linesmith.analyzer.layouts.collection import select
    from linesmith.analyzer.layouts.containment import Containment
    from linesmith.analyzer.report import structure
    from linesmith.analyzer.report.slab import SlabAnswer
    from linesmith.tuner.structure.case import Allocation
    from linesmith.tuner.structure.reshape import without

    reading = load(elf)
    chosen = select(reading.layouts, types)
    if len(chosen) != 1:
        found = f"{' '.join(types)} names {len(chosen)} records"
        raise click.UsageError(f"a change is asked for of one TYPE, and {found}; name one")
    known = kernel_of(elf, reading.identity, running)
    layout = without(chosen[0], wanted.without) if wanted.without else chosen[0]
    advice = tuple(_advice(elf, reading, layout, wanted, Allocation(known.kernel, Containment(reading.layouts), asked)))
    base = SlabAnswer(reading.identity, known.kernel.machine, known.named, (), bool(known.kernel.measured))
    if format_ == "json":
        return structure.render_json(advice, base, wanted.without)
    return structure.render_text(advice, reading.layouts, base, wanted.without, columns)


def _code(elf: Path) -> AccessMap | None:
    """The access map, which tells what is cold; a file without code has none, and the answer says what it lacks."""
    from linesmith.analyzer.cli.analysis import load_accesses

    try:
        return load_accesses(elf).accesses
    except (CodeMissing, DebugInfoMissing):
        return None


def _advice(
    elf: Path, reading: Reading, layout: Layout, wanted: Change, home: Allocation
) -> Iterator[StructuralAdvice]:
    from linesmith.tuner.structure.case import functions_by_member
    from linesmith.tuner.structure.embedding import Pulling, pulled_in
    from linesmith.tuner.structure.locks import made_smaller
    from linesmith.tuner.structure.readers import put_apart

    if wanted.pull_in:
        accesses = None if wanted.cold else _code(elf)
        functions = functions_by_member(reading.layouts.by_id(layout.id), reading.layouts, accesses)
        wish = Pulling(wanted.pull_in, wanted.size, cold=wanted.cold)
        yield from pulled_in(layout, reading.layouts, home, wish, functions)
    elif wanted.push_out:
        yield from put_apart(layout, home, wanted.push_out)
    else:
        yield from made_smaller(layout, home, wanted.shrink, wanted.size or 0)


class PowerOfTwo(click.IntRange):
    """An alignment in bytes: 0 for none, or a power of two, the only ones that kmem_cache_create() can keep."""

    def convert(self, value: int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number in range; fails on any other."""
        number = super().convert(value, param, ctx)
        if number & (number - 1):
            self.fail(f"{number} is no power of two.", param, ctx)
        return number


@click.command()
@options.elf
@click.argument("types", metavar="TYPE...", nargs=-1, required=True)
@options.cpus
@options.page_size
@options.kernel
@options.slabinfo
@click.option("--cache", metavar="NAME", help="The slab cache that TYPE comes from.")
@click.option("--align", metavar="BYTES", type=PowerOfTwo(0, 4096), default=0, help="Alignment the cache asks for.")
@click.option("--hwcache-align", is_flag=True, help="The cache is made with SLAB_HWCACHE_ALIGN.")
@click.option("--by-rcu", is_flag=True, help="The cache is made with SLAB_TYPESAFE_BY_RCU.")
@click.option("--constructor", is_flag=True, help="The cache has a constructor.")
@click.option("--kmalloc", is_flag=True, help="TYPE comes from kmalloc().")
@change
@options.format_
@options.output
def command(
    elf: Path,
    types: tuple[str, ...],
    cpus: int,
    page_size: str,
    kernel: str | None,
    slabinfo: Path | None,
    cache: str | None,
    align: int,
    hwcache_align: bool,
    by_rcu: bool,
    constructor: bool,
    kmalloc: bool,
    change: Change,
    format_: str,
    output: Path | None,
) -> None:
    """Show stride, slab order, phases and memory of objects of TYPE, also inside the objects that hold it by value.

    What nothing says of the cache is computed by the rules of SLUB; each line tells how it is known. --pull-in,
    --push-out and --shrink ask what another structure of TYPE would cost.
    """
    from linesmith.analyzer.cli.analysis import Running
    from linesmith.analyzer.cli.colour import text_columns
    from linesmith.analyzer.report import slab
    from linesmith.analyzer.slab.allocation import CacheOptions

    asked = CacheOptions(cache, align, hwcache_align, by_rcu, constructor, kmalloc)
    if kmalloc and asked != CacheOptions(kmalloc=True):
        raise click.UsageError(
            "--kmalloc takes the general cache as it is; give it without --cache, --align, --hwcache-align, "
            "--by-rcu and --constructor"
        )
    running = Running(cpus, options.PAGES[page_size], kernel, slabinfo)
    if change.asked:
        options.write(answer(elf, types, change, asked, running, format_, text_columns(output)), output)
        return
    question = Question(types, asked, running)
    found = slabs_of(elf, question)
    render = slab.render_json if format_ == "json" else slab.render_text
    options.write_shown(render(found), format_, output)


# From an ELF file and options to slabs: the machine, what it says of its caches, and the places of a type in them.


@dataclass(frozen=True, slots=True)
class Question:
    """What the command line asks: types, what is known of their caches, the machine."""

    types: tuple[str, ...]
    asked: CacheOptions
    running: Running


def slabs_of(elf: Path, question: Question) -> SlabAnswer:
    """The slabs of every type asked for; raises ``TypeNotFound``, ``SlabFactsError`` or ``ElfError``."""
    from linesmith.analyzer.layouts.collection import select
    from linesmith.analyzer.layouts.containment import Containment
    from linesmith.analyzer.report.slab import SlabAnswer
    from linesmith.analyzer.slab.possible import TypeSlabs, slab_places

    reading = load(elf)
    chosen = select(reading.layouts, question.types)
    known = kernel_of(elf, reading.identity, question.running)
    kernel, containment = known.kernel, Containment(reading.layouts)
    types = (TypeSlabs(layout, slab_places(layout, containment, kernel, question.asked)) for layout in chosen)
    return SlabAnswer(reading.identity, kernel.machine, known.named, tuple(types), bool(kernel.measured))
