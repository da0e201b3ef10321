# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that is known of a pointer before anything is changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import Layout, Member, RecordKind, Refusal, RefusalCode
from linesmith.patches.declaration import Declared, declaration
from linesmith.patches.inline.caches import Caches, object_caches
from linesmith.patches.inline.find import Found, find_uses
from linesmith.patches.inline.lifetimes import Lifetimes, copies, lifetimes, misaligned, released_otherwise
from linesmith.patches.inline.order import target_record
from linesmith.patches.inline.pointer import PointerMember, pointer_member
from linesmith.patches.inline.rules import Task, semantic_patch
from linesmith.patches.inline.sites import remarks, standing
from linesmith.patches.kbuild import Progress, is_kernel
from linesmith.patches.semantic.image import TreeImage

# What aligns a member to a cache line, in the kernel and elsewhere.
_KERNEL_ALIGNMENT = "____cacheline_aligned_in_smp"
_PLAIN_ALIGNMENT = "__attribute__((aligned(64)))"
_CAN_ALIGN = frozenset(("malloc", "aligned_alloc"))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Make what ``member`` of ``record`` points to a member, in the sources below ``tree``."""

    record: str
    member: str
    tree: Path


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
    pointer = pointer_member(_outer(image.tree, wanted), wanted.member)
    found = find_uses(pointer, image, progress)
    target = target_record(pointer, found.files, image, progress)
    caches = object_caches(found.uses, image, progress)
    seen = lifetimes(pointer, found, image, progress)
    attribute = _attribute(image.tree, seen)
    made_in = tuple(dict.fromkeys(one.file for one in seen.made if attribute and one.maker == "malloc"))
    rules = semantic_patch(Task(pointer, found.uses, caches.gone, found.typed, bool(made_in)))
    inside = (*standing(pointer, target, found), *released_otherwise(pointer, seen))
    sites = (*found.sites, *caches.left, *copies(pointer, seen), *misaligned(pointer, seen, image), *remarks(found))
    return Study(pointer, target, found, caches, rules, attribute, made_in, inside, sites)


def _outer(tree: Path, wanted: Wanted) -> Declared:
    """The record in the tree that has the member; the debug information of no build is needed."""
    known = (Member(name=wanted.member, type="", declarator=wanted.member, offset=0, size=0),)
    declared = declaration(tree, wanted.record, Layout(0, wanted.record, RecordKind.STRUCT, 0, known))
    if declared.record.kind != "struct":
        reason = f"{declared.record.title} is no struct"
        raise EditRefused(Refusal(RefusalCode.NO_STRUCT, declared.place, reason))
    return declared


def _attribute(tree: Path, seen: Lifetimes) -> str:
    """Nothing where records come from what knows no alignment: a compiler may rely on one that is promised."""
    if is_kernel(tree):
        return _KERNEL_ALIGNMENT
    return _PLAIN_ALIGNMENT if seen.makers <= _CAN_ALIGN else ""
