# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that is known of a pointer before anything is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.find import PointerUses, find_uses, pointer_mentions, record_sources, reliance, standing
from linesmith.patches.inline.lifetimes import Caches, copies, lifetimes, misaligned, object_caches, released_otherwise
from linesmith.patches.inline.pointer import PointerMember, pointer_member
from linesmith.patches.inline.rules import semantic_patch
from linesmith.patches.inline.uses import Role
from linesmith.patches.source.declaration import Declared, include_path, reached
from linesmith.patches.source.macros import without_comments
from linesmith.patches.source.records import records_named
from linesmith.patches.treewide.mentions import (
    declared_with,
    mentions,
    names_of,
    of_other_program,
    other_programs,
    tags_of,
    unread_files,
)
from linesmith.patches.treewide.series import TreeImage
from linesmith.patches.treewide.spatch import include_folders


def target_record(pointer: PointerMember, image: TreeImage, progress: Progress) -> Declared:
    """Where the type of the object is declared: in the file of the record, in what that includes, or elsewhere.

    Raises ``EditRefused`` when several declarations are left, ``DeclarationNotFound`` when there is none.
    """
    file, apart = pointer.outer.file, other_programs(image.tree)
    named = (one.file for one in mentions(image.tree, pointer.record, progress) if not one.file.startswith(apart))
    for group in ((file,), included(image, file), tuple(dict.fromkeys(named))):
        tags = tags_of(pointer.record, (image.read(one) for one in group))
        if bodies := [one for place in group for one in _declared_in(image, place, pointer, tags)]:
            return _only(bodies, pointer)
    raise DeclarationNotFound(f"{image.tree} has no body of {pointer.target}, which `{pointer.name}` points to")


def included(image: TreeImage, file: str) -> tuple[str, ...]:
    """The files that ``file`` includes, directly or not, as far as they are found without knowing the configuration."""
    follow = include_path(include_folders(image.tree, file), image.read, image.has)
    return tuple(sorted(reached((file,), follow) - {file}))


def _declared_in(image: TreeImage, file: str, pointer: PointerMember, tags: Sequence[str]) -> Iterator[Declared]:
    source = image.read(file)
    for name in (pointer.record, *tags):
        for record in records_named(source, name):
            if record.kind == "struct" and (record.title == pointer.target or record.typedef or name in tags):
                yield Declared(file, source, record, 1.0)


def _only(declared: list[Declared], pointer: PointerMember) -> Declared:
    """The one that has members; where a configuration goes without the object its type is often empty."""
    filled = [one for one in declared if b";" in without_comments(one.source)[one.record.opening : one.record.closing]]
    if len(filled) == 1:
        return filled[0]
    places = ", ".join(one.place for one in declared[:4])
    reason = f"{pointer.target} is declared {len(declared)} times ({places})"
    raise EditRefused(Refusal(RefusalCode.AMBIGUOUS, declared[0].place, reason, "leave one declaration only"))


# What aligns a member to a cache line in the kernel.
_KERNEL_ALIGNMENT = "____cacheline_aligned_in_smp"


@dataclass(frozen=True, slots=True)
class Study:
    """The pointer, what it leads to, who uses it, and what follows from that.

    ``rules`` is the semantic patch. ``attribute`` aligns the member; it is empty where the record's own alignment
    cannot follow. ``standing`` stand in the way, ``sites`` are places that a person should look at.
    """

    pointer: PointerMember
    target: Declared
    uses: PointerUses
    caches: Caches
    rules: str
    attribute: str
    standing: tuple[Refusal, ...]
    sites: tuple[Refusal, ...]


def study(record: str, member: str, image: TreeImage, progress: Progress) -> Study:
    """Look at the tree; raises what ``inlined`` does."""
    named = mentions(image.tree, member, progress)
    outer, copied = declared_with(image.tree, record, member, named, progress)
    if outer.record.kind != "struct":
        reason = f"{outer.record.title} is no struct"
        raise EditRefused(Refusal(RefusalCode.NO_STRUCT, outer.place, reason))
    pointer = pointer_member(outer, member)
    mentioned = pointer_mentions(named, image)
    target = target_record(pointer, image, progress)
    # The names of the type, as the files that are near have them.
    near = dict.fromkeys((outer.file, target.file, *mentioned.files, *included(image, outer.file)))
    names = names_of(target, [image.read(file) for file in near])
    pointer, sources = record_sources(replace(pointer, targets=tuple(dict.fromkeys((pointer.target, *names)))), image)
    uses = find_uses(pointer, mentioned, image, progress)
    caches = object_caches(uses.places, image, progress)
    seen = lifetimes(pointer, uses, image, progress)
    relying = reliance(pointer, sources)
    # A compiler relies on an alignment that is promised, and a program's records may begin anywhere.
    attribute = _KERNEL_ALIGNMENT if is_kernel(image.tree) else ""
    in_the_way = (
        *_incomplete(pointer, target, image),
        *standing(pointer, target, uses),
        *caches.standing,
        *released_otherwise(pointer, seen),
        *relying.certain,
    )
    sites = (
        *uses.sites,
        *map(of_other_program, copied),
        *relying.possible,
        *caches.left,
        *copies(pointer, seen),
        *(misaligned(pointer, sources) if attribute else ()),
        *_certain(uses),
        *unread_files(image.tree),
    )
    rules = semantic_patch(pointer, uses.places, caches.gone, typed=uses.typed)
    return Study(pointer, target, uses, caches, rules, attribute, in_the_way, sites)


def _incomplete(pointer: PointerMember, target: Declared, image: TreeImage) -> Iterator[Refusal]:
    """That the type is not complete where the record is declared."""
    outer = pointer.outer
    before = target.record.closing < outer.record.start
    if not (before if target.file == outer.file else target.file in included(image, outer.file)):
        reason = f"{target.record.title} is not complete where {outer.record.title} is declared"
        lift = f"move its declaration in front of {outer.place} first, or include the header that has it"
        yield Refusal(RefusalCode.TYPE_ORDER, target.place, reason, lift)


def _certain(uses: PointerUses) -> Iterator[Refusal]:
    """Functions that test an allocation which is gone."""
    checks = (use for use in uses.places if use.role is Role.ALLOCATION_CHECK)
    for use in {(one.file, one.function): one for one in checks}.values():
        reason = f"{use.function}() can no longer fail to allocate the object"
        yield Refusal(RefusalCode.ALWAYS_SUCCEEDS, use.place, reason, "remove its error handling")
