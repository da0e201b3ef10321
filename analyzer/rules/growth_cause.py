# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a record grew, in a sentence: its members, its alignment, and the holes between."""

from __future__ import annotations

from linesmith.analyzer.geometry.inference import record_alignment
from linesmith.analyzer.rules.growth import counted, growth, told
from linesmith.analyzer.rules.rule import Subject

# Holes are told where they are at least this part of the growth.
_PART = 4


def cause(subject: Subject) -> str:
    """``what grew: flags (8 bytes)``, with the alignment and the holes where these take a good part of the growth."""
    grown, old, new = growth(subject), subject.old or subject.new, subject.new
    said = f"what grew: {told(grown)}" if grown else "no member grew"
    size = new.size - old.size
    rest = size - sum(one.bytes for one in grown)
    was, now = record_alignment(old), record_alignment(new)
    aligned = f"the record is aligned to {now} bytes now, to {was} before" if now > was else ""
    if rest * _PART < size or rest < 0:
        said = said if grown or aligned else f"{said}: look at its alignments and holes"
        return "; ".join(filter(None, (said, aligned)))
    holes = f"{counted(rest, 'byte')} {'is' if rest == 1 else 'are'} holes and padding" if rest else ""
    if aligned:
        return f"{said}; {': '.join(filter(None, (aligned, holes)))}"
    return f"{said}; {holes}" if grown else f"{said}: {holes}, look at its alignments"
