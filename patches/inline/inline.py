# SPDX-License-Identifier: GPL-2.0-or-later
"""From a pointer to a separately allocated object to a series that makes the object a member of the record."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model import PatchSeries, Refusal, SeriesStep
from linesmith.patches.declaration import Declared
from linesmith.patches.inline.aftermath import aftermath
from linesmith.patches.inline.conditionals import without_emptied
from linesmith.patches.inline.labels import without_unused_labels
from linesmith.patches.inline.left import left_behind
from linesmith.patches.inline.member import with_object
from linesmith.patches.inline.message import inline_message, order_message
from linesmith.patches.inline.order import in_order, moved_ahead
from linesmith.patches.inline.pointer import PointerMember, pointer_member
from linesmith.patches.inline.study import Study, Wanted, study
from linesmith.patches.kbuild import Progress
from linesmith.patches.records import records_named
from linesmith.patches.semantic.image import TreeImage, tree_image
from linesmith.patches.semantic.spatch import SemanticPatch, spatch


@dataclass(frozen=True, slots=True)
class Inlined:
    """What became of the request; ``series`` has no steps when something stands in the way from the beginning.

    ``missed`` are places that the semantic patch should have changed and did not, ``sites`` those that a person should
    look at.
    """

    study: Study
    series: PatchSeries
    sites: tuple[Refusal, ...]
    missed: tuple[Refusal, ...] = ()

    @property
    def standing(self) -> tuple[Refusal, ...]:
        """All that stands in the way."""
        return (*self.study.standing, *self.missed)


def inlined(wanted: Wanted, progress: Progress) -> Inlined:
    """The series that makes what the pointer points to a member, and the places that a person must look at.

    Nothing of the tree is written. Raises ``DeclarationNotFound``, ``EditRefused`` where the declaration itself stands
    in the way, ``ToolMissing`` without Coccinelle.
    """
    with tree_image(wanted.tree) as image:
        known = study(wanted, image, progress)
        if known.standing:
            return Inlined(known, PatchSeries(()), known.sites)
        steps = _ordered(known, image)
        step, missed = _replaced(known, image, progress)
        sites = (*known.sites, *_aftermath(known, step, image))
        return Inlined(known, PatchSeries((*steps, step), refusals=sites), sites, missed)


def _ordered(known: Study, image: TreeImage) -> tuple[SeriesStep, ...]:
    """The step that declares the object's type in front of the record, where it is not."""
    if in_order(known.pointer, known.target, image):
        return ()
    for file, content in moved_ahead(known.pointer, known.target).items():
        image.put(file, content)
    return (SeriesStep(order_message(known, image.tree), image.commit()),)


def _replaced(known: Study, image: TreeImage, progress: Progress) -> tuple[SeriesStep, tuple[Refusal, ...]]:
    """The step that takes the pointer away, and the places where it is still used as one."""
    files = tuple(dict.fromkeys((*known.found.files, *known.caches.files, *known.made_in)))
    before = {file: image.read(file) for file in files}
    done = spatch(SemanticPatch(known.rules), image, files, progress)
    for file in files:
        tidy = without_emptied(before[file], image.read(file))
        image.put(file, without_unused_labels(before[file], tidy))
    again = pointer_member(_again(known.pointer, image), known.pointer.name)
    image.put(known.pointer.outer.file, with_object(again, known.attribute))
    step = SeriesStep(inline_message(known, image.tree), image.commit())
    return step, (*done.failed, *left_behind(known.pointer, known.found, image))


def _aftermath(known: Study, step: SeriesStep, image: TreeImage) -> tuple[Refusal, ...]:
    """What is left for a person, with the lines of the tree as it is."""
    before = {one.file: image.original(one.file) for one in step.changes if one.before is not None}
    return aftermath(known.pointer, known.found, before, {file: image.read(file) for file in before})


def _again(pointer: PointerMember, image: TreeImage) -> Declared:
    """The record in the file as it is now."""
    outer = pointer.outer
    source = image.read(outer.file)
    number = [one.opening for one in records_named(outer.source, outer.record.name)].index(outer.record.opening)
    return Declared(outer.file, source, records_named(source, outer.record.name)[number], outer.match)
