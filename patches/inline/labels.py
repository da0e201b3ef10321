# SPDX-License-Identifier: GPL-2.0-or-later
"""Labels that nothing jumps to any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import tree_sitter

from linesmith.patches.inline.syntax import function_name, inside, parsed, text


def without_unused_labels(before: bytes, after: bytes) -> bytes:
    """``after`` without the labels on lines of their own whose last ``goto`` has gone since ``before``."""
    was = Counter(_jumps(parsed(before)))
    root = parsed(after)
    now = set(_jumps(root))
    for statement in reversed(list(inside(root, "labeled_statement"))):
        label = statement.child_by_field_name("label")
        key = (function_name(statement), text(label))
        if label is not None and was[key] and key not in now:
            after = _without_line(after, label)
    return after


def _jumps(root: tree_sitter.Node) -> Iterator[tuple[str, str]]:
    """Function and label of each ``goto``."""
    for one in inside(root, "goto_statement"):
        yield function_name(one), text(one.child_by_field_name("label"))


def _without_line(source: bytes, label: tree_sitter.Node) -> bytes:
    start, end = source.rfind(b"\n", 0, label.start_byte) + 1, source.find(b"\n", label.end_byte) + 1
    alone = source[start:end].strip() == (label.text or b"") + b":"
    return source[:start] + source[end:] if alone else source
