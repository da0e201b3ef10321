# SPDX-License-Identifier: GPL-2.0-or-later
"""What units include, found in the text: of both arms of each ``#if``, so rather too much than too little.

It stands in for a compiler's record where there is none; ``#include`` of a macro is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from linesmith.patches.included import IncludePath
from linesmith.patches.scan.files import Files
from linesmith.patches.scan.unit import Unit

_OPTION = re.compile(r"(-I|-isystem|-iquote|-idirafter|-include|-imacros)(?:\s*|=)(\S+)")
_FORCED = ("-include", "-imacros")
_OF_THE_SYSTEM = ("/usr/local/include", "/usr/include")


@dataclass(frozen=True, slots=True)
class _Search:
    """Where a compiler call looks for files: ``forced`` ones come first of all."""

    path: IncludePath
    forced: tuple[str, ...]


class IncludeWalk:
    """Follows ``#include``; what a file includes is worked out once for each list of folders."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._searches: dict[tuple[str, str], _Search] = {}
        self._is_file: dict[str, bool] = {}

    def followed(self, units: Iterable[Unit]) -> Iterator[Unit]:
        """The units with what they include, where that is not recorded."""
        for unit in units:
            yield unit if unit.includes is not None else replace(unit, includes=self._all_of(unit))

    def _all_of(self, unit: Unit) -> frozenset[str]:
        search = self._search(unit)
        seen = {unit.file}
        waiting = [unit.file, *search.forced]
        seen.update(search.forced)
        while waiting:
            fresh = set(search.path.of(waiting.pop())) - seen
            seen |= fresh
            waiting += fresh
        return frozenset(seen - {unit.file})

    def _search(self, unit: Unit) -> _Search:
        options = " ".join(f"{name}\0{value}" for name, value in _OPTION.findall(_text(unit)))
        key = str(unit.directory), options
        found = self._searches.get(key)
        if found is None:
            found = self._searches[key] = self._searched(unit)
        return found

    def _searched(self, unit: Unit) -> _Search:
        text = _text(unit)
        places = [(name, os.path.normpath(unit.directory / value)) for name, value in _OPTION.findall(text)]
        forced = tuple(place for name, place in places if name in _FORCED)
        folders = [place for name, place in places if name not in _FORCED]
        system = () if "-nostdinc" in text else _OF_THE_SYSTEM
        path = IncludePath((*dict.fromkeys(folders), *system), self.files.content, self._exists)
        return _Search(path, forced)

    def _exists(self, path: str) -> bool:
        found = self._is_file.get(path)
        if found is None:
            found = self._is_file[path] = os.path.isfile(path)  # noqa: PTH113 - false for a name that no file can have
        return found


def _text(unit: Unit) -> str:
    return unit.command if isinstance(unit.command, str) else " ".join(unit.command)
