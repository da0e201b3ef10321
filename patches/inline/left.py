# SPDX-License-Identifier: GPL-2.0-or-later
"""Uses of the pointer that are still there when the semantic patch has run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.allocators import RELEASES
from linesmith.patches.inline.classify import use_at
from linesmith.patches.inline.find import Found
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.syntax import callee, enclosing, member_expression, outermost, parsed, text
from linesmith.patches.inline.use import Role
from linesmith.patches.semantic.image import TreeImage
from linesmith.patches.semantic.mentions import Mention, mentioned

# What an object cannot do.
_OF_POINTERS = frozenset((Role.OBJECT, Role.ALLOCATION, Role.RELEASE, Role.CLEARED, Role.TEST))


def left_behind(pointer: PointerMember, found: Found, image: TreeImage) -> tuple[Refusal, ...]:
    """The places that the semantic patch should have changed and did not; it skips functions that it cannot parse."""
    return tuple(one for file in found.files for one in _left(pointer, found, file, image))


def _left(pointer: PointerMember, found: Found, file: str, image: TreeImage) -> Iterator[Refusal]:
    source = image.read(file)
    known = {(use.function, use.holder) for use in found.uses if use.file == file}
    root = parsed(source)
    for one in mentioned(file, source, pointer.name):
        use = use_at(root, file, one, pointer.targets)
        node = member_expression(root, one.offset)
        pointed = node is not None and (_is_followed(node) or _is_released(node))
        if (use.function, use.holder) in known and (use.role in _OF_POINTERS or pointed):
            reason = f"spatch left the pointer here (`{one.text[:60]}`), perhaps in a function that it cannot parse"
            place = _place(found, file, use.function, one, image.original(file).splitlines())
            yield Refusal(RefusalCode.NOT_PARSED, place, reason, "change it by hand")


def _place(found: Found, file: str, function: str, one: Mention, lines: Sequence[bytes]) -> str:
    """Where the line stands in the tree as it is."""
    text = one.text.encode("utf-8", "replace")
    known = (use for use in found.uses if (use.file, use.function) == (file, function))
    return next((use.place for use in known if lines[use.line - 1].strip() == text), one.place)


def _is_followed(node: tree_sitter.Node) -> bool:
    """Whether an arrow stands behind it."""
    above = outermost(node).parent
    return (
        above is not None and above.type == "field_expression" and text(above.child_by_field_name("operator")) == "->"
    )


def _is_released(node: tree_sitter.Node) -> bool:
    """Whether the member itself is given to a function that frees."""
    call = enclosing(node, "call_expression", "field_expression", "expression_statement")
    return call is not None and call.type == "call_expression" and callee(call) in RELEASES
