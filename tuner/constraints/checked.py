# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether facts that a person wrote down speak of records and members that are there."""

from __future__ import annotations

from difflib import get_close_matches

from linesmith.analyzer.errors import ConstraintsError
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import SourceFacts
from linesmith.tuner.atoms import visible_places


def check_facts(facts: SourceFacts, layouts: Layouts) -> None:
    """Raise ``ConstraintsError`` for a record or member that no layout has; a member of one variant is enough."""
    for record, told in facts.records:
        variants = layouts.variants(record)
        if not variants:
            near = _near(record, layouts.names())
            raise ConstraintsError(f"facts are told of struct {record}, which the ELF file does not have{near}")
        names = dict.fromkeys(name for variant in variants for name in visible_places(variant, layouts))
        for member in (member for fact in told for member in fact.members):
            if member not in names:
                near = _near(member, tuple(names))
                raise ConstraintsError(f"facts are told of {record}.{member}, which the ELF file does not have{near}")


def _near(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name, known, 3)
    return f"; did you mean {' or '.join(near)}?" if near else "; leave it out, or give the ELF file that has it"
