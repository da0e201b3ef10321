# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines at the end of a message that only a person can give: where it was discussed, which commit it mends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import TreeError
from linesmith.patches.series.repository import repository

_ABBREVIATED = 12
_COMPLETE = re.compile(r'([0-9a-f]{12,40}) \("(.+)"\)')


@dataclass(frozen=True, slots=True)
class Trailers:
    """``links`` go under every patch of a series, ``fixes`` (commits with their subjects) under the last one."""

    links: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()

    def under(self, *, last: bool) -> str:
        """The lines for one patch, in the order in which they are usual; empty where there are none."""
        fixes = [f"Fixes: {one}" for one in self.fixes] if last else []
        return "\n".join((*fixes, *(f"Link: {one}" for one in self.links)))


NO_TRAILERS = Trailers()


def trailers(tree: Path, links: Sequence[str], fixes: Sequence[str]) -> Trailers:
    """The trailers as a kernel's maintainer expects them; each of ``fixes`` names a commit of the tree's history.

    Raises ``TreeError`` for a commit that the tree does not have. What is written out as ``HASH ("subject")`` is taken
    as it is, for a tree without history.
    """
    return Trailers(tuple(links), tuple(_named(tree, one) for one in fixes))


def _named(tree: Path, commit: str) -> str:
    if complete := _COMPLETE.fullmatch(commit.strip()):
        return f'{complete[1][:_ABBREVIATED]} ("{complete[2]}")'
    known = repository(tree)
    asked = ("log", "-1", "--no-show-signature", f"--abbrev={_ABBREVIATED}", '--format=%h ("%s")', "--end-of-options")
    found = known.answer(*asked, commit, "--") if known else ""
    if not found:
        raise TreeError(
            f'{tree} has no commit {commit!r}; --fixes takes one of its history, or HASH ("subject") as it is'
        )
    return found
