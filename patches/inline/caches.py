# SPDX-License-Identifier: GPL-2.0-or-later
"""Slab caches that the separate object comes from: those that only it uses go with it.

A cache may promise more of its objects than their size, which a member of a record cannot keep. Source:
include/linux/slab.h of Linux 6.1 to 6.12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.allocators import CACHE_CREATORS
from linesmith.patches.inline.uses import PointerUse
from linesmith.patches.treewide.image import TreeImage
from linesmith.patches.treewide.mentions import Mention, mentions, mentions_in
from linesmith.patches.treewide.syntax import (
    NULL,
    arguments,
    assigned_value,
    bare,
    callee,
    compact,
    enclosing,
    inside,
    line_of,
    parsed,
    text,
)

_OUTLIVES = ("SLAB_TYPESAFE_BY_RCU", "SLAB_DESTROY_BY_RCU")
# Which argument is the constructor, by the number of arguments: kmem_cache_create(), kmem_cache_create_usercopy().
_CONSTRUCTOR = {5: 4, 7: 6}
# kmem_cache_create(name, size, args, flags) takes the constructor within a struct.
_WITH_STRUCT = 4
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


def object_caches(uses: Sequence[PointerUse], image: TreeImage, progress: Progress) -> Caches:
    """The caches that the uses take objects from."""
    gone: list[str] = []
    files: dict[str, None] = {}
    left: list[Refusal] = []
    standing: list[Refusal] = []
    for cache in sorted({use.cache for use in uses if use.cache}):
        first = next(use for use in uses if use.cache == cache)
        places = _places(cache, first.file, image, progress)
        naming = dict.fromkeys((first.file, *(one.file for one in places)))
        standing.extend(_promises(cache, first.place, naming, image))
        other = next((one for one in places if not _is_ours(one, cache, uses, image)), None)
        if other is None and _NAME.match(cache):
            gone.append(cache)
            files.update(dict.fromkeys(one.file for one in places))
            continue
        place, where = (other.place, f" (`{other.text[:60]}`)") if other else (first.place, "")
        reason = f"the slab cache {cache} stays, since it is used otherwise too{where}"
        lift = "take it away by hand where nothing else needs it"
        left.append(Refusal(RefusalCode.CACHE_LEFT, place, reason, lift))
    return Caches(tuple(gone), tuple(files), tuple(left), tuple(standing))


def _places(cache: str, file: str, image: TreeImage, progress: Progress) -> tuple[Mention, ...]:
    """Where the variable is named: in the one file that has it when it is static, else in the whole tree."""
    if not _NAME.match(cache):
        return ()
    source = image.read(file)
    if re.search(rb"\bstatic\b[^;(){}]*\b" + cache.encode() + rb"\b", source):
        return tuple(mentions_in(file, source, cache))
    return mentions(image.tree, cache, progress)


def _promises(cache: str, place: str, files: Iterable[str], image: TreeImage) -> Iterator[Refusal]:
    """What stands in the way of doing without ``cache``, that is created in ``files`` and used at ``place``."""
    name = "".join(cache.split())
    created = [
        (file, call)
        for file in files
        for one in inside(parsed(image.read(file)), "assignment_expression")
        if compact(one.child_by_field_name("left")) == name and callee(call := assigned_value(one)) in CACHE_CREATORS
    ]
    if not created:
        reason = f"how the slab cache {cache} is created is not seen, which may have a constructor"
        yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, place, reason, "allocate the object with kmalloc() first")
    for file, call in created:
        where, source = f"{file}:{line_of(call)}", image.read(file)
        if _outlives(call, source):
            reason = f"objects of the slab cache {cache} stay of their type while readers look at freed ones"
            yield Refusal(RefusalCode.PUBLISHED, where, reason)
        if _constructs(call, source):
            reason = f"a constructor sets up the objects of the slab cache {cache}"
            lift = "set the object up where it is allocated first"
            yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, where, reason, lift)


def _outlives(call: tree_sitter.Node, source: bytes) -> bool:
    """Whether a flag says so; where flags are a variable, whether the file knows such a flag."""
    if any(flag in text(call) for flag in _OUTLIVES):
        return True
    passed, at = arguments(call), 1 if callee(call).startswith("KMEM_CACHE") else 3
    is_variable = at >= len(passed) or text(passed[at]) != text(passed[at]).upper()
    return is_variable and any(flag.encode() in source for flag in _OUTLIVES)


def _constructs(call: tree_sitter.Node, source: bytes) -> bool:
    passed = [text(bare(one)) for one in arguments(call)]
    if callee(call).startswith("KMEM_CACHE"):
        return False
    if len(passed) == _WITH_STRUCT:
        return "ctor" in passed[2] or (passed[2] not in NULL and "{" not in passed[2] and b"ctor" in source)
    at = _CONSTRUCTOR.get(len(passed))
    return at is None or passed[at] not in NULL


def _is_ours(one: Mention, cache: str, uses: Sequence[PointerUse], image: TreeImage) -> bool:
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
        made = assigned_value(assignment)
        alone = assignment.parent is not None and assignment.parent.type == "expression_statement"
        yield alone and callee(made) in CACHE_CREATORS
    call = enclosing(node, "call_expression")
    yield call is not None and callee(call) == "kmem_cache_destroy"
    condition = enclosing(node, "if_statement")
    test = condition.child_by_field_name("condition") if condition is not None else None
    yield test is not None and compact(bare(test)) in (f"!{cache}", f"{cache}==NULL")
