# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands in the way of a patch of a tree whatever its content, found out before the long work begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import EditRefused, LinesmithError
from linesmith.analyzer.model import FactKind, Layout, Refusal, RefusalCode, SourceFact
from linesmith.patches.atoms import AtomKind, scope
from linesmith.patches.confirmed import declared_in, is_kernel_code, readable
from linesmith.patches.declaration import Declared
from linesmith.patches.edit import check_record
from linesmith.patches.kbuild import planned
from linesmith.patches.permutation import blocks
from linesmith.patches.pieces import Origin
from linesmith.patches.tree import Tree


@dataclass(frozen=True, slots=True)
class Readiness:
    """The ``file`` that declares a record, empty where none does, and the ``obstacle`` to every patch of it, if any."""

    file: str = ""
    obstacle: LinesmithError | None = None


def readiness(type_: str, layout: Layout, tree: Tree) -> Readiness:
    """Whether a candidate for the record could become a patch of the tree.

    It may be declared nowhere, or where it must stay; the tree may have no configuration; a tool may be missing.
    """
    file = ""
    try:
        with readable(tree):
            declared = declared_in(type_, layout, tree)
            file = declared.file
            _check_text(declared)
            if is_kernel_code(tree, declared):
                planned(tree.root, tree.build)
    except LinesmithError as error:
        return Readiness(file, error)
    return Readiness(file)


def held_together(type_: str, layout: Layout, tree: Path) -> tuple[SourceFact, ...]:
    """The members of conditionals, and what else moves as one: a candidate that parts them could not be written.

    Nothing where the record's declaration is not found.
    """
    try:
        with readable(Tree(tree)):
            declared = declared_in(type_, layout, Tree(tree))
            found = blocks(declared.source, declared.record)
    except LinesmithError:
        return ()
    reason = "the source has them in one block"
    return tuple(SourceFact(FactKind.TOGETHER, names, reason, declared.place) for names in found if len(names) > 1)


def _check_text(declared: Declared) -> None:
    """Raise ``EditRefused`` where nothing of the declaration can move, or be read as C."""
    check_record(Origin(declared.source, declared.file), declared.record)
    outer, sound = scope(declared.source, declared.record)
    if not sound and all(atom.kind is AtomKind.BROKEN for atom in outer.atoms):
        reason = f"the declaration of {declared.record.title} is not plain C, so no member can be moved safely"
        raise EditRefused(Refusal(RefusalCode.NOT_C, declared.place, reason))
