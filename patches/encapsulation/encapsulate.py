# SPDX-License-Identifier: GPL-2.0-or-later
"""From the name of a member and of an accessor to a series that replaces every access that can be replaced."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import PatchSeries, Refusal, RefusalCode, SeriesStep
from linesmith.patches.encapsulation import message
from linesmith.patches.encapsulation.aliases import aliases
from linesmith.patches.encapsulation.calls import in_style, plain_calls, spaced
from linesmith.patches.encapsulation.context import is_called
from linesmith.patches.encapsulation.form import Accessor, Form, definition
from linesmith.patches.encapsulation.leftovers import leftovers
from linesmith.patches.encapsulation.macros import measuring
from linesmith.patches.encapsulation.member import DeclaredMember, find_member, is_apart, position_behind, told
from linesmith.patches.encapsulation.predicates import Predicate, predicates, using
from linesmith.patches.encapsulation.rules import KEPT, Use, replacing
from linesmith.patches.encapsulation.survey import Survey, Work, by_depth, renewed, surveyed
from linesmith.patches.encapsulation.uses import Place, all_uses, form_for, parameter_for
from linesmith.patches.kbuild import is_kernel
from linesmith.patches.preparation import Progress
from linesmith.patches.records import records_named
from linesmith.patches.semantic.image import TreeImage, tree_image
from linesmith.patches.semantic.mentions import Mention, mentioned, mentions_of, unread_files
from linesmith.patches.semantic.spatch import SemanticPatch, spatch


@dataclass(frozen=True, slots=True)
class Wish:
    """``member`` of the record with this tag or typedef is to be reached through ``accessor``."""

    record: str
    member: str
    accessor: str


@dataclass(frozen=True, slots=True)
class Encapsulated:
    """What was done: the ``places`` whose access was replaced, by the ``rules``, in the steps of ``series``.

    ``rules`` is a semantic patch that a person can run; ``refusals`` of the series are the places that stay. ``broken``
    are units that do not compile any more.
    """

    declared: DeclaredMember
    accessor: Accessor
    places: tuple[Place, ...]
    rules: str
    series: PatchSeries
    broken: tuple[Refusal, ...] = ()


def encapsulate(wish: Wish, tree: Path, progress: Progress) -> Encapsulated:
    """The series for a tree, which is only read.

    Raises ``TreeError``, ``DeclarationNotFound``, ``EditRefused``, ``ToolMissing``.
    """
    with tree_image(tree) as image:
        found = mentions_of(image.tree, (wish.member, wish.accessor), progress)
        declared, copies = find_member(image.tree, wish.record, wish.member, found[wish.member])
        _check_free(image, wish, [mention for mention in found[wish.accessor] if not is_apart(mention, declared)])
        macros = measuring(image.tree, declared, found[wish.member])
        work = Work(declared, image, progress, aliases(image.tree, declared.record), macros)
        foreign = {copy.file for copy in copies}
        near = [one.file for one in found[wish.member] if one.file not in foreign and not is_apart(one, declared)]
        others = (*map(told, copies), *unread_files(image.tree))
        return _encapsulated(work, wish.accessor, surveyed(work, near), others)


def _check_free(image: TreeImage, wish: Wish, used: Sequence[Mention]) -> None:
    """Raise ``EditRefused`` where a function has the name; variables in functions may be called like the accessor."""
    taken = next((one for one in used if is_called(image.read(one.file), one, wish.accessor)), None)
    if taken is not None:
        reason = f"{wish.accessor} is a name already"
        raise EditRefused(Refusal(RefusalCode.NAME_TAKEN, taken.place, reason, "give another with --accessor"))


def _encapsulated(work: Work, name: str, survey: Survey, copies: Sequence[Refusal]) -> Encapsulated:
    first, first_rules = _predicates_used(work, survey)
    for step in first:
        survey = renewed(work, survey, [change.file for change in step.changes])
    accessor = _accessor(work.declared, name, survey.own)
    uses = all_uses(survey.own)
    rules = replacing(work.target(unique=survey.is_unique), name, accessor.form, uses)
    files = sorted({place.file for place in survey.own})
    failed = _applied(work, rules, survey, files)
    for file in files:
        text = plain_calls(work.image.read(file), name)
        work.image.put(file, in_style(text, name, blank=_gnu_style(work, survey.sources[file])))
    replaced = tuple(place for place in survey.own if not place.uses & set(KEPT[accessor.form]))
    left = leftovers(survey, accessor, _macros(work, survey))
    refusals = (*left, *failed, *_missed(work, survey, replaced), *copies)
    _define(work, accessor)
    why = message.accessor(work.declared, accessor, replaced, refusals, work.image.tree)
    series = PatchSeries((*first, SeriesStep(why, work.image.commit())), refusals=refusals)
    return Encapsulated(
        work.declared, accessor, replaced, message.script(work.declared, [*first_rules, rules.text]), series
    )


def _gnu_style(work: Work, source: bytes) -> bool:
    """Whether calls are written with a blank; never in a kernel, whatever a file has."""
    return not is_kernel(work.image.tree) and spaced(source)


def _accessor(declared: DeclaredMember, name: str, own: Sequence[Place]) -> Accessor:
    """The accessor that serves most uses; raises ``EditRefused`` where there is none."""
    if not own:
        reason = f"no access to {declared.name} of a {declared.title} was found"
        raise EditRefused(Refusal(RefusalCode.NOTHING_TO_REPLACE, declared.place, reason))
    form = form_for(declared, own)
    generic = form is not Form.VALUE and any(Use.CONSTANT in place.uses for place in own)
    return Accessor(name, form, parameter_for(declared, own), generic)


def _predicates_used(work: Work, survey: Survey) -> tuple[list[SeriesStep], list[str]]:
    """The step that calls the functions which others spell out, where there is something to do."""
    found = predicates(work.declared)
    files = {place.file for place in survey.own}
    likely = {file for file in files if any(_may_spell_out(survey.sources[file], one) for one in found)}
    if not likely:
        return [], []
    rules = using(work.target(unique=survey.is_unique), found)
    _applied(work, rules, survey, likely)
    changes = work.image.commit()
    if not changes:
        return [], []
    return [SeriesStep(message.predicates(work.declared, found, changes, work.image.tree), changes)], [rules.text]


def _may_spell_out(source: bytes, predicate: Predicate) -> bool:
    words = set(re.findall(r"[A-Za-z_]\w*", predicate.expression)) - {predicate.parameter}
    return all(word.encode() in source for word in words)


def _applied(work: Work, rules: SemanticPatch, survey: Survey, files: Collection[str]) -> list[Refusal]:
    failed: list[Refusal] = []
    for depth, group in by_depth(files, survey):
        failed += spatch(rules, work.image, group, work.progress, depth).failed
    return failed


def _macros(work: Work, survey: Survey) -> set[tuple[str, str]]:
    """Macros that name the member as the image is now."""
    found = (one for file in survey.sources for one in mentioned(file, work.image.read(file), work.declared.name))
    return {(one.file, one.macro) for one in found if one.macro}


def _missed(work: Work, survey: Survey, replaced: Sequence[Place]) -> Iterator[Refusal]:
    """Files in which more places name the member than there should be."""
    name = work.declared.name
    gone = Counter(place.file for place in replaced)
    before = Counter(mention.file for mention in survey.mentions)
    for file, count in gone.items():
        left = sum(1 for _ in mentioned(file, work.image.read(file), name))
        more = left - (before[file] - count)
        if more > 0:
            reason = f"{more} of the {count} places that Coccinelle recognized in this file were not replaced"
            yield Refusal(RefusalCode.NOT_PARSED, f"{file}:1", reason, "change them by hand")


def _define(work: Work, accessor: Accessor) -> None:
    source = work.image.read(work.declared.file)
    start = work.declared.record.start
    near = min(records_named(source, work.declared.record.name), key=lambda record: abs(record.start - start))
    behind = position_behind(source, near)
    lines = definition(accessor, work.declared, source[behind:])
    text = in_style(lines, accessor.name, blank=_gnu_style(work, source))
    work.image.put(work.declared.file, source[:behind] + text + source[behind:])
