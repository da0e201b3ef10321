# SPDX-License-Identifier: GPL-2.0-or-later
"""From the name of a member and of an accessor to a series that replaces every access that can be replaced."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import PatchSeries, Refusal, RefusalCode, SeriesStep
from linesmith.patches.encapsulation import message
from linesmith.patches.encapsulation.form import Accessor, Form, definition
from linesmith.patches.encapsulation.leftovers import Survey, is_access, is_designator, is_offset, leftovers
from linesmith.patches.encapsulation.member import DeclaredMember, find_member, is_apart, position_behind
from linesmith.patches.encapsulation.predicates import Predicate, predicates, using
from linesmith.patches.encapsulation.rules import KEPT, Target, Use, census, replacing
from linesmith.patches.encapsulation.uses import Place, all_uses, form_for, gathered, parameter_for
from linesmith.patches.preparation import Progress
from linesmith.patches.records import records_named
from linesmith.patches.semantic.image import TreeImage, tree_image
from linesmith.patches.semantic.mentions import Mention, mentioned, mentions_of
from linesmith.patches.semantic.spatch import SemanticPatch, Types, spatch


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


@dataclass(frozen=True, slots=True)
class _Work:
    """What every stage needs."""

    wish: Wish
    declared: DeclaredMember
    target: Target
    image: TreeImage
    progress: Progress


def encapsulate(wish: Wish, tree: Path, progress: Progress) -> Encapsulated:
    """The series for a tree, which is only read.

    Raises ``TreeError``, ``DeclarationNotFound``, ``EditRefused``, ``ToolMissing``.
    """
    with tree_image(tree) as image:
        found = mentions_of(image.tree, (wish.member, wish.accessor), progress)
        declared, copies = find_member(image.tree, wish.record, wish.member, found[wish.member])
        _check_free(wish, [mention for mention in found[wish.accessor] if not is_apart(mention, declared)])
        work = _Work(wish, declared, Target(declared.record, declared.name), image, progress)
        near = [mention for mention in found[wish.member] if not is_apart(mention, declared)]
        return _encapsulated(work, near, copies)


def _check_free(wish: Wish, used: Sequence[Mention]) -> None:
    if used:
        reason = f"{wish.accessor} is a name already"
        raise EditRefused(Refusal(RefusalCode.NAME_TAKEN, used[0].place, reason, "give another with --accessor"))


def _encapsulated(work: _Work, near: Sequence[Mention], copies: Sequence[Refusal]) -> Encapsulated:
    files = list(dict.fromkeys(one.file for one in near if _can_be_replaced(work, one)))
    first, first_rules = _predicates_used(work, files)
    survey, depths = _surveyed(work, [mention.file for mention in near])
    own = [place for place in survey.places.values() if place.is_own or (survey.is_unique and place.may_be_own)]
    if not own:
        reason = f"no access to {work.declared.name} of a {work.declared.title} was found"
        raise EditRefused(Refusal(RefusalCode.NOTHING_TO_REPLACE, work.declared.place, reason))
    form = form_for(work.declared, own)
    generic = form is not Form.VALUE and any(Use.CONSTANT in place.uses for place in own)
    accessor = Accessor(work.wish.accessor, form, parameter_for(work.declared, own), generic)
    rules = replacing(work.target, accessor.name, form, all_uses(own), untyped=survey.is_unique)
    failed = _replaced(work, rules, own, depths)
    replaced = tuple(place for place in own if not place.uses & set(KEPT[form]))
    refusals = (*leftovers(survey, accessor, _macros(work, survey)), *failed, *_missed(work, survey, replaced), *copies)
    _define(work, accessor)
    told = message.accessor(work.declared, accessor, replaced, refusals, work.image.tree)
    series = PatchSeries((*first, SeriesStep(told, work.image.commit())), refusals=refusals)
    text = message.script(work.declared, [*first_rules, rules.text])
    return Encapsulated(work.declared, accessor, replaced, text, series)


def _can_be_replaced(work: _Work, mention: Mention) -> bool:
    return not mention.macro and is_access(work.image.read(mention.file), mention)


def _predicates_used(work: _Work, files: Sequence[str]) -> tuple[list[SeriesStep], list[str]]:
    """The step that calls the functions which others spell out, where there is something to do."""
    found = predicates(work.declared)
    likely = [file for file in files if any(_may_spell_out(work.image.read(file), one) for one in found)]
    if not found or not likely:
        return [], []
    rules = using(work.target, found)
    spatch(rules, work.image, likely, work.progress)
    changes = work.image.commit()
    if not changes:
        return [], []
    told = message.predicates(work.declared, found, changes, work.image.tree)
    return [SeriesStep(told, changes)], [rules.text]


def _may_spell_out(source: bytes, predicate: Predicate) -> bool:
    words = set(re.findall(r"[A-Za-z_]\w*", predicate.expression)) - {predicate.parameter}
    return all(word.encode() in source for word in words)


def _surveyed(work: _Work, files: Sequence[str]) -> tuple[Survey, dict[str, Types]]:
    """All that is known of the member as the image is now, and from where each file's types are known."""
    sources = {file: work.image.read(file) for file in dict.fromkeys(files)}
    found = tuple(one for file, source in sources.items() for one in mentioned(file, source, work.declared.name))
    parsed = sorted({one.file for one in found if not one.macro and is_access(sources[one.file], one)})
    places, depths = _places(work, parsed)
    unique = not any(_is_other(work, sources[one.file], one) for one in found)
    by_place = {(place.file, place.line, place.column): place for place in places}
    return Survey(work.declared, found, by_place, sources, unique), depths


def _places(work: _Work, files: Sequence[str]) -> tuple[tuple[Place, ...], dict[str, Types]]:
    """Each use; headers are read for files only where a type is not known without."""
    rules = census(work.target)
    fast = gathered(spatch(rules, work.image, files, work.progress, Types.FILE).sites)
    unsure = sorted({place.file for place in fast if not (place.is_own or place.is_foreign)})
    slow = gathered(spatch(rules, work.image, unsure, work.progress).sites) if unsure else ()
    depths = {file: Types.HEADERS if file in unsure else Types.FILE for file in files}
    return (*(place for place in fast if depths[place.file] is Types.FILE), *slow), depths


def _is_other(work: _Work, source: bytes, mention: Mention) -> bool:
    """Whether the word may declare something else than the member."""
    record = work.declared.record
    own = mention.file == work.declared.file and record.opening < mention.offset < record.closing
    return not (own or is_access(source, mention) or is_designator(source, mention) or is_offset(source, mention))


def _replaced(work: _Work, rules: SemanticPatch, own: Sequence[Place], depths: dict[str, Types]) -> list[Refusal]:
    failed: list[Refusal] = []
    for depth in Types:
        files = sorted({place.file for place in own if depths[place.file] is depth})
        if files:
            failed += spatch(rules, work.image, files, work.progress, depth).failed
    return failed


def _macros(work: _Work, survey: Survey) -> set[tuple[str, str]]:
    """Macros that name the member as the image is now."""
    found = (one for file in survey.sources for one in mentioned(file, work.image.read(file), work.declared.name))
    return {(one.file, one.macro) for one in found if one.macro}


def _missed(work: _Work, survey: Survey, replaced: Sequence[Place]) -> Iterator[Refusal]:
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


def _define(work: _Work, accessor: Accessor) -> None:
    source = work.image.read(work.declared.file)
    start = work.declared.record.start
    near = min(records_named(source, work.declared.record.name), key=lambda record: abs(record.start - start))
    behind = position_behind(source, near)
    text = definition(accessor, work.declared, source[behind:])
    work.image.put(work.declared.file, source[:behind] + text + source[behind:])
