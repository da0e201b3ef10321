# SPDX-License-Identifier: GPL-2.0-or-later
"""Uses of the pointer that are still there when the semantic patch has run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.find import Found
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.masking import without_comments
from linesmith.patches.semantic.image import TreeImage


def left_behind(pointer: PointerMember, found: Found, image: TreeImage) -> tuple[Refusal, ...]:
    """The places that the semantic patch should have changed and did not; it skips functions that it cannot parse."""
    return tuple(one for file in found.files for one in _left(pointer, found, file, image.read(file)))


def _left(pointer: PointerMember, found: Found, file: str, source: bytes) -> Iterator[Refusal]:
    """A holder's member that is still followed by an arrow, as often as none was expected to be."""
    holders = {use.holder for use in found.uses if use.file == file}
    pattern = re.compile(rb"(?:->|\.)\s*" + pointer.name.encode() + rb"\s*->")
    code = without_comments(source)
    for match in pattern.finditer(code):
        line = source.count(b"\n", 0, match.start()) + 1
        ahead = code[max(0, match.start() - 80) : match.start()].decode("utf-8", "replace").rstrip()
        if any(ahead.endswith(holder) for holder in holders if holder):
            reason = f"spatch left `{pointer.name}->` here, in a function that it cannot parse"
            yield Refusal(RefusalCode.NOT_PARSED, f"{file}:{line}", reason, "change it by hand")
