# SPDX-License-Identifier: GPL-2.0-or-later
"""From the name of a member and of an accessor to a series that replaces every access that can be replaced."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base.errors import EditRefused, NothingToSuggest
from linesmith.analyzer.base.text import paragraph
from linesmith.analyzer.model import ConfigurationCheck, FileChange, PatchSeries, Refusal, RefusalCode, SeriesStep
from linesmith.patches.build.preparation import Progress
from linesmith.patches.encapsulation.member import (
    DeclaredMember,
    Form,
    MemberAccessor,
    Shape,
    declared_member,
    definition,
    position_behind,
)
from linesmith.patches.encapsulation.rules import (
    UNSERVED,
    MemberRole,
    Predicate,
    calling,
    census,
    predicates_of,
    replacing,
)
from linesmith.patches.matrix.choice import CheckedChange
from linesmith.patches.matrix.evidence import paragraphs, summary
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.records import records_named
from linesmith.patches.treewide.image import TreeImage, tree_image
from linesmith.patches.treewide.mentions import (
    Mention,
    declared_with,
    files_naming,
    mentions_in,
    other_programs,
    read_source,
    source_files,
    titles_of,
    unread_files,
)
from linesmith.patches.treewide.rules import MemberRules
from linesmith.patches.treewide.series import broken, confirmed_series, from_first_to_last, message, never_compiled
from linesmith.patches.treewide.spatch import SemanticPatch, Types, spatch
from linesmith.patches.treewide.survey import Survey, UseSite, surveyed, unresolved


@dataclass(frozen=True, slots=True)
class Encapsulated:
    """What was done: the ``places`` whose access was replaced, by the ``rules``, in the steps of ``series``.

    ``rules`` is a semantic patch that a person can run; ``refusals`` of the series are the places that stay. ``broken``
    are units that do not compile any more.
    """

    declared: DeclaredMember
    accessor: MemberAccessor
    places: tuple[UseSite, ...]
    rules: str
    series: PatchSeries
    broken: tuple[Refusal, ...] = ()


def encapsulate(record: str, member: str, accessor: str, tree: Path, progress: Progress) -> Encapsulated:
    """The series after which ``member`` of the record with this tag or typedef is reached through ``accessor``.

    The tree is only read. Raises ``TreeError``, ``DeclarationNotFound``, ``EditRefused``, ``ToolMissing``.
    """
    with tree_image(tree) as image:
        naming = files_naming(image.tree, (member, accessor, record), progress)
        outer, copies = declared_with(image.tree, record, member, naming)
        apart = () if outer.file.startswith(other_programs(image.tree)) else other_programs(image.tree)
        near, used = ([one for one in naming[word] if not one.startswith(apart)] for word in (member, accessor))
        _refuse_taken(accessor, used, image)
        copied = {one.place.rpartition(":")[0] for one in copies}
        near = [one for one in near if one not in copied]
        declared = declared_member(outer, member)
        macros = _measuring(declared, near, image)
        rules = MemberRules(member, titles_of(outer, image.tree, naming[record]))
        work = _Work(declared, outer, near, macros, image, progress)
        return _encapsulated(work, accessor, rules, (*copies, *unread_files(image.tree)))


def _refuse_taken(accessor: str, files: Iterable[str], image: TreeImage) -> None:
    """Raise where the name is that of a function or macro; variables in functions may be called like the accessor."""
    for one in (one for file in files for one in mentions_in(file, image.read(file), accessor)):
        if not one.is_access and (one.behind.lstrip(b" \t").startswith(b"(") or one.macro == accessor):
            reason = f"{accessor} is a name already"
            raise EditRefused(Refusal(RefusalCode.NAME_TAKEN, one.place, reason, "give another with --accessor"))


_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*\(")
# A name in capitals is a macro's, wherever it is defined.
_CAPITALS = "[A-Z_][A-Z0-9_]*"


def _measuring(declared: DeclaredMember, files: Iterable[str], image: TreeImage) -> tuple[str, ...]:
    """Patterns of the names of macros that are called near the mentions of an array; none where it is no array.

    They may ask for the size of their argument, which an array has and the address of its elements has not.
    """
    if declared.shape is not Shape.ARRAY:
        return ()
    places = (one for file in files for one in mentions_in(file, image.read(file), declared.name))
    near = {name for one in places for name in _CALLED.findall(one.statement)}
    pattern = re.compile(rb"#[ \t]*define[ \t]+(" + b"|".join(sorted(near)) + rb")\(")
    sources = (read_source(image.tree / file) for file in source_files(image.tree)) if near else ()
    return (_CAPITALS, *sorted({name.decode() for source in sources for name in pattern.findall(source)}))


@dataclass(frozen=True, slots=True)
class _Work:
    """What every stage needs: the member, the ``files`` that name it, and the image in which they are changed.

    ``macros`` are patterns of those that may need the member itself.
    """

    declared: DeclaredMember
    outer: Declared
    files: Sequence[str]
    macros: tuple[str, ...]
    image: TreeImage
    progress: Progress

    def survey(self, rules: MemberRules) -> Survey:
        """The uses in the image as it is now."""
        return surveyed(self.outer, rules, self.files, census(rules, self.macros), self.image, self.progress)

    def apply(self, rules: SemanticPatch, survey: Survey, files: Iterable[str]) -> list[Refusal]:
        """Change the files; gives those on which Coccinelle gave up."""
        failed: list[Refusal] = []
        for types in Types:
            group = sorted(one for one in files if (one in survey.deep) is (types is Types.HEADERS))
            failed += spatch(rules, self.image, group, self.progress, types).failed if group else ()
        return failed


def _encapsulated(work: _Work, name: str, rules: MemberRules, others: Sequence[Refusal]) -> Encapsulated:
    survey = work.survey(rules)
    if not survey.own:
        nothing = f"no access to {work.declared.name} of a {work.declared.title} was found"
        raise NothingToSuggest(f"{work.declared.place}: {nothing}, so there is nothing to replace")
    first, first_rules = _predicates_called(work, survey)
    survey = work.survey(rules) if first else survey
    accessor = _accessor(work.declared, name, survey.own)
    # Empty text where a place only reads the member.
    roles = {role for one in survey.own for role in (one.roles if one.roles & _SPECIAL else one.roles | {""})}
    script = replacing(survey.rules, name, accessor.form, roles, work.macros)
    failed = work.apply(script, survey, survey.files)
    replaced = tuple(one for one in survey.own if not one.roles & set(UNSERVED[accessor.form]))
    refusals = (*_left(work, survey, accessor), *failed, *_missed(work, survey, replaced), *others)
    _define(work, accessor)
    text_of_step = _accessor_message(work.declared, accessor, replaced, refusals, work.image.tree)
    series = PatchSeries((*first, SeriesStep(text_of_step, work.image.commit())), refusals=refusals)
    head = f"// Hides {work.declared.name} of {work.declared.title}. To be run by:\n{_RUN}"
    text = "\n".join((head, *(f"{one.rstrip()}\n" for one in (*first_rules, script.text))))
    return Encapsulated(work.declared, accessor, replaced, text, series)


def _predicates_called(work: _Work, survey: Survey) -> tuple[list[SeriesStep], list[str]]:
    """The step that calls the functions which others spell out, and its rules, where there is something to do."""
    predicates = tuple(predicates_of(work.declared))
    likely = [one for one in survey.files if any(test.may_be_spelt_out(work.image.read(one)) for test in predicates)]
    if not likely:
        return [], []
    rules = calling(survey.rules, predicates)
    work.apply(rules, survey, likely)
    changes = work.image.commit()
    if not changes:
        return [], []
    return [SeriesStep(_predicates_message(work.declared, predicates, changes, work.image.tree), changes)], [rules.text]


# The accessor follows from the uses.

_SPECIAL = frozenset((MemberRole.ADDRESS, MemberRole.PART, MemberRole.ASSIGNED))
_IN_MEMORY = frozenset((MemberRole.ADDRESS, MemberRole.HANDED))
_CHANGING = frozenset((MemberRole.ASSIGNED, MemberRole.UPDATED))
_PARAMETER = re.compile(rb"(?<![\w>.])([A-Za-z_]\w*)\s*->\s*\Z")


def _accessor(declared: DeclaredMember, name: str, own: Sequence[UseSite]) -> MemberAccessor:
    """The accessor that serves most uses; its parameter is what most users call the record."""
    form = _form(declared, own)
    generic = form is not Form.VALUE and any(one.is_constant for one in own)
    holders = Counter(match[1].decode() for one in own if (match := _PARAMETER.search(one.mention.ahead)))
    usual = next((holder for holder, _ in holders.most_common(1)), declared.name)
    return MemberAccessor(name, form, usual if usual != declared.name else declared.record.name[:1], generic)


def _form(declared: DeclaredMember, own: Sequence[UseSite]) -> Form:
    if declared.shape is Shape.ARRAY:
        return Form.ELEMENTS
    if declared.shape is Shape.RECORD or any(MemberRole.PART in one.roles for one in own):
        return Form.ADDRESS
    in_memory, changing = (sum(bool(one.roles & group) for one in own) for group in (_IN_MEMORY, _CHANGING))
    is_value = declared.shape is Shape.BIT_FIELD or len(own) - in_memory - changing > in_memory
    return Form.VALUE if is_value else Form.ADDRESS


def _define(work: _Work, accessor: MemberAccessor) -> None:
    """Put the accessor behind the record, wherever that is now."""
    source = work.image.read(work.declared.file)
    start = work.declared.record.start
    near = min(records_named(source, work.declared.record.name), key=lambda record: abs(record.start - start))
    behind = position_behind(source, near)
    lines = definition(accessor, work.declared, source[behind:])
    work.image.put(work.declared.file, source[:behind] + lines + source[behind:])


# The places that keep naming the member, each with what stands in the way of the accessor.


def _left(work: _Work, survey: Survey, accessor: MemberAccessor) -> list[Refusal]:
    """Places that a person has to look at, in the order of files and lines."""
    now = (one for file in work.files for one in mentions_in(file, work.image.read(file), work.declared.name))
    macros = {(one.file, one.macro) for one in now}
    found: list[tuple[Mention, Refusal]] = []
    for use in survey.own:
        role = next((role for role in UNSERVED[accessor.form] if role in use.roles), None)
        found += [(use.mention, _staying(accessor, use.mention, role))] if role else []
    # Coccinelle changes some definitions of macros.
    found += [
        (one, refusal)
        for one, refusal, _ in unresolved(survey, work.outer, work.image)
        if not one.macro or (one.file, one.macro) in macros
    ]
    return [refusal for _, refusal in sorted(found, key=lambda pair: (pair[0].file, pair[0].offset))]


def _staying(accessor: MemberAccessor, mention: Mention, role: MemberRole) -> Refusal:
    """Why a use of the member itself keeps naming it."""
    if role is MemberRole.ASSIGNED:
        lift = f"write *{accessor.name}(…) = … unless the object is being initialised"
        lift = lift if accessor.form is Form.ADDRESS else ""
        return Refusal(RefusalCode.WHOLE_ASSIGNMENT, mention.place, "the whole member is assigned", lift)
    what = "is changed" if role is MemberRole.UPDATED else "itself is needed"
    reason = f"the member {what}, and {accessor.name}() gives its {accessor.form}"
    return Refusal(RefusalCode.NEEDS_OBJECT, mention.place, reason, "change it by hand")


def _missed(work: _Work, survey: Survey, replaced: Sequence[UseSite]) -> Iterator[Refusal]:
    """Files in which more places name the member than there should be."""
    before = Counter(one.file for one in survey.mentions)
    for file, count in Counter(one.mention.file for one in replaced).items():
        left = sum(1 for _ in mentions_in(file, work.image.read(file), work.declared.name))
        if (more := left - (before[file] - count)) > 0:
            reason = f"{more} of the {count} places that Coccinelle recognized in this file were not replaced"
            yield Refusal(RefusalCode.NOT_PARSED, f"{file}:1", reason, "change them by hand")


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
    places: Sequence[UseSite],
    refusals: Sequence[Refusal],
    tree: Path,
) -> str:
    """The message of the step that brings in the accessor."""
    files = {place.mention.file for place in places}
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
    units = never_compiled(made.series, checks)
    left = paragraph(f"Not compiled by themselves under what was tried: {', '.join(units)}.") if units else ""
    details = paragraphs(checks, made.declared.title)
    series = confirmed_series(made.series, checks, (paragraph(summary(checks)), left), details)
    return replace(made, series=series, broken=tuple(broken(checks)))
