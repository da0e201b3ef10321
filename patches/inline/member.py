# SPDX-License-Identifier: GPL-2.0-or-later
"""The declaration of the record with the object in the place of the pointer."""

from __future__ import annotations

import re

from linesmith.patches.atoms import scope
from linesmith.patches.body import all_members
from linesmith.patches.inline.conditionals import conditionals, without_emptied
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.kernel_doc import followed
from linesmith.patches.masking import without_comments, without_directives

_COMMENT_ABOVE = re.compile(
    rb"(?:^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\r?\n|^[ \t]*//[^\n]*\n)+\Z", re.MULTILINE | re.DOTALL
)
_BESIDE = re.compile(rb"[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)?[ \t]*\r?\n", re.DOTALL)
_FLEXIBLE = re.compile(rb"\[\s*[01]?\s*\]\s*;\s*\Z|DECLARE_FLEX_ARRAY|\bFLEX")


def with_object(pointer: PointerMember, attribute: str) -> bytes:
    """The file with the object as the last member of the record, aligned by ``attribute`` (empty: not at all).

    The comments of the pointer, its entry in kernel-doc and the conditionals around it go along. It stays where the
    pointer was when the record must end with another member, or when an ``#else`` decides which of two there is.
    """
    source = pointer.outer.source
    around = conditionals(source, pointer.start, pointer.outer.record.opening)
    declared = _declared(pointer, attribute)
    if not _can_be_last(pointer) or any(one.alternative for one in around):
        return source[: pointer.start] + declared + source[pointer.end :]
    start, end = _lines(source, pointer)
    moved = source[start : pointer.start] + declared + source[pointer.end : end]
    block = b"".join(one.opening for one in around) + moved + b"#endif\n" * len(around)
    brace = source.rfind(b"\n", 0, pointer.outer.record.closing) + 1
    rest = source[:start] + source[end:brace]
    return _described(pointer, without_emptied(source, rest + block + source[brace:]))


def _described(pointer: PointerMember, after: bytes) -> bytes:
    """The file with the member's entry of the kernel-doc comment as far down as the member."""
    record = pointer.outer.record
    before = all_members(scope(pointer.outer.source, record)[0])
    moved = (*(name for name in before if name != pointer.name), pointer.name)
    return followed(after, record, before, moved)


def _declared(pointer: PointerMember, attribute: str) -> bytes:
    text = f"{pointer.target} {pointer.name}"
    return (f"{text} {attribute};" if attribute else f"{text};").encode()


def _lines(source: bytes, pointer: PointerMember) -> tuple[int, int]:
    """The whole lines of the declaration with the comments right above and beside it."""
    start = source.rfind(b"\n", 0, pointer.start) + 1
    above = _COMMENT_ABOVE.search(source, pointer.outer.record.opening, start)
    beside = _BESIDE.match(source, pointer.end)
    return above.start() if above else start, beside.end() if beside else pointer.end


def _can_be_last(pointer: PointerMember) -> bool:
    """Whether the member stands on lines of its own in the body itself, and the record does not end with an array."""
    record, source = pointer.outer.record, pointer.outer.source
    code = without_directives(without_comments(source))
    ahead = code[record.opening + 1 : pointer.start]
    if any(ahead.count(opening) != ahead.count(closing) for opening, closing in ((b"{", b"}"), (b"(", b")"))):
        return False
    last = code[record.opening + 1 : record.closing].rstrip()
    alone = not code[source.rfind(b"\n", 0, pointer.start) + 1 : pointer.start].strip()
    brace_alone = not code[source.rfind(b"\n", 0, record.closing) + 1 : record.closing].strip()
    return alone and brace_alone and not _FLEXIBLE.search(last[last.rfind(b";", 0, -1) + 1 :])
