# SPDX-License-Identifier: GPL-2.0-or-later
"""Pulling in: an object that a record points to becomes a member of it, on a line where it disturbs nobody hot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, SlabBasis, StructuralAdvice, StructureKind
from linesmith.tuner.structure.embedding import (
    Embedding,
    Pulling,
    coldest,
    fewest_cold,
    in_place,
    target_of,
    with_cold_behind,
)
from linesmith.tuner.structure.memory import Allocation
from linesmith.tuner.structure.shrink import SMALL_LOCK

ONE_EACH = "Whether each {outer} has a {inner} of its own, and as long as it lives, no layout tells."


def pulled_in(
    layout: Layout, layouts: Layouts, home: Allocation, wish: Pulling, functions: Mapping[str, int]
) -> Iterator[StructuralAdvice]:
    """The object pulled in as it is; then, of a lock or where a size is asked for, smaller; then with cold members.

    ``functions`` says how many touch each member: those with the fewest move behind the object where none are named.
    Raises ``StructureRefused`` for what is no pointer to a known record.
    """
    target = target_of(layout, wish.member, layouts)
    plain = in_place(layout, layouts, replace(wish, size=None))
    yield _advice(plain, home, wish, functions)
    small = wish.size if wish.size is not None else SMALL_LOCK if is_lock(target.name) else None
    least = plain
    if small is not None and small < target.size:
        least = in_place(layout, layouts, replace(wish, size=small))
        yield _advice(least, home, wish, functions)
    smaller = replace(wish, size=small, cold=coldest(layout, functions, wish.member))
    cold = wish.cold or fewest_cold(layout, layouts, smaller)
    if cold:
        placed = with_cold_behind(layout, layouts, replace(smaller, cold=cold))
        if wish.cold or placed.after.size < least.after.size or set(placed.beside) <= set(placed.moved):
            yield _advice(placed, home, wish, functions)


def _advice(one: Embedding, home: Allocation, wish: Pulling, functions: Mapping[str, int]) -> StructuralAdvice:
    return StructuralAdvice(
        StructureKind.PULL_IN,
        one.before.name,
        (one.member, *one.moved),
        _sentence(one, wish),
        before=(one.before, one.target),
        after=(one.after,),
        memory_before=(*home.now(one.before), *home.of_another(one.target)),
        memory_after=home.then(one.after),
        notes=tuple(_notes(one, home, wish, functions)),
    )


def _sentence(one: Embedding, wish: Pulling) -> str:
    smaller = f" with {one.size} bytes" if one.size != one.target.size else ""
    cold = f", {', '.join(one.moved)} behind it" if one.moved else ""
    sizes = f"{one.before.size} + {one.target.size} -> {one.after.size} bytes"
    what = f"{one.target.title} becomes the member {one.member} of {one.before.title}{smaller}"
    return f"{what}, aligned to {wish.alignment} bytes{cold}: {sizes}"


def _notes(one: Embedding, home: Allocation, wish: Pulling, functions: Mapping[str, int]) -> Iterator[str]:
    yield _beside(one)
    if not functions and not wish.cold:
        yield "Which members are so cold that they could lie behind it no code tells."
    if one.moved and not wish.cold:
        told = ", ".join(f"{name} ({functions[name]})" for name in one.moved)
        yield f"Taken for cold because the fewest functions touch them: {told}. A profile may tell otherwise."
    if one.size != one.target.size:
        yield f"What does the work of {one.target.title} in {one.size} bytes is to be written first."
    yield from _alignment(one, home, wish)
    yield ONE_EACH.format(outer=one.before.name, inner=one.target.name)


def _beside(one: Embedding) -> str:
    if not one.beside:
        return f"{one.member} has its line to itself where objects begin with a line."
    return f"On a line with {one.member}, where objects begin with a line: {', '.join(one.beside)}."


def _alignment(one: Embedding, home: Allocation, wish: Pulling) -> Iterator[str]:
    """Whether the cache keeps the alignment, and how much of the answer is assumed."""
    cache = home.changed(one.after)
    if cache is None:
        yield f"Holds where objects are allocated at multiples of {wish.alignment} bytes."
        return
    if cache.geometry.alignment % wish.alignment:
        yield f"The cache aligns its objects to {cache.geometry.alignment} bytes: create it with SLAB_HWCACHE_ALIGN."
    if cache.basis is SlabBasis.ASSUMED:
        yield f"The cache is assumed: {cache.reason}."
