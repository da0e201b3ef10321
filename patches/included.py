# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of files that a C text includes, of both arms of each ``#if``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_INCLUDE = re.compile(rb'#[ \t]*include(?:_next)?[ \t]*(["<])([^">\n]+)[">]')
_COMPUTED = re.compile(rb"#[ \t]*include(?:_next)?[ \t]+\w")


def included(text: bytes) -> Iterator[tuple[bool, str]]:
    """Each name, and whether it stands in quotes; those that macros make are left out."""
    for mark, name in _INCLUDE.findall(text):
        yield mark == b'"', os.fsdecode(name)


def includes_by_macro(text: bytes) -> bool:
    """Whether a macro makes the name of some file that is included."""
    return _COMPUTED.search(text) is not None
