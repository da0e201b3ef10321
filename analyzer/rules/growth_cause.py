# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a record grew, in a sentence: its members, its alignment, and the holes between."""

from __future__ import annotations

from linesmith.analyzer.geometry.inference import record_alignment
from linesmith.analyzer.rules.growth import counted, growth, shrinkage, told
from linesmith.analyzer.rules.rule import Subject

# Holes are told where they are at least this part of the growth.
_PART = 4


def cause(subject: Subject) -> str:
    """``what grew: flags (8 bytes)``, with the alignment, and what else it takes for the bytes to add up."""
    grown, old, new = growth(subject), subject.old or subject.new, subject.new
    said = f"what grew: {told(grown)}" if grown else "no member grew"
    size = new.size - old.size
    rest = size - sum(one.bytes for one in grown)
    less = _less(subject, -rest) if rest < 0 else 0
    fewer = f"other members take {counted(less, 'byte')} less" if less else ""
    holes = _holes(rest + less) if rest < 0 or rest * _PART >= size else ""
    was, now = record_alignment(old), record_alignment(new)
    aligned = f"the record is aligned to {now} bytes now, to {was} before" if now > was else ""
    if aligned and holes and rest + less > 0:
        return "; ".join(filter(None, (said, fewer, f"{aligned}: {holes}")))
    if grown or aligned:
        return "; ".join(filter(None, (said, fewer, holes, aligned)))
    return f"{said}: {f'{holes}, look at its alignments' if holes else 'look at its alignments and holes'}"


def _less(subject: Subject, missing: int) -> int:
    """The bytes that others take less, where what grew is told with ``missing`` bytes more than the record grew."""
    lost, over = shrinkage(subject)
    return lost + min(over, max(0, missing - lost))


def _holes(more: int) -> str:
    if more > 0:
        return f"{counted(more, 'byte')} {'is' if more == 1 else 'are'} holes and padding"
    return f"{counted(-more, 'byte')} {'lies' if more == -1 else 'lie'} in old holes" if more else ""
