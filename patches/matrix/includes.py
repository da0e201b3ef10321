# SPDX-License-Identifier: GPL-2.0-or-later
"""Which units include a file, by their text: what no compiler has recorded. Conditions are taken to hold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from linesmith.patches.included import IncludePath

_MOST_BYTES = 4 << 20


class Includes:
    """The files that each file includes; what is not below ``tree`` or the directories is not looked at."""

    def __init__(self, tree: Path, directories: Sequence[Path]) -> None:
        """``directories`` are those of the include path, in order."""
        self._tree = str(tree)
        self._of = IncludePath([str(one) for one in directories], _content, os.path.isfile).of

    def including(self, units: Iterable[str], files: Iterable[str], forced: Sequence[str] = ()) -> frozenset[str]:
        """The ``units`` that reach one of ``files``, all relative to the tree; ``forced`` are included by all."""
        wanted = frozenset(os.path.normpath(f"{self._tree}/{file}") for file in files)
        paths = {unit: os.path.normpath(f"{self._tree}/{unit}") for unit in units}
        reaching = self._reaching((*paths.values(), *forced), wanted)
        if reaching.intersection(forced):
            return frozenset(paths)
        return frozenset(unit for unit, path in paths.items() if path in reaching)

    def _reaching(self, starts: Iterable[str], wanted: frozenset[str]) -> set[str]:
        """All files from which ``wanted`` are reached, themselves among them."""
        includers: dict[str, list[str]] = {}
        seen = set(starts)
        waiting = list(seen)
        while waiting:
            path = waiting.pop()
            for included in self._of(path):
                includers.setdefault(included, []).append(path)
                if included not in seen:
                    seen.add(included)
                    waiting.append(included)
        reached = set(wanted)
        waiting = list(wanted)
        while waiting:
            for path in includers.get(waiting.pop(), ()):
                if path not in reached:
                    reached.add(path)
                    waiting.append(path)
        return reached


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - thousands of files, and their names are text here
            return file.read(_MOST_BYTES)
    except OSError:
        return None
