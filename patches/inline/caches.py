# SPDX-License-Identifier: GPL-2.0-or-later
"""Slab caches that only the separate object came from: they go with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.allocators import CACHE_CREATORS
from linesmith.patches.inline.cache_promises import promises
from linesmith.patches.inline.syntax import bare, callee, compact, enclosing, parsed, text
from linesmith.patches.inline.use import Use
from linesmith.patches.kbuild import Progress
from linesmith.patches.semantic.image import TreeImage
from linesmith.patches.semantic.mentions import Mention, mentioned, mentions

_NAME = re.compile(r"[A-Za-z_]\w*\Z")


@dataclass(frozen=True, slots=True)
class Caches:
    """``gone`` are the variables of caches that nothing else uses, ``files`` where they are named; ``left`` stay.

    ``standing`` are those with objects that no member of a record can replace.
    """

    gone: tuple[str, ...]
    files: tuple[str, ...]
    left: tuple[Refusal, ...]
    standing: tuple[Refusal, ...]


def object_caches(uses: Sequence[Use], image: TreeImage, progress: Progress) -> Caches:
    """The caches that the uses take objects from."""
    gone: list[str] = []
    files: dict[str, None] = {}
    left: list[Refusal] = []
    standing: list[Refusal] = []
    for cache in sorted({use.cache for use in uses if use.cache}):
        places = _places(cache, uses, image, progress)
        first = next(use for use in uses if use.cache == cache)
        named = dict.fromkeys((first.file, *(one.file for one in places)))
        standing.extend(promises(cache, first.place, named, image))
        other = next((one for one in places if not _is_ours(one, cache, uses, image)), None)
        if other is None and _NAME.match(cache):
            gone.append(cache)
            files.update(dict.fromkeys(one.file for one in places))
        else:
            left.append(_left(cache, other, uses))
    return Caches(tuple(gone), tuple(files), tuple(left), tuple(standing))


def _left(cache: str, other: Mention | None, uses: Sequence[Use]) -> Refusal:
    first = next(use for use in uses if use.cache == cache)
    place, where = (other.place, f" (`{other.text[:60]}`)") if other else (first.place, "")
    reason = f"the slab cache {cache} stays, since it is used otherwise too{where}"
    return Refusal(RefusalCode.CACHE_LEFT, place, reason, "take it away by hand where nothing else needs it")


def _places(cache: str, uses: Sequence[Use], image: TreeImage, progress: Progress) -> tuple[Mention, ...]:
    """Where the variable is named: in the one file that has it when it is static, else in the whole tree."""
    if not _NAME.match(cache):
        return ()
    file = next(use.file for use in uses if use.cache == cache)
    source = image.read(file)
    if re.search(rb"\bstatic\b[^;(){}]*\b" + cache.encode() + rb"\b", source):
        return tuple(mentioned(file, source, cache))
    return mentions(image.tree, cache, progress)


def _is_ours(one: Mention, cache: str, uses: Sequence[Use], image: TreeImage) -> bool:
    """Whether the place declares, creates, tests or destroys the cache, or is one of the uses."""
    if any(use.cache == cache and (use.file, use.line) == (one.file, one.line) for use in uses):
        return True
    root = parsed(image.read(one.file))
    node = root.descendant_for_byte_range(one.offset, one.offset + 1)
    return node is not None and any(_ours(node, cache))


def _ours(node: tree_sitter.Node, cache: str) -> Iterator[bool]:
    declaration = enclosing(node, "declaration")
    yield declaration is not None and text(declaration).startswith("static") and "=" not in text(declaration)
    assignment = enclosing(node, "assignment_expression")
    if assignment is not None and compact(assignment.child_by_field_name("left")) == cache:
        made = bare(assignment.child_by_field_name("right") or assignment)
        alone = assignment.parent is not None and assignment.parent.type == "expression_statement"
        yield alone and callee(made) in CACHE_CREATORS
    call = enclosing(node, "call_expression")
    yield call is not None and callee(call) == "kmem_cache_destroy"
    condition = enclosing(node, "if_statement")
    test = condition.child_by_field_name("condition") if condition is not None else None
    yield test is not None and compact(bare(test)) in (f"!{cache}", f"{cache}==NULL")
