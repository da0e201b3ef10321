# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a body has come into the order that a candidate wants, and into none that it must not have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from linesmith.analyzer.model import Candidate, RefusalCode
from linesmith.patches.atoms import AtomKind, Scope
from linesmith.patches.body import Body, members
from linesmith.patches.moves import OTHER_CANDIDATE, whole

_SHOWN = 4


def check_order(before: Body, body: Body, candidate: Candidate) -> None:
    """The members known from DWARF must come out in the candidate's order; what came along shows up here."""
    order = members(body.home)
    wanted = [member.name for member in candidate.after.members if member.name in order]
    got = [name for name in order if name in wanted]
    if got == wanted:
        return
    for move in candidate.moves:
        for name in (move.member, move.partner or move.after):
            _refuse_companions(before, candidate, name)
    name = next(mine for mine, theirs in zip(got, wanted, strict=False) if mine != theirs)
    reason = f"the tree orders the members of {body.record.title} in another way than the ELF file (see `{name}`)"
    lift = "use an ELF file built from this tree"
    raise before.origin.refuse(RefusalCode.OTHER_ORDER, before.record.start, reason, lift)


def _refuse_companions(body: Body, candidate: Candidate, name: str | None) -> None:
    known = {member.name for member in candidate.before.members if member.name}
    atom = next((one for one in body.home.atoms if name in one.names), None)
    others = [f"`{other}`" for other in atom.names if other in known and other != name] if atom else []
    if atom and others:
        listed = ", ".join(others[:_SHOWN]) + (", …" if len(others) > _SHOWN else "")
        reason = f"`{name}` is in {atom.kind.value} with {listed}, which can only move together"
        raise body.origin.refuse(whole(atom), atom.start, reason, OTHER_CANDIDATE)


def check_bit_fields(before: Body, body: Body, candidate: Candidate) -> None:
    """Refuses bit-fields next to each other that were not: they would be written as one (C11 3.14p3)."""
    compiled = [member.name for member in candidate.before.members]
    known = {*_neighbours(before.outer), *pairwise(compiled)}
    for first, second in _neighbours(body.outer):
        if (first, second) not in known:
            reason = f"the bit-fields `{first}` and `{second}` would come next to each other and share memory"
            place = next(atom.start for atom in before.innermost(second).atoms if atom.declares(second))
            raise before.origin.refuse(RefusalCode.BIT_FIELDS, place, reason, OTHER_CANDIDATE)


def _neighbours(inside: Scope) -> Iterator[tuple[str, str]]:
    """Names of bit-fields that follow each other with no other member between, in a scope and in those within."""
    named = [(name, atom.kind is AtomKind.BIT_FIELDS) for atom in inside.atoms for name in (*atom.names, *atom.inner)]
    for (first, one), (second, other) in pairwise(named):
        if one and other:
            yield first, second
    for atom in inside.atoms:
        for deeper in atom.scopes:
            yield from _neighbours(deeper)
