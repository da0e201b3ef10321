# SPDX-License-Identifier: GPL-2.0-or-later
"""How a commit's subject begins: as the tree's own history has it for the file, else by a rule on its path."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from linesmith.patches.series.repository import Repository, repository

_SUBJECT = re.compile(r"([A-Za-z][\w/.,+-]{0,30}(?: [\w/.,+-]{1,20})?): (\S)")
_GENERAL = frozenset(("treewide", "revert", "merge", "tree-wide"))
_COMMITS = 30
# One commit is chance; two with one prefix are a habit.
_HABIT = 2


@dataclass(frozen=True, slots=True)
class Style:
    """The words in front of a subject, and whether what follows begins with a capital letter."""

    prefix: str
    capital: bool = False

    def subject(self, text: str) -> str:
        """``text``, an imperative in lower case, as the first line of a message."""
        return f"{self.prefix}: {text[:1].upper() if self.capital else text[:1]}{text[1:]}"


def style(tree: Path, file: str) -> Style:
    """What is most usual for ``file`` in its last 30 commits, else for its folder, else ``prefix_by_path``."""
    known = repository(tree)
    found = (_habit(known, path) for path in _paths(file)) if known and known.head else ()
    return next((one for one in found if one), Style(prefix_by_path(file)))


def prefix(tree: Path, file: str) -> str:
    """The words in front of the subject of a change of ``file``."""
    return style(tree, file).prefix


def prefix_by_path(file: str) -> str:
    """The last folder of the path, without ``include/linux``; a header right there gives its name up to ``_``.

    ``include/linux/fs.h`` gives ``fs``, ``include/linux/mm_types.h`` ``mm``, ``include/net/tcp.h`` ``net``,
    ``kernel/sched/sched.h`` ``sched``.
    """
    path = PurePosixPath(file)
    folders = [part for part in path.parent.parts if part not in ("include", "linux", "src", "asm")]
    return folders[-1] if folders else path.stem.partition("_")[0]


def _paths(file: str) -> Iterator[str]:
    """The file, then its folder where that belongs to one subsystem."""
    yield file
    folder = PurePosixPath(file).parent
    if folder.name not in ("", "include", "linux", "src"):
        yield str(folder)


def _habit(known: Repository, path: str) -> Style | None:
    told = known.answer("log", "--no-show-signature", "-n", str(_COMMITS), "--no-merges", "--format=%s", "--", path)
    matches = [match for match in map(_SUBJECT.match, told.splitlines()) if match and _is_of_one(match[1])]
    most = Counter(match[1] for match in matches).most_common(1)
    if not most or most[0][1] < _HABIT:
        return None
    first = [match[2] for match in matches if match[1] == most[0][0]]
    return Style(most[0][0], sum(letter.isupper() for letter in first) * 2 > len(first))


def _is_of_one(prefix: str) -> bool:
    """Whether a prefix names one part of the tree."""
    return prefix.lower() not in _GENERAL
