# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that is known of a pointer before anything is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.model import Layout, Member, RecordKind, Refusal, RefusalCode
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.caches import Caches, object_caches
from linesmith.patches.inline.find import PointerUses, find_uses, pointer_mentions, record_sources, standing
from linesmith.patches.inline.lifetimes import copies, lifetimes, misaligned, released_otherwise
from linesmith.patches.inline.order import included, missed_by, target_record
from linesmith.patches.inline.pointer import PointerMember, pointer_member
from linesmith.patches.inline.reliance import reliance
from linesmith.patches.inline.rules import semantic_patch
from linesmith.patches.inline.uses import Role
from linesmith.patches.source.declaration import Declared, declaration
from linesmith.patches.treewide.image import TreeImage
from linesmith.patches.treewide.mentions import mentions, unread_files
from linesmith.patches.treewide.names import names_of, tags_of

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
    pointer = pointer_member(_outer(image, record, member, progress), member)
    mentioned = pointer_mentions(pointer, image, progress)
    target = target_record(pointer, mentioned.files, image, progress)
    # The names of both records, as the files that are near have them.
    outer = pointer.outer
    near = dict.fromkeys((outer.file, target.file, *mentioned.files, *included(image, outer.file)))
    texts = [image.read(file) for file in near]
    targets = tuple(dict.fromkeys((pointer.target, *names_of(target, texts))))
    pointer = replace(pointer, holders=names_of(outer, texts), targets=targets)
    pointer, sources = record_sources(pointer, image)
    uses = find_uses(pointer, mentioned, image, progress)
    caches = object_caches(uses.places, image, progress)
    seen = lifetimes(pointer, uses, image, progress)
    relying = reliance(pointer, sources)
    # A compiler relies on an alignment that is promised, and a program's records may begin anywhere.
    attribute = _KERNEL_ALIGNMENT if is_kernel(image.tree) else ""
    rules = semantic_patch(pointer, uses.places, caches.gone, typed=uses.typed)
    in_the_way = (
        *standing(pointer, target, uses),
        *caches.standing,
        *released_otherwise(pointer, seen),
        *relying.certain,
    )
    sites = (
        *missed_by(pointer, target, image),
        *uses.sites,
        *relying.possible,
        *caches.left,
        *copies(pointer, seen),
        *misaligned(pointer, seen, image),
        *_certain(uses),
        *unread_files(image.tree),
    )
    return Study(pointer, target, uses, caches, rules, attribute, in_the_way, sites)


def _certain(uses: PointerUses) -> Iterator[Refusal]:
    """Functions that test an allocation which is gone."""
    checks = (use for use in uses.places if use.role is Role.ALLOCATION_CHECK)
    for use in {(one.file, one.function): one for one in checks}.values():
        reason = f"{use.function}() cannot fail any more for want of memory for the object"
        yield Refusal(RefusalCode.ALWAYS_SUCCEEDS, use.place, reason, "take away what is done when it does")


def _outer(image: TreeImage, record: str, member: str, progress: Progress) -> Declared:
    """The record in the tree that has the member; the debug information of no build is needed."""
    try:
        declared = _declared(image, record, member)
    except DeclarationNotFound:
        files = dict.fromkeys(one.file for one in mentions(image.tree, record, progress))
        known = tags_of(record, (image.read(file) for file in files))
        if not known:
            remedy = "check the name, as its tag or typedef has it"
            raise DeclarationNotFound(f"{image.tree} declares no record {record}; {remedy}") from None
        declared = _declared(image, known[0], member)
    if declared.record.kind != "struct":
        reason = f"{declared.record.title} is no struct"
        raise EditRefused(Refusal(RefusalCode.NO_STRUCT, declared.place, reason))
    return declared


def _declared(image: TreeImage, record: str, member: str) -> Declared:
    known = (Member(name=member, type="", declarator=member, offset=0, size=0),)
    return declaration(image.tree, record, Layout(0, record, RecordKind.STRUCT, 0, known))
