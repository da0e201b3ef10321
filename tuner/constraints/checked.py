# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether facts that a person wrote down speak of records and members that are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches

from linesmith.analyzer.errors import ConstraintsError
from linesmith.analyzer.geometry.atoms import visible_places
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import SourceFact, SourceFacts


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


def known_facts(facts: SourceFacts, layouts: Layouts) -> SourceFacts:
    """The facts of records and members that the build has; a scan of its source may tell of others.

    A fact of several members holds for those that are there; one of members that are not says nothing.
    """
    return SourceFacts(tuple((name, tuple(_known(name, told, layouts))) for name, told in facts.records))


def _known(record: str, told: Sequence[SourceFact], layouts: Layouts) -> Iterator[SourceFact]:
    names = {name for variant in layouts.variants(record) for name in visible_places(variant, layouts)}
    for fact in told:
        members = tuple(name for name in fact.members if name in names)
        if names and (members or not fact.members):
            yield replace(fact, members=members)


def _near(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, dict.fromkeys(known), 3)
    return (
        f"; did you mean {' or '.join(near)}?"
        if near
        else "; leave it out, or name the build that has it with --configuration"
    )
