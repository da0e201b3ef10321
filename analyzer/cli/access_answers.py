# SPDX-License-Identifier: GPL-2.0-or-later
"""The questions of ``linesmith access``, each answered as text or JSON."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.access import accesses_at, accesses_in, accesses_of, summary
from linesmith.analyzer.cli.loading import load, load_accesses
from linesmith.analyzer.report import access, access_json
from linesmith.analyzer.selection import select


def about_type(elf: Path, wanted: str, format_: str, limit: int) -> str:
    """Who touches the members of every type called so; raises ``TypeNotFound``."""
    reading, layouts = load_accesses(elf), load(elf).layouts
    found = [(layout, accesses_of(layout, layouts, reading.accesses)) for layout in select(layouts, (wanted,))]
    if format_ == "json":
        return access_json.render_types(found, reading.identity)
    return access.render_types(found, limit)


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
