# SPDX-License-Identifier: GPL-2.0-or-later
"""What a slab cache promises of the objects in it beyond their size, and a member of a record cannot keep.

Source: include/linux/slab.h of Linux 6.1 to 6.12.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.allocators import CACHE_CREATORS
from linesmith.patches.inline.syntax import NULL, arguments, bare, callee, compact, inside, parsed, text
from linesmith.patches.semantic.image import TreeImage

_OUTLIVES = ("SLAB_TYPESAFE_BY_RCU", "SLAB_DESTROY_BY_RCU")
# Which argument is the constructor, by the number of arguments: kmem_cache_create(), kmem_cache_create_usercopy().
_CONSTRUCTOR = {5: 4, 7: 6}
# kmem_cache_create(name, size, args, flags) takes the constructor within a struct.
_WITH_STRUCT = 4


def promises(cache: str, place: str, files: Iterable[str], image: TreeImage) -> Iterator[Refusal]:
    """What stands in the way of doing without ``cache``, that is created in ``files`` and used at ``place``."""
    created = [(file, call) for file in files for call in _creations(cache, image.read(file))]
    if not created:
        reason = f"how the slab cache {cache} is created is not seen, which may have a constructor"
        yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, place, reason, "allocate the object with kmalloc() first")
    for file, call in created:
        where, source = f"{file}:{call.start_point[0] + 1}", image.read(file)
        if _outlives(call, source):
            reason = f"objects of the slab cache {cache} stay of their type while readers look at freed ones"
            yield Refusal(RefusalCode.PUBLISHED, where, reason)
        if _constructs(call, source):
            reason = f"a constructor sets up the objects of the slab cache {cache}"
            yield Refusal(
                RefusalCode.UNKNOWN_ALLOCATION, where, reason, "set the object up where it is allocated first"
            )


def _creations(cache: str, source: bytes) -> Iterator[tree_sitter.Node]:
    wanted = "".join(cache.split())
    for one in inside(parsed(source), "assignment_expression"):
        made = bare(one.child_by_field_name("right") or one)
        if compact(one.child_by_field_name("left")) == wanted and callee(made) in CACHE_CREATORS:
            yield made


def _outlives(call: tree_sitter.Node, source: bytes) -> bool:
    """Whether a flag says so; where flags are a variable, whether the file knows such a flag."""
    given = text(call)
    known = any(flag in given for flag in _OUTLIVES)
    spelled = any(flag.encode() in source for flag in _OUTLIVES)
    return known or (spelled and _has_variable_flags(arguments(call), callee(call)))


def _has_variable_flags(given: Sequence[tree_sitter.Node], creator: str) -> bool:
    at = 1 if creator.startswith("KMEM_CACHE") else 3
    return at >= len(given) or text(given[at]) != text(given[at]).upper()


def _constructs(call: tree_sitter.Node, source: bytes) -> bool:
    given = [text(bare(one)) for one in arguments(call)]
    if callee(call).startswith("KMEM_CACHE"):
        return False
    if len(given) == _WITH_STRUCT:
        return "ctor" in given[2] or (given[2] not in NULL and "{" not in given[2] and b"ctor" in source)
    at = _CONSTRUCTOR.get(len(given))
    return at is None or given[at] not in NULL
