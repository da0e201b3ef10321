# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith access``: which code touches what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import TypeNotFound
from linesmith.analyzer.base.text import did_you_mean
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.analysis import load, load_accesses
from linesmith.analyzer.cli.output import text_columns
from linesmith.analyzer.cli.settings import is_given

if TYPE_CHECKING:
    from linesmith.analyzer.access.access_map import AccessMap
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.analyzer.layouts.leaves import Named
    from linesmith.analyzer.model import Layout, TypeAccesses


@click.command()
@options.elf
@click.option("--type", "type_", metavar="TYPE", help="Show who reads and writes each member of this struct or union.")
@click.option("--member", metavar="MEMBER", help="With --type: show only this member, with all functions.")
@click.option("--function", metavar="NAME", help="Show what this function accesses, inlined code separately.")
@click.option(
    "--address", metavar="PLACE", help="Show accesses of this instruction: 0xffffffff81001234 or function+0x12."
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="List at most N functions per member.",
)
@options.format_
@options.output
def command(
    elf: Path,
    type_: str | None,
    member: str | None,
    function: str | None,
    address: str | None,
    limit: int,
    format_: str,
    output: Path | None,
) -> None:
    """Show which members the code in ELF reads and writes (static analysis).

    Without options, show the number of accesses and the share whose type is known.
    """
    if member is not None and type_ is None:
        raise click.UsageError("--member needs the record; add --type TYPE")
    if sum(asked is not None for asked in (type_, function, address)) > 1:
        raise click.UsageError("--type, --function and --address exclude each other; give one")
    if type_ is not None:
        most = limit if member is None or is_given("limit") else None
        text = about_type(elf, type_, member, format_, most, text_columns(output))
    else:
        text = about_code(elf, function, address, format_)
    options.write_shown(text, format_, output)


def about_type(elf: Path, type_: str, member: str | None, format_: str, limit: int | None, columns: int) -> str:
    """Who touches the members, or one ``member``, of every type of that name; of each the first ``limit`` functions.

    Raises ``TypeNotFound``.
    """
    from linesmith.analyzer.access.questions import accesses_of
    from linesmith.analyzer.layouts.collection import select
    from linesmith.analyzer.report import access

    reading, layouts = load_accesses(elf), load(elf).layouts
    layouts_of_type = select(layouts, (type_,))
    found = [(layout, accesses_of(layout, layouts, reading.accesses)) for layout in layouts_of_type]
    if member is not None:
        parts = _called(member, layouts_of_type, layouts)
        own = [(layout, one, parts[layout.id]) for layout, one in found if layout.id in parts]
        found = [(layout, _of_part(layout, one, part, reading.accesses)) for layout, one, part in own]
    if format_ == "json":
        return access.types_json(found, reading.identity)
    return access.render_types(found, limit, columns)


def _of_part(layout: Layout, found: TypeAccesses, part: Named, accesses: AccessMap) -> TypeAccesses:
    """Who touches one member, and who gets its address."""
    from linesmith.analyzer.access.questions import handed_on, of_member

    own = of_member(found, part, accesses)
    first, *others = own.members
    handed = handed_on(layout, part.offset, part.span.size, accesses)
    return replace(own, members=(replace(first, handed=handed), *others))


def _called(member: str, chosen: Sequence[Layout], layouts: Layouts) -> dict[int, Named]:
    """The member in each layout that has it, by id; raises ``TypeNotFound`` with the nearest names where none has."""
    from linesmith.analyzer.layouts.collection import MOST_OFFERED
    from linesmith.analyzer.layouts.leaves import nameable, named

    found = {layout.id: part for layout in chosen if (part := named(layout, layouts, member))}
    if found:
        return found
    known = dict.fromkeys(one.path for layout in chosen for one in nameable(layout, layouts))
    step = did_you_mean(member, known, MOST_OFFERED) or f"`linesmith layout` shows what {chosen[0].title} has"
    raise TypeNotFound(f"{chosen[0].title} has no member {member}; {step}")


def about_code(elf: Path, function: str | None, address: str | None, format_: str) -> str:
    """What every function of that name touches, or the instruction at an address; without either how many accesses are.

    Raises ``FunctionNotFound``.
    """
    from linesmith.analyzer.access.questions import accesses_at, accesses_in, summary
    from linesmith.analyzer.report import access

    reading, as_json = load_accesses(elf), format_ == "json"
    if function is not None:
        called = accesses_in(function, reading.accesses)
        return access.functions_json(called, reading.identity) if as_json else access.render_functions(called)
    if address is not None:
        there = accesses_at(address, reading.accesses)
        return access.addresses_json(there, reading.identity) if as_json else access.render_addresses(there)
    render = access.summary_json if as_json else access.render_summary
    return render(summary(reading.accesses), reading.identity)
