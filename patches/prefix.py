# SPDX-License-Identifier: GPL-2.0-or-later
"""The word in front of a commit's subject: what the tree's own history uses for the file, else a rule on its path."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path, PurePosixPath

from linesmith.analyzer.errors import LinesmithError
from linesmith.patches.child import Command, run

_SUBJECT = re.compile(r"([A-Za-z][\w/.,+-]{0,30}(?: [\w/.,+-]{1,20})?): \S")
_GENERAL = frozenset(("treewide", "revert", "merge", "tree-wide"))
_GIT = (
    "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gpg.program=false",
    "-c", "protocol.allow=never", "--no-pager", "log", "--no-show-signature", "-n", "30", "--format=%s", "--",
)  # fmt: skip
_GIT_SECONDS = 20
# One commit is chance; two with one prefix are a habit.
_HABIT = 2


def prefix(tree: Path, file: str) -> str:
    """The prefix most used for ``file`` in the last 30 commits, else ``prefix_by_path``."""
    if not (tree / ".git").exists():
        return prefix_by_path(file)
    try:
        ended = run(Command((*_GIT, file), tree, _GIT_SECONDS))
    except LinesmithError:
        return prefix_by_path(file)
    matches = (_SUBJECT.match(subject) for subject in ended.output.splitlines() if ended.status == 0)
    counts = Counter(match[1] for match in matches if match and match[1].lower() not in _GENERAL)
    most = counts.most_common(1)
    return most[0][0] if most and most[0][1] >= _HABIT else prefix_by_path(file)


def prefix_by_path(file: str) -> str:
    """The last folder of the path, without ``include/linux``; a header right there gives its name up to ``_``.

    ``include/linux/fs.h`` gives ``fs``, ``include/linux/mm_types.h`` ``mm``, ``include/net/tcp.h`` ``net``,
    ``kernel/sched/sched.h`` ``sched``.
    """
    path = PurePosixPath(file)
    folders = [part for part in path.parent.parts if part not in ("include", "linux", "src", "asm")]
    return folders[-1] if folders else path.stem.partition("_")[0]
