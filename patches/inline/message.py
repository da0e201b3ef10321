# SPDX-License-Identifier: GPL-2.0-or-later
"""The messages of the steps."""

from __future__ import annotations

import textwrap
from pathlib import Path

from linesmith.patches.declaration import Declared
from linesmith.patches.inline.caches import Caches
from linesmith.patches.inline.find import Found
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.use import Role
from linesmith.patches.prefix import style

_WIDTH = 75


def order_message(pointer: PointerMember, target: Declared, tree: Path) -> str:
    """The message of the step that moves the object's type."""
    outer = pointer.outer
    subject = style(tree, outer.file).subject(f"declare {target.record.title} before {outer.record.title}")
    text = f"A member of {outer.record.title} is to have this type, which must be complete there. No functional change."
    return f"{subject}\n\n{_filled(text)}\n"


def inline_message(pointer: PointerMember, found: Found, caches: Caches, tree: Path) -> str:
    """The message of the step that makes the object a member."""
    outer = pointer.outer
    subject = style(tree, outer.file).subject(f"make {pointer.name} a member of {outer.record.title}")
    return "\n\n".join((subject, *map(_filled, _paragraphs(pointer, found, caches)))) + "\n"


def _paragraphs(pointer: PointerMember, found: Found, caches: Caches) -> list[str]:
    title = pointer.outer.record.title
    own = (
        f"Each {title} has a {pointer.target} of its own, allocated by itself: every use goes through a pointer. Make "
        f"it a member, at the beginning of a cache line so that what uses it does not disturb the other members."
    )
    counts = {role: sum(use.role is role for use in found.uses) for role in Role}
    done = f"{counts[Role.MEMBER] + counts[Role.VALUE] + counts[Role.OBJECT]} uses changed"
    gone = f"{counts[Role.ALLOCATION]} allocation(s) and {counts[Role.RELEASE]} release(s) gone"
    cache = f", with the slab cache {', '.join(caches.gone)}" if caches.gone else ""
    return [own, f"Made with Coccinelle: {done}, {gone}{cache}."]


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
