# SPDX-License-Identifier: GPL-2.0-or-later
"""Where records with the pointer are copied, where objects of its type are freed, and the slab caches of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.uses import CACHE_CREATORS, RELEASES, PointerUse, Role
from linesmith.patches.treewide.image import TreeImage
from linesmith.patches.treewide.mentions import Mention, mentions, mentions_in
from linesmith.patches.treewide.rules import MemberRules, named_like
from linesmith.patches.treewide.spatch import Report, RuleMatch, SemanticPatch, spatch
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

# kmem_cache_create(name, size, align, flags, ...)
_ALIGNMENT = 2
_COPIED = (" copier@p(P, V, ...)", " *P =@p V", " O =@p V")
_COPIERS = named_like("copier", "memcpy|memmove|__memcpy|kmemdup")
_RELEASED = (" releaser@p(P)", " releaser@p(V, P)")
_RELEASERS = named_like("releaser", "|".join(sorted(RELEASES)))


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Where whole records are ``copied``, and where objects of the pointer's type are ``released`` by another way."""

    copied: tuple[RuleMatch, ...]
    released: tuple[RuleMatch, ...]


def lifetimes(
    pointer: PointerMember, uses: Sequence[PointerUse], naming: Iterable[str], image: TreeImage, progress: Progress
) -> Lifetimes:
    """What Coccinelle sees of them in the files with uses, and in a program in all units of ``naming``."""
    units = () if is_kernel(image.tree) else (file for file in naming if file.endswith(".c"))
    files = tuple(dict.fromkeys((*(use.file for use in uses), *units)))
    copied = MemberRules(pointer.name, pointer.holders).rule("copied", _COPIED, copier=_COPIERS)
    released = MemberRules(pointer.name, pointer.targets).rule("released", _RELEASED, releaser=_RELEASERS)
    reports = (Report("copied", "p"), Report("released", "p"))
    seen = spatch(SemanticPatch(f"{copied}\n{released}", reports), image, files, progress).matches
    places = {(one.rule, one.file, one.line): one for one in seen}.values()
    known = {(use.file, use.line) for use in uses if use.role in (Role.RELEASE, Role.RELEASE_CHECK)}
    freed = (one for one in places if one.rule == "released" and (one.file, one.line) not in known)
    return Lifetimes(tuple(one for one in places if one.rule == "copied"), tuple(freed))


def released_otherwise(pointer: PointerMember, seen: Lifetimes) -> Iterator[Refusal]:
    """Objects of the type that are freed through another pointer: they may be those of the member."""
    for site in seen.released:
        reason = f"{site.function}() frees a {pointer.target} through another pointer"
        lift = f"free it through the member `{pointer.name}`, or make sure that it is another object"
        yield Refusal(RefusalCode.FREED_ELSEWHERE, f"{site.file}:{site.line}", reason, lift)


def copies(pointer: PointerMember, seen: Lifetimes) -> Iterator[Refusal]:
    """Places that copy the whole record, now with the object in it."""
    for site in seen.copied:
        reason = f"{site.function}() copies a whole {pointer.outer.record.title}, now with the object `{pointer.name}`"
        lift = "make sure that the object is set up anew behind it"
        yield Refusal(RefusalCode.COPIED_OBJECT, f"{site.file}:{site.line}", reason, lift)


def misaligned(pointer: PointerMember, sources: Mapping[str, bytes]) -> Iterator[Refusal]:
    """Slab caches of the record, created in ``sources``, that do not have the member's alignment.

    KMEM_CACHE() has it. So has kmalloc(): a record that is aligned has a multiple of that for its size.
    """
    sizes = [f"sizeof({''.join(title.split())})" for title in pointer.holders]
    for file, source in sources.items():
        calls = inside(parsed(source), "call_expression") if b"kmem_cache_create" in source else ()
        for call in calls:
            passed = [compact(one) for one in arguments(call)]
            if not callee(call).startswith("kmem_cache_create") or not {*sizes} & {*passed}:
                continue
            if passed[_ALIGNMENT : _ALIGNMENT + 1] == ["0"] and "SLAB_HWCACHE_ALIGN" not in text(call):
                reason = f"this slab cache of {pointer.outer.record.title} asks for no alignment"
                lift = "create it with SLAB_HWCACHE_ALIGN, or with the alignment of the type"
                yield Refusal(RefusalCode.CACHE_ALIGNMENT, f"{file}:{line_of(call)}", reason, lift)


# Slab caches that the separate object comes from: those that only it uses go with it.

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
        lift = "remove it by hand where nothing else needs it"
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
        reason = f"the creation of the slab cache {cache}, which may have a constructor, was not found"
        yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, place, reason, "allocate the object with kmalloc() first")
    for file, call in created:
        where, source = f"{file}:{line_of(call)}", image.read(file)
        if _outlives(call, source):
            reason = f"the slab cache {cache} is SLAB_TYPESAFE_BY_RCU, so readers may access a freed object"
            yield Refusal(RefusalCode.PUBLISHED, where, reason)
        if _constructs(call, source):
            reason = f"a constructor initialises the objects of the slab cache {cache}"
            lift = "initialise each object after its allocation first"
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
