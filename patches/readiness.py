# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands in the way of a patch of a tree whatever its content, found out before the long work begins."""

from __future__ import annotations

from linesmith.analyzer.errors import EditRefused, LinesmithError
from linesmith.analyzer.model import Layout, Refusal, RefusalCode
from linesmith.patches.atoms import AtomKind, scope
from linesmith.patches.confirmed import declared_in, is_kernel_code, readable
from linesmith.patches.declaration import Declared
from linesmith.patches.kbuild import planned
from linesmith.patches.tree import Tree


def obstacle(type_: str, layout: Layout, tree: Tree) -> LinesmithError | None:
    """Why no candidate for the record could become a patch of the tree; ``None`` where nothing is known to be.

    It is declared nowhere, or where it must stay, or the tree has no configuration, or a tool is missing.
    """
    try:
        with readable(tree):
            declared = declared_in(type_, layout, tree)
            _check_text(declared)
            if is_kernel_code(tree, declared):
                planned(tree.root, tree.build)
    except LinesmithError as error:
        return error
    return None


def _check_text(declared: Declared) -> None:
    """Raise ``EditRefused`` where nothing of the declaration can be read as C."""
    outer, sound = scope(declared.source, declared.record)
    if not sound and all(atom.kind is AtomKind.BROKEN for atom in outer.atoms):
        reason = f"the declaration of {declared.record.title} is not plain C, so no member can be moved safely"
        raise EditRefused(Refusal(RefusalCode.NOT_C, declared.place, reason))
