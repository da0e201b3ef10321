# SPDX-License-Identifier: GPL-2.0-or-later
"""The messages of the steps."""

from __future__ import annotations

from pathlib import Path

from linesmith.patches.inline.study import Study
from linesmith.patches.inline.use import Role
from linesmith.patches.paragraph import paragraph
from linesmith.patches.prefix import style


def order_message(known: Study, tree: Path) -> str:
    """The message of the step that moves the object's type."""
    outer, target = known.pointer.outer, known.target
    subject = style(tree, outer.file).subject(f"declare {target.record.title} before {outer.record.title}")
    text = f"A member of {outer.record.title} is to have this type, which must be complete there. No functional change."
    return f"{subject}\n\n{paragraph(text)}\n"


def inline_message(known: Study, tree: Path) -> str:
    """The message of the step that makes the object a member."""
    outer = known.pointer.outer
    subject = style(tree, outer.file).subject(f"make {known.pointer.name} a member of {outer.record.title}")
    return "\n\n".join((subject, *map(paragraph, _paragraphs(known)))) + "\n"


def _paragraphs(known: Study) -> list[str]:
    title, caches = known.pointer.outer.record.title, known.caches
    where = ", at the beginning of a cache line so that what uses it does not disturb the other members"
    own = (
        f"Each {title} has a {known.pointer.target} of its own, allocated by itself: every use goes through a pointer. "
        f"Make it a member{where if known.attribute else ''}."
    )
    counts = {role: sum(use.role is role for use in known.found.uses) for role in Role}
    done = f"{counts[Role.MEMBER] + counts[Role.VALUE] + counts[Role.OBJECT]} uses changed"
    gone = f"{counts[Role.ALLOCATION]} allocation(s) and {counts[Role.RELEASE]} release(s) gone"
    cache = f", with the slab cache {', '.join(caches.gone)}" if caches.gone else ""
    return [own, f"Made with Coccinelle: {done}, {gone}{cache}."]
