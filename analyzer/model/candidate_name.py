# SPDX-License-Identifier: GPL-2.0-or-later
"""What a candidate is called: a word made of the layout that it proposes, the same whatever else is proposed with it.

Numbers count what is offered, which depends on what is known of the source, on the growth allowed, on a trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from linesmith.analyzer.model.candidate import Candidate
from linesmith.analyzer.model.layout import Layout

# Without vowels they are no words of a language, and none is a number.
LETTERS = "bcdfghjklmnpqrst"
LENGTH = 5


def candidate_name(candidate: Candidate) -> str:
    """``LENGTH`` of the ``LETTERS``; of two candidates of one profile the same in one case of a million."""
    text = "\n".join((candidate.type, *_order(candidate.after)))
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=LENGTH).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest)


def _order(layout: Layout) -> Iterator[str]:
    """The members with where they lie and the alignment they ask for."""
    for one in layout.members:
        place = one.offset if one.bit_offset is None else f"{one.bit_offset} bits"
        yield f"{one.name} {place} {one.alignment or 0}"
