# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map: what every instruction of a file touches, kept beside the index, asked by type, function, address."""

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.by_address import NO_ROW, accesses_at, resolve
from linesmith.analyzer.access.by_function import accesses_in
from linesmith.analyzer.access.by_type import accesses_of, of_member, touched_alone, touching
from linesmith.analyzer.access.by_way import writing_ways
from linesmith.analyzer.access.reading import AccessReading, accesses_if_any, read_accesses
from linesmith.analyzer.access.summary import summary

__all__ = [
    "NO_ROW",
    "AccessMap",
    "AccessReading",
    "accesses_at",
    "accesses_if_any",
    "accesses_in",
    "accesses_of",
    "of_member",
    "read_accesses",
    "resolve",
    "summary",
    "touched_alone",
    "touching",
    "writing_ways",
]
