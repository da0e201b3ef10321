# SPDX-License-Identifier: GPL-2.0-or-later
"""From the name of a member and of an accessor to a series that replaces every access that can be replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base.errors import EditRefused, NothingToSuggest, VerificationFailed
from linesmith.analyzer.base.text import paragraph
from linesmith.analyzer.model import ConfigurationCheck, FileChange, PatchSeries, Refusal, RefusalCode, SeriesStep
from linesmith.patches.build.preparation import Progress
from linesmith.patches.encapsulation.member import (
    DeclaredMember,
    Form,
    MemberAccessor,
    declared_member,
    definition,
    position_behind,
)
from linesmith.patches.encapsulation.rules import UNSERVED, MemberRole, Predicate, calling, predicates_of, replacing
from linesmith.patches.encapsulation.survey import (
    Survey,
    UsePlace,
    Work,
    all_uses,
    by_depth,
    form_for,
    is_called,
    leftovers,
    measuring,
    parameter_for,
    renewed,
    surveyed,
)
from linesmith.patches.matrix.choice import CheckedChange
from linesmith.patches.matrix.evidence import paragraphs, summary
from linesmith.patches.source.records import records_named
from linesmith.patches.treewide.mentions import (
    declared_with,
    mentions_in,
    mentions_of,
    of_other_program,
    other_programs,
    typedefs_in_tree,
    unread_files,
)
from linesmith.patches.treewide.series import (
    broken,
    from_first_to_last,
    message,
    never_compiled,
    tree_image,
    with_results,
)
from linesmith.patches.treewide.spatch import SemanticPatch, spatch


@dataclass(frozen=True, slots=True)
class Encapsulated:
    """What was done: the ``places`` whose access was replaced, by the ``rules``, in the steps of ``series``.

    ``rules`` is a semantic patch that a person can run; ``refusals`` of the series are the places that stay. ``broken``
    are units that do not compile any more.
    """

    declared: DeclaredMember
    accessor: MemberAccessor
    places: tuple[UsePlace, ...]
    rules: str
    series: PatchSeries
    broken: tuple[Refusal, ...] = ()


def encapsulate(record: str, member: str, accessor: str, tree: Path, progress: Progress) -> Encapsulated:
    """The series after which ``member`` of the record with this tag or typedef is reached through ``accessor``.

    The tree is only read. Raises ``TreeError``, ``DeclarationNotFound``, ``EditRefused``, ``ToolMissing``.
    """
    with tree_image(tree) as image:
        mentions = mentions_of(image.tree, (member, accessor), progress)
        outer, copies = declared_with(image.tree, record, member, mentions[member], progress)
        declared = declared_member(outer, member)
        apart = () if outer.file.startswith(other_programs(image.tree)) else other_programs(image.tree)
        near, used = ([one for one in mentions[word] if not one.file.startswith(apart)] for word in (member, accessor))
        # Variables in functions may be called like the accessor, functions may not.
        taken = next((one for one in used if is_called(image.read(one.file), one, accessor)), None)
        if taken is not None:
            reason = f"{accessor} is a name already"
            raise EditRefused(Refusal(RefusalCode.NAME_TAKEN, taken.place, reason, "give another with --accessor"))
        macros = measuring(image.tree, declared, near)
        work = Work(declared, image, progress, typedefs_in_tree(image.tree, outer), macros)
        foreign = {copy.file for copy in copies}
        others = (*map(of_other_program, copies), *unread_files(image.tree))
        survey = surveyed(work, [one.file for one in near if one.file not in foreign])
        return _encapsulated(work, accessor, survey, others)


def _encapsulated(work: Work, name: str, survey: Survey, others: Sequence[Refusal]) -> Encapsulated:
    first, first_rules = _predicates_called(work, survey)
    for step in first:
        survey = renewed(work, survey, [change.file for change in step.changes])
    accessor = _accessor(work.declared, name, survey.own)
    rules = replacing(work.target(unique=survey.is_unique), name, accessor.form, all_uses(survey.own))
    files = sorted({place.file for place in survey.own})
    failed = _applied(work, rules, survey, files)
    replaced = tuple(place for place in survey.own if not place.uses & set(UNSERVED[accessor.form]))
    now = (one for file in survey.sources for one in mentions_in(file, work.image.read(file), work.declared.name))
    left = leftovers(work.declared, survey, accessor, {(one.file, one.macro) for one in now if one.macro})
    refusals = (*left, *failed, *_missed(work, survey, replaced), *others)
    _define(work, accessor)
    text_of_step = _accessor_message(work.declared, accessor, replaced, refusals, work.image.tree)
    series = PatchSeries((*first, SeriesStep(text_of_step, work.image.commit())), refusals=refusals)
    head = f"// Hides {work.declared.name} of {work.declared.title}. To be run by:\n{_RUN}"
    script = "\n".join((head, *(f"{one.rstrip()}\n" for one in (*first_rules, rules.text))))
    return Encapsulated(work.declared, accessor, replaced, script, series)


def _predicates_called(work: Work, survey: Survey) -> tuple[list[SeriesStep], list[str]]:
    """The step that calls the functions which others spell out, and its rules, where there is something to do."""
    predicates = tuple(predicates_of(work.declared))
    files = {place.file for place in survey.own}
    likely = {file for file in files if any(one.may_be_spelt_out(survey.sources[file]) for one in predicates)}
    if not likely:
        return [], []
    rules = calling(work.target(unique=survey.is_unique), predicates)
    _applied(work, rules, survey, likely)
    changes = work.image.commit()
    if not changes:
        return [], []
    return [SeriesStep(_predicates_message(work.declared, predicates, changes, work.image.tree), changes)], [rules.text]


def _accessor(declared: DeclaredMember, name: str, own: Sequence[UsePlace]) -> MemberAccessor:
    """The accessor that serves most uses; raises ``EditRefused`` where there is none."""
    if not own:
        reason = f"no access to {declared.name} of a {declared.title} was found, so there is nothing to replace"
        raise NothingToSuggest(f"{declared.place}: {reason}")
    form = form_for(declared, own)
    generic = form is not Form.VALUE and any(MemberRole.CONSTANT in place.uses for place in own)
    return MemberAccessor(name, form, parameter_for(declared, own), generic)


def _applied(work: Work, rules: SemanticPatch, survey: Survey, files: Collection[str]) -> list[Refusal]:
    failed: list[Refusal] = []
    for depth, group in by_depth(files, survey):
        failed += spatch(rules, work.image, group, work.progress, depth).failed
    return failed


def _missed(work: Work, survey: Survey, replaced: Sequence[UsePlace]) -> Iterator[Refusal]:
    """Files in which more places name the member than there should be."""
    before = Counter(mention.file for mention in survey.mentions)
    for file, count in Counter(place.file for place in replaced).items():
        left = sum(1 for _ in mentions_in(file, work.image.read(file), work.declared.name))
        more = left - (before[file] - count)
        if more > 0:
            reason = f"{more} of the {count} places that Coccinelle recognized in this file were not replaced"
            yield Refusal(RefusalCode.NOT_PARSED, f"{file}:1", reason, "change them by hand")


def _define(work: Work, accessor: MemberAccessor) -> None:
    """Put the accessor behind the record, wherever that is now."""
    source = work.image.read(work.declared.file)
    start = work.declared.record.start
    near = min(records_named(source, work.declared.record.name), key=lambda record: abs(record.start - start))
    behind = position_behind(source, near)
    lines = definition(accessor, work.declared, source[behind:])
    work.image.put(work.declared.file, source[:behind] + lines + source[behind:])


# The messages of the steps, and the semantic patch as a file that a person can run.

_LISTED = 3
_RUN = """\
// spatch --sp-file RULES --in-place --recursive-includes
//   --include-headers-for-types --disable-worth-trying-opt -I include FILES
"""
_STAYS = {
    RefusalCode.WHOLE_ASSIGNMENT: "assigned as a whole",
    RefusalCode.INITIALISER: "in an initialiser",
    RefusalCode.OFFSET: "as an offset",
    RefusalCode.IN_MACRO: "in a macro",
    RefusalCode.NEEDS_OBJECT: "where it is needed itself",
    RefusalCode.TYPE_UNKNOWN: "behind an unknown type",
    RefusalCode.NOT_PARSED: "in code that was not parsed",
    RefusalCode.OTHER_PROGRAM: "in a program of its own",
}


def _predicates_message(
    declared: DeclaredMember, predicates: Sequence[Predicate], changes: Sequence[FileChange], tree: Path
) -> str:
    """The message of the step that calls functions whose expressions others spell out."""
    after = b"".join(change.after or b"" for change in changes)
    names = [f"{one.name}()" for one in predicates if one.name.encode() in after]
    listed = ", ".join(names[:_LISTED])
    text = (
        f"Some users of {declared.name} of {declared.title} spell out what {listed} "
        f"return{'s' * (len(names) == 1)}. Call {'it' if len(names) == 1 else 'them'} instead. No functional change."
    )
    return message(tree, declared.file, f"use {listed}", (text,))


def _accessor_message(
    declared: DeclaredMember,
    accessor: MemberAccessor,
    places: Sequence[UsePlace],
    refusals: Sequence[Refusal],
    tree: Path,
) -> str:
    """The message of the step that brings in the accessor."""
    files = {place.file for place in places}
    why = (
        f"Users reach {declared.name} of {declared.title} directly, so that what is behind it cannot change without "
        f"all of them. Add {accessor.name}(), which gives its {accessor.form}, and use it: {len(places)} "
        f"place{'s' * (len(places) != 1)} in {len(files)} file{'s' * (len(files) != 1)}. No functional change."
    )
    counts = Counter(_STAYS.get(one.code, "elsewhere") for one in refusals)
    left = ", ".join(f"{count} {where}" for where, count in counts.items())
    stays = [f"Places that go on naming {declared.name}: {left}."] if refusals else []
    subject = f"access {declared.name} through {accessor.name}()"
    return message(tree, declared.file, subject, (why, *stays, "Made with Coccinelle."))


# What compilers say of the series.


def change_of(made: Encapsulated) -> CheckedChange:
    """All that the patch changes; the units in it are compiled first."""
    files = from_first_to_last(made.series)
    units = tuple(one.file for one in files if one.file.endswith(".c"))
    return CheckedChange(files, file=made.declared.file, title=made.declared.title, prefer=units)


def confirmed(made: Encapsulated, checks: Sequence[ConfigurationCheck]) -> Encapsulated:
    """The series with what was compiled in its last message, and what does not compile.

    Raises ``VerificationFailed`` where no object was compiled at all.
    """
    if not any(check.users for check in checks):
        reasons = (reason for check in checks for reason in (check.failed, *check.left_out) if reason)
        reason = next(reasons, "no unit sees the change").rstrip(".")
        remedy = "configure the tree or name another configuration with --on, or see the edits with --dry-run"
        raise VerificationFailed(f"no patch written: nothing that it changes could be compiled ({reason}); {remedy}")
    units = never_compiled(made.series, checks)
    left = paragraph(f"Not compiled by themselves under what was tried: {', '.join(units)}.") if units else ""
    details = paragraphs(checks, made.declared.title)
    series = with_results(made.series, checks, (paragraph(summary(checks)), left), details)
    return replace(made, series=series, broken=tuple(broken(checks)))
