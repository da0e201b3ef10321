# SPDX-License-Identifier: GPL-2.0-or-later
"""What units include, found in the text: of both arms of each ``#if``, so rather too much than too little.

It stands in for a compiler's record where there is none; ``#include`` of a macro is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.patches.scan.files import Files
from linesmith.patches.scan.unit import Unit

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
_OPTION = re.compile(r"(-I|-isystem|-iquote|-idirafter|-include|-imacros)(?:\s*|=)(\S+)")
_OF_THE_SYSTEM = ("/usr/local/include", "/usr/include")


@dataclass(frozen=True, slots=True)
class _Search:
    """Where a compiler call looks for files: ``forced`` ones come first of all."""

    folders: tuple[str, ...]
    forced: tuple[str, ...]


class IncludeWalk:
    """Follows ``#include``; what a file includes is worked out once for each list of folders."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._searches: dict[tuple[str, str], _Search] = {}
        self._direct: dict[tuple[_Search, str], tuple[str, ...]] = {}
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
            fresh = set(self._includes(search, waiting.pop())) - seen
            seen |= fresh
            waiting += fresh
        return frozenset(seen - {unit.file})

    def _search(self, unit: Unit) -> _Search:
        options = " ".join(f"{name}\0{value}" for name, value in _OPTION.findall(_text(unit)))
        key = str(unit.directory), options
        found = self._searches.get(key)
        if found is None:
            found = self._searches[key] = _searched(unit)
        return found

    def _includes(self, search: _Search, file: str) -> tuple[str, ...]:
        key = search, file
        found = self._direct.get(key)
        if found is None:
            found = self._direct[key] = tuple(self._resolved(search, file))
        return found

    def _resolved(self, search: _Search, file: str) -> Iterator[str]:
        beside = os.path.dirname(file)  # noqa: PTH120 - a path for each of 100,000 lines
        for quote, name in _INCLUDE.findall(self.files.content(file) or b""):
            folders = (beside, *search.folders) if quote == b'"' else search.folders
            for folder in folders:
                path = os.path.normpath(f"{folder}/{os.fsdecode(name)}")
                if self._exists(path):
                    yield path
                    break

    def _exists(self, path: str) -> bool:
        found = self._is_file.get(path)
        if found is None:
            found = self._is_file[path] = Path(path).is_file()
        return found


def _text(unit: Unit) -> str:
    return unit.command if isinstance(unit.command, str) else " ".join(unit.command)


def _searched(unit: Unit) -> _Search:
    text = _text(unit)
    places = [(name, os.path.normpath(unit.directory / value)) for name, value in _OPTION.findall(text)]
    forced = tuple(place for name, place in places if name in ("-include", "-imacros"))
    folders = [place for name, place in places if name not in ("-include", "-imacros")]
    system = () if "-nostdinc" in text else _OF_THE_SYSTEM
    return _Search((*dict.fromkeys(folders), *system), forced)
