# SPDX-License-Identifier: GPL-2.0-or-later
"""A written member kept by itself: alone on its line, or there with members that nobody was seen to use.

Alone costs memory: padding up to the next line. Cold members that fill the rest of that line, at the end of the record,
cost none; they have to be moved there, from in between those that are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.model import CACHE_LINE_BYTES, Strategy
from linesmith.tuner.arrangement import Arrangement, aligned, placed
from linesmith.tuner.subject import Subject

# Cold members that are moved to make a line of their own for one that is written.
MOST_COLD = 4


def isolated(subject: Subject, start: Arrangement, atoms: Iterable[int]) -> Iterator[Arrangement]:
    """Each of ``atoms`` alone on a line, wherever it may be: what is behind it begins the next line."""
    for atom in atoms if subject.may_resize else ():
        for place in subject.freedom.places(atom):
            alone = _beginning(subject, placed(subject, start, atom, place), atom)
            if alone is not None and alone.order[-1] != atom:
                alone = aligned(subject, alone, alone.order[alone.order.index(atom) + 1])
            if alone is not None:
                yield replace(alone, purpose=Strategy.ISOLATE)


def _beginning(subject: Subject, start: Arrangement | None, atom: int) -> Arrangement | None:
    """``start`` with ``atom`` at the beginning of a line."""
    return aligned(subject, start, atom) if start is not None else None


def among_cold(subject: Subject, start: Arrangement, atoms: Iterable[int]) -> Iterator[Arrangement]:
    """Each of ``atoms`` as far back as it may, with cold ones before it, or behind it on a line that it begins."""
    cold = _cold(subject)
    for atom in atoms:
        yield from _with_last(subject, start, atom, frozenset(cold))
        last = subject.freedom.places(atom)[-1]
        behind = placed(subject, start, atom, last)
        if behind is None:
            continue
        for chosen in _companies(subject, [one for one in cold if subject.freedom.places(one)[-1] == last]):
            yield from _before(subject, behind, atom, chosen)
            yield from _after(subject, behind, atom, chosen)


def _with_last(subject: Subject, start: Arrangement, atom: int, cold: frozenset[int]) -> Iterator[Arrangement]:
    """``atom`` at the beginning of a line, with cold ones behind it that are the last already."""
    for place in subject.freedom.places(atom) if subject.may_resize else ():
        now = _beginning(subject, placed(subject, start, atom, place), atom)
        if now is not None and cold.issuperset(now.order[place + 1 :]):
            yield replace(now, purpose=Strategy.COLD_LAST)


def _cold(subject: Subject) -> list[int]:
    """Atoms without samples that may be moved, the last of the declaration first: what most code uses stands early."""
    hot = {subject.owners[spot.member] for spot in subject.heat.spots}
    sizes = {atom: _size(subject, atom) for atom in range(len(subject.parts))}
    return [atom for atom in reversed(sizes) if atom not in hot and sizes[atom] and subject.parts[atom].name]


def _size(subject: Subject, atom: int) -> int:
    return sum(member.size for member in subject.parts[atom].members if member.bit_size is None)


def _companies(subject: Subject, cold: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The one that fills a line by itself with the least bytes; and the last few of the declaration."""
    long = [atom for atom in cold if _size(subject, atom) >= CACHE_LINE_BYTES - 8]
    if long:
        yield (min(long, key=lambda atom: _size(subject, atom)),)
    for count in range(1, min(MOST_COLD, len(cold)) + 1):
        yield tuple(reversed(cold[:count]))
    large = sorted(cold, key=lambda atom: -_size(subject, atom))
    for count in range(2, min(MOST_COLD, len(cold)) + 1):
        yield tuple(sorted(large[:count]))


def _before(subject: Subject, start: Arrangement, atom: int, cold: Sequence[int]) -> Iterator[Arrangement]:
    """The cold ones between ``atom`` and all others."""
    now: Arrangement | None = start
    for one in cold:
        now = now and placed(subject, now, one, now.order.index(atom) - (now.order.index(one) < now.order.index(atom)))
    if now is not None:
        yield replace(now, purpose=Strategy.COLD_LAST)


def _after(subject: Subject, start: Arrangement, atom: int, cold: Sequence[int]) -> Iterator[Arrangement]:
    """``atom`` at the beginning of a line, the cold ones behind it on that line."""
    now = _beginning(subject, start, atom) if subject.may_resize else None
    for one in cold:
        now = now and placed(subject, now, one, subject.freedom.places(one)[-1])
    if now is not None:
        yield replace(now, purpose=Strategy.COLD_LAST)
