# SPDX-License-Identifier: GPL-2.0-or-later
"""What C texts include, in both arms of each ``#if``, found without a preprocessor."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

# With the rest of the line: what else is in it does not begin it.
_INCLUDE = re.compile(rb'#[ \t]*+include(?:_next)?[ \t]*+(["<])([^">\n]++)([">])?[^\n]*+')
_COMPUTED = re.compile(rb"#[ \t]*+include(?:_next)?[ \t]++\w")
# No file has a longer path (PATH_MAX in linux/limits.h), so no compiler finds it either.
_MOST_OF_A_NAME = 4095


def included(text: bytes) -> Iterator[tuple[bool, str]]:
    """Each name that is included, and whether it stands in quotes; those that macros make are left out."""
    for match in _INCLUDE.finditer(text):
        # To look for the beginning of each line first takes many times as long.
        line = text.rfind(b"\n", 0, match.start()) + 1
        if match[3] and len(match[2]) <= _MOST_OF_A_NAME and not text[line : match.start()].strip():
            yield match[1] == b'"', os.fsdecode(match[2])


def includes_by_macro(text: bytes) -> bool:
    """Whether a macro makes the name of some file that is included."""
    return _COMPUTED.search(text) is not None


class IncludePath:
    """The files that each file includes, as far as they are in its own folder or in those of an include path."""

    def __init__(
        self, folders: Sequence[str], content: Callable[[str], bytes | None], is_file: Callable[[str], bool]
    ) -> None:
        """``content`` and ``is_file`` are asked of paths; each file is looked into once."""
        self._folders = tuple(folders)
        self._content = content
        self._is_file = is_file
        self.of = lru_cache(maxsize=None)(self._of)
        self._found = lru_cache(maxsize=None)(self._search)

    def _of(self, path: str) -> tuple[str, ...]:
        beside = os.path.dirname(path)  # noqa: PTH120 - a path for each of 100,000 lines
        found = (
            self._found(beside if in_quotes else "", name) for in_quotes, name in included(self._content(path) or b"")
        )
        return tuple(dict.fromkeys(one for one in found if one))

    def _search(self, beside: str, name: str) -> str:
        """Where an include file lies; empty where it is nowhere."""
        places = (os.path.normpath(f"{folder}/{name}") for folder in (beside, *self._folders) if folder)
        return next((place for place in places if self._is_file(place)), "")
