# SPDX-License-Identifier: GPL-2.0-or-later
"""The places that keep naming the member, each with what stands in the way of the accessor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.encapsulation.context import is_access, is_designator, is_offset, statement
from linesmith.patches.encapsulation.form import Accessor, Form
from linesmith.patches.encapsulation.rules import KEPT, Use
from linesmith.patches.encapsulation.survey import Survey
from linesmith.patches.encapsulation.uses import Place
from linesmith.patches.semantic.mentions import Mention


def leftovers(survey: Survey, accessor: Accessor, macros: Collection[tuple[str, str]]) -> tuple[Refusal, ...]:
    """Places that a person has to look at, in the order of files and lines.

    ``macros`` are those that name the member still, as file and name.
    """
    return tuple(
        refusal
        for mention in survey.mentions
        if not mention.macro or (mention.file, mention.macro) in macros
        if (refusal := _refusal(survey, accessor, mention))
    )


def _refusal(survey: Survey, accessor: Accessor, mention: Mention) -> Refusal | None:
    declared, source = survey.declared, survey.sources[mention.file]
    place = survey.places.get((mention.file, mention.line, mention.column))
    if place is not None and (survey.has(place) or place.is_foreign):
        return _kept(accessor, mention, place) if survey.has(place) else None
    inside = mention.file == declared.file and declared.record.opening < mention.offset < declared.record.closing
    if inside and not is_access(source, mention):
        return None
    if is_access(source, mention):
        return _not_replaced(survey, mention, place)
    named = declared.record.name.encode() in statement(source, mention)
    if is_designator(source, mention):
        return _initialiser(mention) if survey.is_unique or named else None
    return _offset(mention) if is_offset(source, mention) and (survey.is_unique or named) else None


def _kept(accessor: Accessor, mention: Mention, place: Place) -> Refusal | None:
    """Why an own use keeps naming the member; none where the accessor has taken its place."""
    use = next((use for use in KEPT[accessor.form] if use in place.uses), None)
    return None if use is None else _WHY[use](accessor, mention)


def _not_replaced(survey: Survey, mention: Mention, place: Place | None) -> Refusal | None:
    near = survey.declared.record.name.encode() in survey.sources[mention.file]
    if not (survey.is_unique or near):
        return None
    if mention.macro:
        reason = f"the macro {mention.macro} names the member, and its arguments have no type"
        return Refusal(RefusalCode.IN_MACRO, mention.place, reason, "change it by hand")
    if place is None:
        return Refusal(RefusalCode.NOT_PARSED, mention.place, "Coccinelle did not parse this", "change it by hand")
    if survey.is_unique:
        return None
    reason = f"the type in front of the member is not known ({place.type or 'no type'})"
    return Refusal(RefusalCode.TYPE_UNKNOWN, mention.place, reason, "change it by hand if it is the record")


def _initialiser(mention: Mention) -> Refusal:
    return Refusal(RefusalCode.INITIALISER, mention.place, "an initialiser gives the member its value")


def _offset(mention: Mention) -> Refusal:
    return Refusal(RefusalCode.OFFSET, mention.place, "the place of the member in the record is asked for")


def _assigned(accessor: Accessor, mention: Mention) -> Refusal:
    by_hand = f"*{accessor.name}(…) = …"
    lift = f"write {by_hand} where it is no set-up" if accessor.form is Form.ADDRESS else ""
    return Refusal(RefusalCode.WHOLE_ASSIGNMENT, mention.place, "the whole member is assigned", lift)


def _updated(accessor: Accessor, mention: Mention) -> Refusal:
    reason = f"the member is changed, and {accessor.name}() gives its {accessor.form}"
    return Refusal(RefusalCode.NEEDS_OBJECT, mention.place, reason, "change it by hand")


def _needs_object(accessor: Accessor, mention: Mention) -> Refusal:
    reason = f"the member itself is needed, and {accessor.name}() gives its {accessor.form}"
    return Refusal(RefusalCode.NEEDS_OBJECT, mention.place, reason, "change it by hand")


_WHY: Mapping[Use, Callable[[Accessor, Mention], Refusal]] = {
    Use.ASSIGNED: _assigned,
    Use.UPDATED: _updated,
    Use.HANDED: _needs_object,
    Use.MEASURED: _needs_object,
    Use.TYPED: _needs_object,
    Use.ITERATED: _needs_object,
    Use.ADDRESS: _needs_object,
}
