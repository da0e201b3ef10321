# SPDX-License-Identifier: GPL-2.0-or-later
"""The questions of ``linesmith access``, each answered as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from linesmith.analyzer.access import AccessMap, accesses_at, accesses_in, accesses_of, of_member, summary
from linesmith.analyzer.cli.loading import load, load_accesses
from linesmith.analyzer.dwarf import touched
from linesmith.analyzer.errors import MemberNotFound
from linesmith.analyzer.geometry.naming import Named, nameable, named
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, TypeAccesses
from linesmith.analyzer.report import access, access_json
from linesmith.analyzer.selection import MOST_OFFERED, select
from linesmith.analyzer.sharing.contended_lock import Asking, takers


def about_type(elf: Path, wanted: str, member: str | None, format_: str, limit: int | None, columns: int) -> str:
    """Who touches the members, or one ``member``, of every type called so; of each the first ``limit`` functions.

    Raises ``TypeNotFound`` and ``MemberNotFound``.
    """
    reading, layouts = load_accesses(elf), load(elf).layouts
    chosen = select(layouts, (wanted,))
    found = [(layout, accesses_of(layout, layouts, reading.accesses)) for layout in chosen]
    if member is not None:
        parts = _called(member, chosen, layouts)
        own = [(layout, one, parts[layout.id]) for layout, one in found if layout.id in parts]
        asking = partial(touched, elf)
        found = [(layout, _of_part(layout, layouts, one, part, reading.accesses, asking)) for layout, one, part in own]
    if format_ == "json":
        return access_json.render_types(found, reading.identity)
    return access.render_types(found, limit, columns)


def _of_part(
    layout: Layout, layouts: Layouts, found: TypeAccesses, part: Named, accesses: AccessMap, asking: Asking
) -> TypeAccesses:
    """Who touches one member; of a lock that is only handed on, who takes it."""
    own = of_member(found, part, accesses)
    if any(one.functions for one in own.members):
        return own
    known = takers(layout, part.path, layouts, found, asking)
    return replace(own, members=tuple(replace(one, takers=known) for one in own.members))


def _called(member: str, chosen: Sequence[Layout], layouts: Layouts) -> dict[int, Named]:
    """The member in each layout that has it, by id; raises ``MemberNotFound`` with the nearest names where none has."""
    from difflib import get_close_matches  # only a mistake needs it

    found = {layout.id: part for layout in chosen if (part := named(layout, layouts, member))}
    if found:
        return found
    known = dict.fromkeys(one.path for layout in chosen for one in nameable(layout, layouts))
    near = get_close_matches(member, known, n=MOST_OFFERED)
    step = f"did you mean {', '.join(near)}?" if near else f"`linesmith layout` shows what {chosen[0].title} has"
    raise MemberNotFound(f"{chosen[0].title} has no member {member}; {step}")


def about_function(elf: Path, wanted: str, format_: str) -> str:
    """What every function called so touches; raises ``FunctionNotFound``."""
    reading = load_accesses(elf)
    found = accesses_in(wanted, reading.accesses)
    if format_ == "json":
        return access_json.render_functions(found, reading.identity)
    return access.render_functions(found)


def about_address(elf: Path, wanted: str, format_: str) -> str:
    """What the instruction there touches; raises ``AddressNotFound`` or ``FunctionNotFound``."""
    reading = load_accesses(elf)
    found = accesses_at(wanted, reading.accesses)
    if format_ == "json":
        return access_json.render_addresses(found, reading.identity)
    return access.render_addresses(found)


def about_all(elf: Path, format_: str) -> str:
    """How many accesses there are, by outcome."""
    reading = load_accesses(elf)
    render = access_json.render_summary if format_ == "json" else access.render_summary
    return render(summary(reading.accesses), reading.identity)
