# SPDX-License-Identifier: GPL-2.0-or-later
"""The preprocessor conditionals around a place, and those that a change has left empty."""

from __future__ import annotations

import re
from dataclasses import dataclass

from linesmith.patches.masking import without_comments

_DIRECTIVE = re.compile(rb"^[ \t]*\#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(?:\\\r?\n|[^\n])*\n?", re.MULTILINE)
_EMPTY = re.compile(
    rb"^[ \t]*\#[ \t]*if(?:def|ndef)?\b[^\n]*\n(?:[ \t]*\r?\n)*[ \t]*\#[ \t]*endif\b[^\n]*\n", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Conditional:
    """An open ``#if``: its lines as written, and whether the place is behind an ``#else`` or ``#elif`` of it."""

    opening: bytes
    alternative: bool = False


def conditionals(source: bytes, offset: int, start: int = 0) -> tuple[Conditional, ...]:
    """The conditionals that begin behind ``start`` and are open at ``offset``, outermost first."""
    open_: list[Conditional] = []
    code = without_comments(source)
    for match in _DIRECTIVE.finditer(code, start, offset):
        if match[1].startswith(b"if"):
            open_.append(Conditional(source[match.start() : match.end()]))
        elif match[1] == b"endif":
            open_ = open_[:-1]
        elif open_:
            open_[-1] = Conditional(open_[-1].opening, alternative=True)
    return tuple(open_)


def without_emptied(before: bytes, after: bytes) -> bytes:
    """``after`` without conditionals that hold nothing; those that held nothing ``before`` stay."""
    held = set(_EMPTY.findall(before))
    return _EMPTY.sub(lambda match: match[0] if match[0] in held else b"", after)
