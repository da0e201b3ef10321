# SPDX-License-Identifier: GPL-2.0-or-later
"""From a pointer to a separately allocated object to a series that makes the object a member of the record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import Layout, Member, PatchSeries, RecordKind, Refusal, RefusalCode, SeriesStep
from linesmith.patches.declaration import Declared, declaration
from linesmith.patches.inline.caches import Caches, object_caches
from linesmith.patches.inline.conditionals import without_emptied
from linesmith.patches.inline.find import Found, find_uses
from linesmith.patches.inline.left import left_behind
from linesmith.patches.inline.member import with_object
from linesmith.patches.inline.message import inline_message, order_message
from linesmith.patches.inline.order import in_order, moved_ahead, target_record
from linesmith.patches.inline.pointer import PointerMember, pointer_member
from linesmith.patches.inline.rules import semantic_patch
from linesmith.patches.inline.sites import remarks, standing
from linesmith.patches.kbuild import Progress, is_kernel
from linesmith.patches.records import records_named
from linesmith.patches.semantic.image import TreeImage, tree_image
from linesmith.patches.semantic.spatch import SemanticPatch, spatch


@dataclass(frozen=True, slots=True)
class Wanted:
    """Make what ``member`` of ``record`` points to a member, in the sources below ``tree``."""

    record: str
    member: str
    tree: Path


@dataclass(frozen=True, slots=True)
class Inlined:
    """What became of the request. ``series`` has no steps when something stands in the way.

    ``standing`` stand in the way, ``sites`` are places that a person should look at. ``rules`` is the semantic patch.
    """

    pointer: PointerMember
    target: Declared
    found: Found
    caches: Caches
    rules: str
    series: PatchSeries
    standing: tuple[Refusal, ...]
    sites: tuple[Refusal, ...]


def inlined(wanted: Wanted, progress: Progress) -> Inlined:
    """The series that makes what the pointer points to a member, and the places that a person must look at.

    Nothing of the tree is written. Raises ``DeclarationNotFound``, ``EditRefused`` where the declaration itself stands
    in the way, ``ToolMissing`` without Coccinelle.
    """
    with tree_image(wanted.tree) as image:
        pointer = pointer_member(_outer(image.tree, wanted), wanted.member)
        target = target_record(pointer, image, progress)
        found = find_uses(pointer, image, progress)
        caches = object_caches(found.uses, image, progress)
        rules = semantic_patch(pointer, found.uses, caches.gone, typed=found.typed)
        inside = standing(pointer, target, found)
        sites = (*found.sites, *caches.left, *remarks(found))
        if inside:
            return Inlined(pointer, target, found, caches, rules, PatchSeries(()), inside, sites)
        steps = _ordered(pointer, target, image)
        step, missed = _replaced(pointer, found, caches, rules, image, progress)
        series = PatchSeries((*steps, step), refusals=(*missed, *sites))
        return Inlined(pointer, target, found, caches, rules, series, missed, (*missed, *sites))


def _outer(tree: Path, wanted: Wanted) -> Declared:
    """The record in the tree that has the member; the debug information of no build is needed."""
    known = (Member(name=wanted.member, type="", declarator=wanted.member, offset=0, size=0),)
    declared = declaration(tree, wanted.record, Layout(0, wanted.record, RecordKind.STRUCT, 0, known))
    if declared.record.kind != "struct":
        reason = f"{declared.record.title} is no struct"
        raise EditRefused(Refusal(RefusalCode.NO_STRUCT, declared.place, reason))
    return declared


def _ordered(pointer: PointerMember, target: Declared, image: TreeImage) -> tuple[SeriesStep, ...]:
    """The step that declares the object's type in front of the record, where it is not."""
    if in_order(pointer, target, image):
        return ()
    for file, content in moved_ahead(pointer, target).items():
        image.put(file, content)
    return (SeriesStep(order_message(pointer, target, image.tree), image.commit()),)


def _replaced(
    pointer: PointerMember, found: Found, caches: Caches, rules: str, image: TreeImage, progress: Progress
) -> tuple[SeriesStep, tuple[Refusal, ...]]:
    """The step that takes the pointer away, and the places where it is still used as one."""
    files = tuple(dict.fromkeys((*found.files, *caches.files)))
    before = {file: image.read(file) for file in files}
    done = spatch(SemanticPatch(rules), image, files, progress)
    for file in files:
        image.put(file, without_emptied(before[file], image.read(file)))
    again = pointer_member(_again(pointer, image), pointer.name)
    image.put(pointer.outer.file, with_object(again, attribute(image.tree)))
    step = SeriesStep(inline_message(pointer, found, caches, image.tree), image.commit())
    return step, (*done.failed, *left_behind(pointer, found, image))


def _again(pointer: PointerMember, image: TreeImage) -> Declared:
    """The record in the file as it is now."""
    outer = pointer.outer
    source = image.read(outer.file)
    number = [one.opening for one in records_named(outer.source, outer.record.name)].index(outer.record.opening)
    return Declared(outer.file, source, records_named(source, outer.record.name)[number], outer.match)


def attribute(tree: Path) -> str:
    """What aligns a member to a cache line in this tree."""
    return "____cacheline_aligned_in_smp" if is_kernel(tree) else "__attribute__((aligned(64)))"
