# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members of a record the code names least: a guess at what is cold where no profile tells."""

from __future__ import annotations

from linesmith.analyzer.access import AccessMap, accesses_of
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout
from linesmith.tuner.structure.case import top


def functions_by_member(layout: Layout, layouts: Layouts, accesses: AccessMap | None) -> dict[str, int]:
    """How many functions touch each member, by its name; empty where the code was not followed."""
    if accesses is None:
        return {}
    found: dict[str, set[str]] = {member.name: set() for member in layout.members if member.name}
    for part in accesses_of(layout, layouts, accesses).members:
        if top(part.path) in found:
            found[top(part.path)].update(one.function for one in part.functions)
    return {name: len(functions) for name, functions in found.items()}
