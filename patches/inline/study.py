# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that is known of a pointer before anything is changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.model import Layout, Member, RecordKind, Refusal, RefusalCode
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.find import Found, Named, find_uses, named, record_sources, standing
from linesmith.patches.inline.lifetimes import Caches, copies, lifetimes, misaligned, object_caches, released_otherwise
from linesmith.patches.inline.order import all_aligned, included, missed_by, target_record
from linesmith.patches.inline.pointer import PointerMember, names_of, pointer_member, tags_of
from linesmith.patches.inline.reliance import reliance
from linesmith.patches.inline.rules import Task, semantic_patch
from linesmith.patches.inline.uses import Role, copying
from linesmith.patches.source.declaration import Declared, declaration
from linesmith.patches.treewide.image import TreeImage, mentions, unread_files

# What aligns a member to a cache line, in the kernel and elsewhere.
_KERNEL_ALIGNMENT = "____cacheline_aligned_in_smp"
_PLAIN_ALIGNMENT = "__attribute__((aligned(64)))"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Make what ``member`` of ``record`` points to a member, in the sources below ``tree``.

    ``never_null``: tests of the pointer for NULL say nothing but that it is set, and go.
    """

    record: str
    member: str
    tree: Path
    never_null: bool = False


@dataclass(frozen=True, slots=True)
class Study:
    """The pointer, what it leads to, who uses it, and what follows from that.

    ``rules`` is the semantic patch. ``attribute`` aligns the member; it is empty where the record's own alignment
    cannot follow. ``made_in`` are files where the rules align records. ``standing`` stand in the way, ``sites`` are
    places that a person should look at.
    """

    pointer: PointerMember
    target: Declared
    found: Found
    caches: Caches
    rules: str
    attribute: str
    made_in: tuple[str, ...]
    standing: tuple[Refusal, ...]
    sites: tuple[Refusal, ...]


def study(wanted: Wanted, image: TreeImage, progress: Progress) -> Study:
    """Look at the tree; raises what ``inlined`` does."""
    pointer = pointer_member(_outer(image, wanted, progress), wanted.member)
    places = named(pointer, image, progress)
    target = target_record(pointer, places.files, image, progress)
    pointer, sources = record_sources(_with_names(pointer, target, places, image), image)
    found = find_uses(pointer, places, image, progress)
    caches = object_caches(found.uses, image, progress)
    seen = lifetimes(pointer, found, image, progress)
    copied = copying(pointer, found.uses, sources)
    relying = reliance(pointer, sources)
    attribute = _attribute(image.tree, aligned=all_aligned(pointer, seen.made, sources))
    made_in = tuple(dict.fromkeys(one.file for one in seen.made if attribute and one.maker == "malloc"))
    rules = semantic_patch(Task(pointer, found.uses, caches.gone, found.typed, bool(made_in)))
    inside = (
        *standing(pointer, target, found, _allowed(wanted)),
        *caches.standing,
        *released_otherwise(pointer, seen),
        *relying.certain,
        *copied.certain,
    )
    sites = (
        *missed_by(pointer, target, image),
        *found.sites,
        *relying.possible,
        *caches.left,
        *copied.possible,
        *(one for one in copies(pointer, seen) if one.place not in copied.places),
        *misaligned(pointer, seen, image),
        *unread_files(image.tree),
    )
    return Study(pointer, target, found, caches, rules, attribute, made_in, inside, sites)


def _allowed(wanted: Wanted) -> frozenset[Role]:
    return frozenset((Role.TEST,)) if wanted.never_null else frozenset()


def _with_names(pointer: PointerMember, target: Declared, places: Named, image: TreeImage) -> PointerMember:
    """The pointer with all names of both records."""
    files = dict.fromkeys((pointer.outer.file, target.file, *places.files, *included(image, pointer.outer.file)))
    sources = [image.read(file) for file in files]
    targets = dict.fromkeys((pointer.target, *names_of(target, sources)))
    return replace(pointer, holders=names_of(pointer.outer, sources), targets=tuple(targets))


def _outer(image: TreeImage, wanted: Wanted, progress: Progress) -> Declared:
    """The record in the tree that has the member; the debug information of no build is needed."""
    try:
        declared = _declared(image, wanted.record, wanted.member)
    except DeclarationNotFound:
        files = dict.fromkeys(one.file for one in mentions(image.tree, wanted.record, progress))
        known = tags_of(wanted.record, (image.read(file) for file in files))
        if not known:
            remedy = "check the name, as its tag or typedef has it"
            raise DeclarationNotFound(f"{image.tree} declares no record {wanted.record}; {remedy}") from None
        declared = _declared(image, known[0], wanted.member)
    if declared.record.kind != "struct":
        reason = f"{declared.record.title} is no struct"
        raise EditRefused(Refusal(RefusalCode.NO_STRUCT, declared.place, reason))
    return declared


def _declared(image: TreeImage, record: str, member: str) -> Declared:
    known = (Member(name=member, type="", declarator=member, offset=0, size=0),)
    return declaration(image.tree, record, Layout(0, record, RecordKind.STRUCT, 0, known))


def _attribute(tree: Path, *, aligned: bool) -> str:
    """Nothing where a program's records may begin anywhere: a compiler may rely on an alignment that is promised."""
    if is_kernel(tree):
        return _KERNEL_ALIGNMENT
    return _PLAIN_ALIGNMENT if aligned else ""
