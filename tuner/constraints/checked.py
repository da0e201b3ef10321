# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether facts that a person wrote down speak of records and members that are there."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from linesmith.analyzer.errors import ConstraintsError
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import SourceFacts
from linesmith.tuner.atoms import visible_places


def check_facts(facts: SourceFacts, *builds: Layouts) -> None:
    """Raise ``ConstraintsError`` for a record or member that none of the builds has, in no variant of the record."""
    for record, told in facts.records:
        variants = [(variant, layouts) for layouts in builds for variant in layouts.variants(record)]
        if not variants:
            near = _near(record, [name for layouts in builds for name in layouts.names()])
            raise ConstraintsError(f"facts are told of struct {record}, which the ELF file does not have{near}")
        names = dict.fromkeys(name for variant, layouts in variants for name in visible_places(variant, layouts))
        for member in (member for fact in told for member in fact.members):
            if member not in names:
                near = _near(member, list(names))
                raise ConstraintsError(f"facts are told of {record}.{member}, which the ELF file does not have{near}")


def _near(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, dict.fromkeys(known), 3)
    return (
        f"; did you mean {' or '.join(near)}?"
        if near
        else "; leave it out, or name the build that has it with --configuration"
    )
