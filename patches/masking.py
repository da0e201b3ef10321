# SPDX-License-Identifier: GPL-2.0-or-later
"""C text with everything blanked that is not code, byte for byte as long as before."""

from __future__ import annotations

import re

_NOT_CODE = re.compile(
    rb"""//(?:\\\r?\n|[^\n])*            # a comment to the end of the line, which a backslash continues
       | /\*.*?(?:\*/|\Z)              # a block comment, even one that never ends
       | "(?:\\.|[^"\\\n])*"
       | '(?:\\.|[^'\\\n])*'""",
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(rb"^[ \t]*\#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_VISIBLE = re.compile(rb"[^\r\n]")
_BRACKETS = re.compile(rb"[][(){}]")
_DEEPEST = 100
_OPENING = {ord("("): ord(")"), ord("["): ord("]"), ord("{"): ord("}")}


def blank(text: bytes) -> bytes:
    """Spaces in place of every byte but line ends."""
    return _VISIBLE.sub(b" ", text)


def without_comments(source: bytes) -> bytes:
    """``source`` with comments, strings and character constants blanked; offsets stay valid."""
    return _NOT_CODE.sub(lambda match: blank(match[0]), source)


def without_directives(code: bytes) -> bytes:
    """``code`` (which has no comments) with preprocessor lines blanked; offsets stay valid."""
    return _DIRECTIVE.sub(lambda match: blank(match[0]), code)


def closing(code: bytes, opening: int) -> int | None:
    """Offset of the bracket that closes the one at ``opening``.

    ``None`` when brackets do not pair, or lie deeper in each other than people write.
    """
    expected: list[int] = []
    for match in _BRACKETS.finditer(code, opening):
        bracket = code[match.start()]
        if bracket in _OPENING:
            expected.append(_OPENING[bracket])
        elif expected.pop() != bracket:
            return None
        if not expected:
            return match.start()
        if len(expected) > _DEEPEST:
            return None
    return None
