# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the words of a data source (``LVL L3 hit``) back into the number that perf had, where only they are left.

The words leave some bits out, and name others twice; what is put in is what the hardware that prints these words sets.
Bits: ``union perf_mem_data_src`` of include/uapi/linux/perf_event.h. Words: util/mem-events.c of perf 4.1 to 6.16.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

OPERATIONS = {"N/A": 1, "LOAD": 2, "STORE": 4, "PFETCH": 8, "EXEC": 16}
_HIT, _MISS = 1 << 6, 1 << 7
_LEVEL_AT, _NUMBER_AT, _SNOOP_AT, _LOCK_AT, _REMOTE, _SNOOPX_AT, _HOPS_AT = 5, 33, 19, 24, 1 << 37, 38, 43
_NO_LEVEL = 1 << _LEVEL_AT
# Bits of the level, and its number in the newer field.
_LEVELS = {
    "L1": (0x8, 1), "LFB": (0x10, 12), "LFB/MAB": (0x10, 12), "MAB": (0x10, 12), "L2": (0x20, 2), "L2 MHB": (0x20, 5),
    "L3": (0x40, 3), "L4": (0, 4), "Any cache": (0, 11), "Local RAM": (0x80, 13), "RAM": (0x80, 13),
    "Remote RAM (1 hop)": (0x100, 0), "Remote RAM (2 hops)": (0x200, 0), "Remote Cache (1 hop)": (0x400, 0),
    "Remote Cache (2 hops)": (0x800, 0), "PMEM": (0, 14), "I/O": (0x1000, 10), "Uncached": (0x2000, 8),
    "Memory-side Cache": (0, 6), "CXL": (0, 9),
}  # fmt: skip
_REMOTE_CACHE, _REMOTE_RAM = 0x400, 0x100
_HOPS = ("core, same node", "node, same socket", "socket, same board", "board")
_SNOOPS = {"None": 2, "Hit": 4, "Miss": 8, "HitM": 16}
_FORWARDS = {"Fwd": 1, "Peer": 2}
_ENDING = re.compile(r"\s+(hit|miss)\b", re.IGNORECASE)


def source_of(segments: Iterable[str]) -> int:
    """The data source that prints as ``segments`` (``OP LOAD``, ``LVL L3 hit``, ...); others count for nothing."""
    source = 0
    for segment in segments:
        key, _, words = segment.partition(" ")
        words = words.strip()
        match key:
            case "OP":
                source |= OPERATIONS.get(words, 0)
            case "LVL":
                source |= _level(words)
            case "SNP":
                parts = words.split(" or ")
                source |= sum(_SNOOPS.get(part, 0) for part in set(parts)) << _SNOOP_AT
                source |= sum(_FORWARDS.get(part, 0) for part in set(parts)) << _SNOOPX_AT
            case "LCK":
                source |= {"No": 0, "Yes": 2}.get(words[:3].strip(), 1) << _LOCK_AT
    return source


def _level(words: str) -> int:
    """The bits of ``L3 or L3 hit``, ``Remote core, same node L3 hit``, ``N/A``."""
    endings = {found.lower() for found in _ENDING.findall(words)}
    bits = _HIT * ("hit" in endings) | _MISS * ("miss" in endings)
    for part in _ENDING.sub("", words).split(" or "):
        bits |= _one_level(part.strip())
    return bits or _NO_LEVEL


def _one_level(part: str) -> int:
    if part in _LEVELS:
        level, number = _LEVELS[part]
        return level << _LEVEL_AT | number << _NUMBER_AT
    remote = part.startswith("Remote ")
    rest = part.removeprefix("Remote ")
    hop = next((at for at, words in enumerate(_HOPS, 1) if rest.startswith(words)), 0)
    rest = rest.removeprefix(_HOPS[hop - 1]).strip() if hop else rest
    level, number = _LEVELS.get(rest, (0, 0))
    if remote or hop:
        level = _REMOTE_RAM if rest in ("RAM", "PMEM") else _REMOTE_CACHE
    return level << _LEVEL_AT | number << _NUMBER_AT | (_REMOTE if remote or hop else 0) | hop << _HOPS_AT
