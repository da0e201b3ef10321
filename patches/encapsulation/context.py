# SPDX-License-Identifier: GPL-2.0-or-later
"""What a word of a source is, by the text around it."""

from __future__ import annotations

import re

from linesmith.patches.semantic.mentions import Mention

_OFFSETS = re.compile(r"\b(\w*(?:offsetof|container_of|sizeof_field|typeof_member|list_entry|OFFSET|DEFINE)\w*)\s*\(")
_CONTEXT = 400


def is_access(source: bytes, mention: Mention) -> bool:
    """Whether the word follows ``->`` or a dot behind an expression."""
    ahead = source[max(0, mention.offset - _CONTEXT) : mention.offset].rstrip()
    if ahead.endswith(b"->"):
        return True
    holder = ahead[:-1].rstrip()[-1:] if ahead.endswith(b".") else b""
    return bool(holder) and (holder.isalnum() or holder in b"_)]")


def is_designator(source: bytes, mention: Mention) -> bool:
    """Whether the word stands behind the dot of a designated initialiser."""
    ahead = source[max(0, mention.offset - _CONTEXT) : mention.offset].rstrip()
    return ahead.endswith(b".") and not is_access(source, mention)


def is_offset(source: bytes, mention: Mention) -> bool:
    """Whether the word is an argument of ``offsetof()``, ``container_of()`` or the like."""
    ahead = source[max(0, mention.offset - _CONTEXT) : mention.offset].decode("utf-8", "replace")
    statement = re.split(r"[;{}]", ahead)[-1]
    return any(_is_open(statement[match.end() - 1 :]) for match in _OFFSETS.finditer(statement))


def _is_open(text: str) -> bool:
    return text.count("(") > text.count(")")


def statement(source: bytes, mention: Mention) -> bytes:
    """The text around the word up to the nearest semicolons."""
    ahead = source[max(0, mention.offset - _CONTEXT) : mention.offset]
    return ahead.split(b";")[-1] + source[mention.offset : mention.offset + _CONTEXT].split(b";")[0]


def is_called(source: bytes, mention: Mention, word: str) -> bool:
    """Whether the word is a function or macro: one that is defined or called, and no member."""
    following = source[mention.offset + len(word) :].lstrip(b" \t")
    return not is_access(source, mention) and (following.startswith(b"(") or mention.macro == word)
