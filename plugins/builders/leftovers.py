# SPDX-License-Identifier: GPL-2.0-or-later
"""What a build that was stopped has left: which of the files that it wrote may not be whole.

Kbuild writes a record beside a target, ``.NAME.cmd``, when the target is made (scripts/Kbuild.include, fixdep.c). A
target with a record that is whole and not older is whole itself, so a long build goes on where it was stopped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

# What was written this shortly (ns) before the end may have been in the making in spite of its record.
_LAST = 2_000_000_000


def unfinished(folder: Path, since: int) -> Iterator[str]:
    """The files, relative to ``folder``, that were written at or after ``since`` (ns) and may not be whole."""
    written = dict(_written(str(folder), since))
    end = max(written.values(), default=0) - _LAST
    for path, changed in written.items():
        if changed > end or not _is_finished(folder, path, written):
            yield path


def _written(folder: str, since: int) -> Iterator[tuple[str, int]]:
    for place, _, names in os.walk(folder):
        for name in names:
            changed = os.lstat(f"{place}/{name}").st_ctime_ns
            if changed >= since:
                yield os.path.relpath(f"{place}/{name}", folder), changed


def _is_finished(folder: Path, path: str, written: Mapping[str, int]) -> bool:
    place, _, name = path.rpartition("/")
    if name.startswith(".") and name.endswith(".cmd"):
        return _is_whole(folder / path)
    record = f"{place}/.{name}.cmd".lstrip("/")
    return written.get(record, 0) >= written[path] and _is_whole(folder / record)


def _is_whole(record: Path) -> bool:
    """The last line that fixdep writes makes the dependencies the target's own; make's rules may append more."""
    text = record.read_text("utf-8", "replace")
    return text.endswith("\n") and ("\ndeps_" not in text or "\n$(deps_" in text)
