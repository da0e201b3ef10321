# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sampled access was, from the bits of its data source, and as which counts ``perf c2c`` takes it.

Bits: ``union perf_mem_data_src`` of include/uapi/linux/perf_event.h, which Intel PEBS, AMD IBS, Arm SPE and PowerPC
all fill. Counting rules: ``c2c_decode_stats`` of tools/perf/util/mem-events.c, the same from Linux 6.1 to 6.12.

Where only its words are left (``LVL L3 hit``, util/mem-events.c of perf 4.1 to 6.16) they become the number again. They
leave some bits out, and name others twice; what is put in is what the hardware that prints these words sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LOAD, _STORE = 0x02, 0x04
_HIT, _MISS = 0x02, 0x04
_L1, _L2, _L3, _REMOTE_CACHE = 0x08, 0x20, 0x40, 0x400 | 0x800
_SNOOP_HIT, _SNOOP_HITM = 0x04, 0x10
_PEER = 0x02


@dataclass(frozen=True, slots=True)
class DataSource:
    """One access as ``perf c2c`` counts it; each count is 0 or 1, those of local peers 0 to 2.

    A load counts as HITM when the line was modified in another cache, as peer when another core gave it.
    ``stores_na`` are also those of another level than L1, for which perf has no column.
    """

    loads: int = 0
    stores: int = 0
    hitm_local: int = 0
    hitm_remote: int = 0
    peer_local: int = 0
    peer_remote: int = 0
    stores_l1_hit: int = 0
    stores_l1_miss: int = 0
    stores_na: int = 0


def decoded(bits: int) -> DataSource:
    """The access that ``bits``, a ``perf_mem_data_src``, stand for; the sample's address is not 0."""
    operation, level = bits & 0x1F, bits >> 5 & 0x3FFF
    if operation & _LOAD:
        return _load(bits, level)
    if operation & _STORE:
        hit, miss = bool(level & _HIT and level & _L1), bool(level & _MISS and level & _L1)
        return DataSource(stores=1, stores_l1_hit=int(hit), stores_l1_miss=int(miss), stores_na=int(not (hit or miss)))
    return DataSource()


def _load(bits: int, level: int) -> DataSource:
    snoop, peer = bits >> 19 & 0x1F, bool(bits >> 38 & _PEER)
    # The plain remote bit; with hops (PowerPC) it also stands for other cores of the own node.
    hit, remote = bool(level & _HIT), bool(bits >> 37 & 1) and not bits >> 43 & 7
    hitm, snoop_hit = bool(snoop & _SNOOP_HITM), bool(snoop & _SNOOP_HIT)
    l2, l3 = hit and bool(level & _L2), hit and bool(level & _L3)
    from_remote = bool(level & _REMOTE_CACHE) or remote
    remote_hitm = from_remote and hitm and not snoop_hit
    remote_peer = from_remote and peer and not (hitm or snoop_hit)
    return DataSource(
        loads=1,
        hitm_local=int(l3 and hitm),
        hitm_remote=int(remote_hitm),
        peer_local=int(l2 and peer) + int(l3 and peer),
        peer_remote=int(remote_peer),
    )


OPERATIONS = {"N/A": 1, "LOAD": 2, "STORE": 4, "PFETCH": 8, "EXEC": 16}
_WORD_HIT, _WORD_MISS = 1 << 6, 1 << 7
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
_WORD_REMOTE_CACHE, _WORD_REMOTE_RAM = 0x400, 0x100
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
                source |= _level_in_words(words)
            case "SNP":
                parts = words.split(" or ")
                source |= sum(_SNOOPS.get(part, 0) for part in set(parts)) << _SNOOP_AT
                source |= sum(_FORWARDS.get(part, 0) for part in set(parts)) << _SNOOPX_AT
            case "LCK":
                source |= {"No": 0, "Yes": 2}.get(words[:3].strip(), 1) << _LOCK_AT
    return source


def _level_in_words(words: str) -> int:
    """The bits of ``L3 or L3 hit``, ``Remote core, same node L3 hit``, ``N/A``."""
    endings = {found.lower() for found in _ENDING.findall(words)}
    bits = _WORD_HIT * ("hit" in endings) | _WORD_MISS * ("miss" in endings)
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
        level = _WORD_REMOTE_RAM if rest in ("RAM", "PMEM") else _WORD_REMOTE_CACHE
    return level << _LEVEL_AT | number << _NUMBER_AT | (_REMOTE if remote or hop else 0) | hop << _HOPS_AT
