# SPDX-License-Identifier: GPL-2.0-or-later
"""Which units of a build can show something of a record: a part of those that include its declaration."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from linesmith.patches.scan.carriers import carriers
from linesmith.patches.scan.declared import declares
from linesmith.patches.scan.files import Files
from linesmith.patches.scan.unit import Unit

# A file that so few units include is looked at as a part of each of them.
_FEW = 8
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# Headers of trace points become code where this is defined (include/trace/define_trace.h).
_TRACE = b"CREATE_TRACE_POINTS"


def selected(units: Sequence[Unit], record: str, files: Files) -> tuple[Unit, ...]:
    """The units worth parsing for ``record``.

    A unit counts when it includes the declaration and its own text can come to the record. Further ones are added
    until each header whose inline functions can is seen by one.
    """
    everything = {file for unit in units for file in (*(unit.includes or ()), unit.file)}
    pattern = declares((record.encode(),))
    declaring = {file for file in everything if _declares(pattern, record.encode(), files.content(file) or b"")}
    including = [unit for unit in units if not declaring.isdisjoint((*(unit.includes or ()), unit.file))]
    return tuple(_choice(including, record, files))


def _declares(pattern: re.Pattern[bytes], name: bytes, content: bytes) -> bool:
    return name in content and pattern.search(content) is not None


def _choice(units: Sequence[Unit], record: str, files: Files) -> Iterator[Unit]:
    counts = Counter(file for unit in units for file in unit.includes or ())
    words = carriers(record, [files.text(file) for file in sorted({*counts, *(unit.file for unit in units)})])
    if words is None:
        yield from units
        return

    def leads(file: str) -> bool:
        return words.lead(files.content(file) or b"", files.words(file))

    headers = {file for file in counts if leads(file)}
    uncovered = set(headers)
    rest = []
    for unit in units:
        if leads(unit.file) or _in_own_parts(unit, headers, counts, files):
            uncovered -= unit.includes or frozenset()
            yield unit
        else:
            rest.append(unit)
    yield from _covering(rest, uncovered)


def _in_own_parts(unit: Unit, headers: set[str], counts: Counter[str], files: Files) -> bool:
    """Whether a header that means something else in this unit than elsewhere can come to the record."""
    parts = (unit.includes or frozenset()) & headers
    if any(counts[file] <= _FEW for file in parts):
        return True
    defined = frozenset(_DEFINED.findall(files.content(unit.file) or b""))
    if _TRACE in defined and any("/trace/" in file for file in parts):
        return True
    return any(not defined.isdisjoint(files.words(file)) for file in parts)


def _covering(units: Iterable[Unit], uncovered: set[str]) -> Iterator[Unit]:
    """Units, most useful first, that together include all files of ``uncovered`` that they can."""
    left = [(unit, (unit.includes or frozenset()) & uncovered) for unit in units]
    missing = set(uncovered)
    while missing and left:
        unit, seen = max(left, key=lambda one: len(one[1] & missing))
        if seen.isdisjoint(missing):
            return
        missing -= seen
        yield unit
