# SPDX-License-Identifier: GPL-2.0-or-later
"""How alignments, padding and marks of groups are written in a tree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from linesmith.analyzer.model import CACHE_LINE_BYTES, Move, MoveKind
from linesmith.patches.source_bytes import source_bytes

_CACHE_HEADER = "include/linux/cache.h"
_PADDING = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w*PADDING)\((\w+)\)[ \t]+struct[ \t]+\w+[ \t]+\2(;?)", re.MULTILINE
)
_MARKERS = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+__cacheline_group_begin\(", re.MULTILINE)
_PLAIN_ATTRIBUTE = "__attribute__((aligned({})))"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a file can use: attributes of the ``kernel``, and a statement for ``padding`` with ``{}`` for the name.

    ``markers`` tells that there are ``__cacheline_group_begin()`` and its end.
    """

    kernel: bool = False
    padding: str = ""
    markers: bool = False


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write what a candidate asks for.

    ``alignments`` has the attribute for each number of bytes, ``padding`` a statement with ``{}`` for the name.
    """

    alignments: Mapping[int, str] = field(default_factory=dict)
    padding: str = ""
    markers: bool = False

    def attribute(self, align: int) -> str:
        """The attribute that aligns a member to ``align`` bytes."""
        return self.alignments.get(align, _PLAIN_ATTRIBUTE.format(align))

    def pad(self, name: str, align: int) -> str:
        """The declaration of a member without size that begins at a multiple of ``align`` bytes."""
        if self.padding and align == CACHE_LINE_BYTES:
            return self.padding.format(name)
        return f"char {name}[0] {self.attribute(align)};"


def vocabulary(root: Path, source: bytes, *, kernel: bool) -> Vocabulary:
    """The words that a file of the tree at ``root`` has: those it defines itself, and those of a kernel."""
    common = (source_bytes(root, _CACHE_HEADER) or b"") if kernel else b""
    match = _PADDING.search(source) or _PADDING.search(common)
    padding = f"{match[1].decode()}({{}}){'' if match[3] else ';'}" if match else ""
    return Vocabulary(kernel, padding, bool(_MARKERS.search(source) or _MARKERS.search(common)))


def spellings(moves: Sequence[Move], words: Vocabulary) -> tuple[Spelling, ...]:
    """Ways to write what ``moves`` ask for, to try in order.

    A header can use ``____cacheline_aligned_in_smp`` only where it sees linux/cache.h; compiling tells.
    """
    wanted = sorted({move.align for move in moves if move.align})
    if not words.kernel:
        return (Spelling({}, words.padding, words.markers),)
    plain = {align: f"__aligned({align})" for align in wanted}
    last = Spelling(plain, "", words.markers)
    if CACHE_LINE_BYTES not in plain:
        return (last,)
    in_smp = {**plain, CACHE_LINE_BYTES: "____cacheline_aligned_in_smp"}
    ways = [Spelling(in_smp, "", words.markers), last]
    macro = words.padding and any(move.kind is MoveKind.PAD for move in moves)
    return tuple([Spelling(in_smp, words.padding, words.markers)] * bool(macro) + ways)
