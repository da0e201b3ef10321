# SPDX-License-Identifier: GPL-2.0-or-later
"""Who should get a patch, as the tree's own ``scripts/get_maintainer.pl`` has it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import LinesmithError
from linesmith.analyzer.model import SeriesStep
from linesmith.patches.child import Command, run
from linesmith.patches.confinement import Confinement
from linesmith.patches.scratch import scratch
from linesmith.patches.unified import files_diff
from linesmith.patches.visible_files import visible

_SCRIPT = Path("scripts") / "get_maintainer.pl"
_ASKED = ("--no-git", "--no-git-fallback", "--no-rolestats", "--roles")
_SECONDS = 60
_ROLE = re.compile(r"(?P<who>\S.*\S) \((?P<role>[^()]*(?:\([^()]*\)[^()]*)*)\)")


@dataclass(frozen=True, slots=True)
class Recipients:
    """``to`` are maintainers and reviewers, ``copies`` lists and all others; ``Name <address>`` or an address."""

    to: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()


NOBODY = Recipients()


def recipients(tree: Path, steps: Sequence[SeriesStep]) -> Recipients:
    """Who the tree's MAINTAINERS names for the changes; nobody where it has no such script, or perl is missing."""
    if not (tree / _SCRIPT).is_file() or shutil.which("perl") is None:
        return NOBODY
    with scratch("linesmith-recipients-") as folder:
        patch = folder / "series.patch"
        patch.write_bytes(b"".join(files_diff(step.changes) for step in steps))
        within = Confinement((*visible(tree), patch), (folder,))
        try:
            ended = run(Command(("perl", str(_SCRIPT), *_ASKED, str(patch)), tree, _SECONDS, within))
        except LinesmithError:
            return NOBODY
    return _sorted(ended.output.splitlines()) if ended.status == 0 else NOBODY


def _sorted(lines: Iterable[str]) -> Recipients:
    found = [(one["who"], one["role"]) for one in map(_ROLE.fullmatch, lines) if one]
    to = dict.fromkeys(who for who, role in found if role.startswith(("maintainer", "supporter", "reviewer")))
    copies = dict.fromkeys(who for who, _ in found if who not in to)
    return Recipients(tuple(to), tuple(copies))
