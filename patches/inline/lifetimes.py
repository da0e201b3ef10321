# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands in the way besides the single uses: copies of records, other releases, slab caches, offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import tree_sitter

from linesmith.analyzer.model import DependencyKind, Refusal, RefusalCode
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.pointer import CACHE_CREATORS, PointerMember, PointerUse, Role
from linesmith.patches.inline.uses import RELEASES
from linesmith.patches.scan.text_scan import RecordText
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import without_comments
from linesmith.patches.treewide.image import TreeImage
from linesmith.patches.treewide.spatch import MemberRules, SemanticPatch, named_like, spatch
from linesmith.patches.treewide.survey import Mention, mentions, mentions_in
from linesmith.patches.treewide.syntax import (
    NULL,
    arguments,
    assigned_value,
    bare,
    callee,
    compact,
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
_RELYING = frozenset(
    (DependencyKind.ASSERTION, DependencyKind.OFFSET_RANGE, DependencyKind.PARTIAL_COPY, DependencyKind.ASM_OFFSET)
)
_SHOWN = 6
_COUNTED = re.compile(rb"\b(?:struct\s+kref|refcount_t|struct\s+kobject|struct\s+percpu_ref)\s+(\w+)\s*;")
_FLEXIBLE = re.compile(rb"\[\s*\]\s*;\s*\Z|DECLARE_FLEX_ARRAY[^;]*;\s*\Z")


def lifetimes(
    pointer: PointerMember, uses: Sequence[PointerUse], naming: Iterable[str], image: TreeImage, progress: Progress
) -> tuple[list[Refusal], list[Refusal]]:
    """Copies of the whole record, now with the object in it, and releases of objects that may be those of the member.

    As Coccinelle sees them in the files with uses, and in a program in all units of ``naming``.
    """
    units = () if is_kernel(image.tree) else (file for file in naming if file.endswith(".c"))
    files = tuple(dict.fromkeys((*(use.file for use in uses), *units)))
    copying = MemberRules(pointer.name, pointer.holders).rule("copied", _COPIED, copier=_COPIERS)
    releasing = MemberRules(pointer.name, pointer.targets).rule("released", _RELEASED, releaser=_RELEASERS)
    rules = SemanticPatch(f"{copying}\n{releasing}", {"copied": (), "released": ()})
    seen = spatch(rules, image, files, progress).matches
    known = {(use.file, use.line) for use in uses if use.role in (Role.RELEASE, Role.RELEASE_CHECK)}
    copied, released = list[Refusal](), list[Refusal]()
    for site in {(one.rule, one.file, one.line): one for one in seen}.values():
        place = f"{site.file}:{site.line}"
        if site.rule == "copied":
            reason = f"{site.function}() copies a whole {pointer.outer.record.title}, now with the object"
            lift = "make sure that the object is set up anew behind it"
            copied.append(Refusal(RefusalCode.COPIED_OBJECT, place, f"{reason} `{pointer.name}`", lift))
        elif (site.file, site.line) not in known:
            reason = f"{site.function}() frees a {pointer.target} through another pointer"
            lift = f"free it through the member `{pointer.name}`, or make sure that it is another object"
            released.append(Refusal(RefusalCode.FREED_ELSEWHERE, place, reason, lift))
    return copied, released


def misaligned(pointer: PointerMember, sources: Mapping[str, bytes]) -> Iterator[Refusal]:
    """Slab caches of the record, created in ``sources``, that do not have the member's alignment.

    KMEM_CACHE() has it. So has kmalloc(): a record that is aligned has a multiple of that for its size.
    """
    sizes = {f"sizeof({''.join(title.split())})" for title in pointer.holders}
    for file, source in sources.items():
        for call in inside(parsed(source), "call_expression") if b"kmem_cache_create" in source else ():
            passed = [compact(one) for one in arguments(call)]
            if not callee(call).startswith("kmem_cache_create") or sizes.isdisjoint(passed):
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
# What declares, creates, tests or destroys a cache (``@``) where it goes.
_GOES = re.compile(
    rb"\bstatic\b[^;(){}=]*@[\w\s]*;|(?:[\n;{})]|\belse)\s*@\s*=\s*(?:" + "|".join(CACHE_CREATORS).encode() + rb")\s*\("
    rb"|\bkmem_cache_destroy\s*\(\s*@\s*\)|\bif\s*\(\s*(?:!\s*@|@\s*==\s*NULL)\s*\)"
)


def object_caches(
    uses: Sequence[PointerUse], image: TreeImage, progress: Progress
) -> tuple[tuple[str, ...], list[str], list[Refusal], list[Refusal]]:
    """The caches that the uses take objects from: variables of those that nothing else uses, and the files with them.

    Then those that stay, and those with objects that no member of a record can replace.
    """
    gone, files, left, standing = list[str](), list[str](), list[Refusal](), list[Refusal]()
    for cache in sorted({use.cache for use in uses if use.cache}):
        own = [use for use in uses if use.cache == cache]
        places = _places(cache, own[0].file, image, progress)
        naming = dict.fromkeys((own[0].file, *(one.file for one in places)))
        standing += _promises(cache, own[0].place, naming, image)
        known = {(use.file, use.line) for use in own}
        others = (one for one in places if (one.file, one.line) not in known and not _goes(one))
        other = next(others, None)
        if other is None and places:
            gone.append(cache)
            files += naming
            continue
        place, where = (other.place, f" (`{other.text[:60]}`)") if other else (own[0].place, "")
        reason = f"the slab cache {cache} stays, since it is used otherwise too{where}"
        left.append(Refusal(RefusalCode.CACHE_LEFT, place, reason, "remove it by hand where nothing else needs it"))
    return tuple(gone), files, left, standing


def _goes(one: Mention) -> bool:
    """Whether a rule takes the place away with the cache, as far as its text says; compiling shows the rest."""
    found = _GOES.finditer(one.ahead + b"@" + one.behind)
    return not one.macro and any(match.start() <= len(one.ahead) < match.end() for match in found)


def _places(cache: str, file: str, image: TreeImage, progress: Progress) -> tuple[Mention, ...]:
    """Where the variable is named: in the one file that has it when it is static, else in the whole tree."""
    if not _NAME.match(cache):
        return ()
    source = image.read(file)
    if re.search(rb"\bstatic\b[^;(){}]*\b" + cache.encode() + rb"\b", without_comments(source)):
        return tuple(mentions_in(file, source, cache))
    return mentions(image.tree, cache, progress)


def _promises(cache: str, place: str, files: Iterable[str], image: TreeImage) -> Iterator[Refusal]:
    """What stands in the way of doing without ``cache``, that is created in ``files`` and used at ``place``."""
    name, created = "".join(cache.split()), False
    for file in files:
        source = image.read(file)
        for one in inside(parsed(source), "assignment_expression"):
            call = assigned_value(one)
            if compact(one.child_by_field_name("left")) != name or callee(call) not in CACHE_CREATORS:
                continue
            created, where = True, f"{file}:{line_of(call)}"
            if _outlives(call, source):
                reason = f"the slab cache {cache} is SLAB_TYPESAFE_BY_RCU, so readers may access a freed object"
                yield Refusal(RefusalCode.PUBLISHED, where, reason)
            if _constructs(call, source):
                reason = f"a constructor initialises the objects of the slab cache {cache}"
                lift = "initialise each object after its allocation first"
                yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, where, reason, lift)
    if not created:
        reason = f"the creation of the slab cache {cache}, which may have a constructor, was not found"
        yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, place, reason, "allocate the object with kmalloc() first")


def _outlives(call: tree_sitter.Node, source: bytes) -> bool:
    """Whether a flag says so; where flags are a variable, whether the file knows such a flag."""
    passed, at = arguments(call), 1 if callee(call).startswith("KMEM_CACHE") else 3
    is_variable = at >= len(passed) or text(passed[at]) != text(passed[at]).upper()
    return any(flag in text(call) or (is_variable and flag.encode() in source) for flag in _OUTLIVES)


def _constructs(call: tree_sitter.Node, source: bytes) -> bool:
    passed = [text(bare(one)) for one in arguments(call)]
    if callee(call).startswith("KMEM_CACHE"):
        return False
    if len(passed) == _WITH_STRUCT:
        return "ctor" in passed[2] or (passed[2] not in NULL and "{" not in passed[2] and b"ctor" in source)
    at = _CONSTRUCTOR.get(len(passed))
    return at is None or passed[at] not in NULL


def reliance(pointer: PointerMember, sources: Mapping[str, bytes]) -> tuple[list[Refusal], list[Refusal]]:
    """What ``sources``, the files that name the record, rely on: initialisers by position, and all else."""
    title, looking = pointer.outer.record.title, RecordText(pointer.outer.record.name)
    certain, possible = list[Refusal](), list[Refusal]()
    for file, one in ((name, one) for name, source in sources.items() for one in looking.places(name, source).places):
        place = f"{file}:{one.line}"
        if one.kind is DependencyKind.POSITIONAL:
            reason = f"an initialiser of a {title} gives values by position, and the object comes last"
            certain.append(Refusal(RefusalCode.POSITIONAL, place, reason, "name the members in the initialiser"))
        elif one.kind in _RELYING:
            reason = f"{one.kind.value} of {title} (`{one.text[:60]}`)"
            lift = f"check that it holds when {title} is larger and `{pointer.name}` its last member"
            possible.append(Refusal(RefusalCode.OFFSET, place, reason, lift))
    return certain, possible


def unfit(pointer: PointerMember, target: Declared) -> Iterator[Refusal]:
    """Why an object of the type can be no member of the record."""
    body = without_comments(target.source)[target.record.opening : target.record.closing]
    if counted := _COUNTED.search(body):
        reason = f"{pointer.target} counts its users (`{counted[1].decode()}`), so it may live longer than its holder"
        yield Refusal(RefusalCode.COUNTED, target.place, reason)
    if _FLEXIBLE.search(body):
        reason = f"{pointer.target} ends with an array without a length"
        yield Refusal(RefusalCode.LARGER, target.place, reason)
    holds = re.search(rb"\bstruct\s+" + re.escape(pointer.outer.record.name.encode()) + rb"\s+\w+\s*[;\[]", body)
    if holds or pointer.record == pointer.outer.record.name:
        reason = f"{pointer.target} holds {pointer.outer.record.title} itself"
        yield Refusal(RefusalCode.TYPE_ORDER, target.place, reason)


def unowned(pointer: PointerMember, uses: Sequence[PointerUse]) -> Iterator[Refusal]:
    """Without a release that is seen a function frees the object; without an allocation it is another one's."""
    codes = {use.refusal.code for use in uses if use.refusal is not None}
    allocations = [use for use in uses if use.role is Role.ALLOCATION]
    made = [use for use in allocations if not use.callee.startswith("devm_")]
    if made and not codes and not any(use.role is Role.RELEASE for use in uses):
        callees = dict.fromkeys(use.callee for use in uses if use.role is Role.VALUE and use.callee)
        to = f", which is passed to {', '.join(list(callees)[:_SHOWN])}" if callees else ""
        reason = f"no code that frees `{pointer.name}` was found{to}"
        lift = "free it through the member first, in the function that frees the record"
        yield Refusal(RefusalCode.FREED_ELSEWHERE, made[0].place, reason, lift)
    if not allocations and codes.isdisjoint((RefusalCode.UNKNOWN_ALLOCATION, RefusalCode.SHARED)):
        reason = f"no allocation into `{pointer.name}` was found, so the object belongs to something else"
        yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, pointer.place, reason)
