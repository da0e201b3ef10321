# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ``linesmith slab`` that ask what another structure of a record would cost, without a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.errors import CodeMissing, DebugInfoMissing

if TYPE_CHECKING:
    from linesmith.analyzer.access import AccessMap
    from linesmith.analyzer.cli.kernels import Running
    from linesmith.analyzer.dwarf import Reading
    from linesmith.analyzer.model import Layout, StructuralAdvice
    from linesmith.analyzer.slab import Asked
    from linesmith.tuner.structure.memory import Allocation

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
    elf: Path, types: tuple[str, ...], wanted: Change, asked: Asked, running: Running, format_: str, columns: int
) -> str:
    """The changed record as text or JSON; raises ``TypeNotFound``, ``StructureRefused`` and what reading raises."""
    from linesmith.analyzer.cli.kernels import kernel_of
    from linesmith.analyzer.cli.loading import load
    from linesmith.analyzer.containment import Containment
    from linesmith.analyzer.report import structure, structure_json
    from linesmith.analyzer.report.slab import SlabAnswer
    from linesmith.analyzer.selection import select
    from linesmith.tuner.structure.memory import Allocation
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
        return structure_json.render_json(advice, base, wanted.without)
    return structure.render_text(advice, reading.layouts, base, wanted.without, columns)


def _code(elf: Path) -> AccessMap | None:
    """The access map, which tells what is cold; a file without code has none, and the answer says what it lacks."""
    from linesmith.analyzer.cli.loading import load_accesses

    try:
        return load_accesses(elf).accesses
    except (CodeMissing, DebugInfoMissing):
        return None


def _advice(
    elf: Path, reading: Reading, layout: Layout, wanted: Change, home: Allocation
) -> Iterator[StructuralAdvice]:
    from linesmith.tuner.structure.coldness import functions_by_member
    from linesmith.tuner.structure.embedding import Pulling
    from linesmith.tuner.structure.pull_in import pulled_in
    from linesmith.tuner.structure.push_out import put_apart
    from linesmith.tuner.structure.shrink import made_smaller

    if wanted.pull_in:
        accesses = None if wanted.cold else _code(elf)
        functions = functions_by_member(reading.layouts.by_id(layout.id), reading.layouts, accesses)
        wish = Pulling(wanted.pull_in, wanted.size, cold=wanted.cold)
        yield from pulled_in(layout, reading.layouts, home, wish, functions)
    elif wanted.push_out:
        yield from put_apart(layout, home, wanted.push_out)
    else:
        yield from made_smaller(layout, home, wanted.shrink, wanted.size or 0)
