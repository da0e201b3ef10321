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
from linesmith.analyzer.model import ConfigurationCheck, PatchSeries, Refusal, RefusalCode, SeriesStep
from linesmith.patches.build.preparation import Progress
from linesmith.patches.encapsulation.member import (
    UNSERVED,
    DeclaredMember,
    Form,
    MemberAccessor,
    MemberRole,
    calling,
    census,
    declared_member,
    definition,
    position_behind,
    predicates_of,
    replacing,
)
from linesmith.patches.matrix.choice import CheckedChange
from linesmith.patches.matrix.evidence import paragraphs, summary
from linesmith.patches.source.records import records_named
from linesmith.patches.treewide.image import tree_image
from linesmith.patches.treewide.series import broken, confirmed_series, from_first_to_last, message, never_compiled
from linesmith.patches.treewide.spatch import SemanticPatch, Types, spatch
from linesmith.patches.treewide.survey import (
    MemberSearch,
    Mention,
    Survey,
    UseSite,
    mentions_in,
    read_source,
    searched,
    source_files,
    surveyed,
    unresolved,
)


@dataclass(frozen=True, slots=True)
class Encapsulated:
    """What was done: the ``places`` whose access was replaced, by the ``rules``, in the steps of ``series``.

    ``rules`` is a semantic patch that a person can run; ``refusals`` of the series are the places that stay.
    ``standing`` are units that do not compile any more.
    """

    declared: DeclaredMember
    accessor: MemberAccessor
    places: tuple[UseSite, ...]
    rules: str
    series: PatchSeries
    standing: tuple[Refusal, ...] = ()


_RUN = """\
// spatch --sp-file RULES --in-place --recursive-includes
//   --include-headers-for-types --disable-worth-trying-opt -I include FILES
"""


def encapsulate(record: str, member: str, accessor: str, tree: Path, progress: Progress) -> Encapsulated:
    """The series after which ``member`` of the record with this tag or typedef is reached through ``accessor``.

    The tree is only read. Raises ``TreeError``, ``DeclarationNotFound``, ``EditRefused``, ``ToolMissing``.
    """
    with tree_image(tree) as image:
        search = searched(image, record, member, progress, (accessor,))
        _refuse_taken(accessor, search)
        declared = declared_member(search.outer, member)
        macros = _measuring(declared, search)
        looked_for = census(search.rules, macros)
        survey = surveyed(search, looked_for)
        if not survey.own:
            nothing = f"no access to {member} of a {declared.title} was found"
            raise NothingToSuggest(f"{declared.place}: {nothing}, so there is nothing to replace")
        first, first_rules = _predicates_called(declared, survey, search)
        survey = surveyed(search, looked_for) if first else survey
        made = _accessor(declared, accessor, survey.own)
        # Empty text where a place only reads the member.
        roles = {role for one in survey.own for role in (one.roles if one.roles & _SPECIAL else one.roles | {""})}
        script = replacing(survey.rules, accessor, made.form, roles, macros)
        failed = _applied(script, survey, survey.files, search)
        replaced = tuple(one for one in survey.own if not one.roles & set(UNSERVED[made.form]))
        refusals = (*_left(survey, made, search), *failed, *_missed(survey, replaced, search), *search.left)
        _define(declared, made, search)
        text = _accessor_message(declared, made, replaced, refusals, image.tree)
        series = PatchSeries((*first, SeriesStep(text, image.commit())), refusals=refusals)
        head = f"// Hides {member} of {declared.title}. To be run by:\n{_RUN}"
        rules = "\n".join((head, *(f"{one.rstrip()}\n" for one in (*first_rules, script.text))))
        return Encapsulated(declared, made, replaced, rules, series)


def _refuse_taken(accessor: str, search: MemberSearch) -> None:
    """Raise where the name is that of a function or macro; variables in functions may be called like the accessor."""
    image = search.image
    for one in (one for file in search.naming[accessor] for one in mentions_in(file, image.read(file), accessor)):
        if not one.is_access and (one.behind.lstrip(b" \t").startswith(b"(") or one.macro == accessor):
            reason = f"{accessor} is a name already"
            raise EditRefused(Refusal(RefusalCode.NAME_TAKEN, one.place, reason, "give another with --accessor"))


_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*\(")
# A name in capitals is a macro's, wherever it is defined.
_CAPITALS = "[A-Z_][A-Z0-9_]*"


def _measuring(declared: DeclaredMember, search: MemberSearch) -> tuple[str, ...]:
    """Patterns of the names of macros that are called near the mentions of an array; none where it is no array.

    They may ask for the size of their argument, which an array has and the address of its elements has not.
    """
    if declared.form is not Form.ELEMENTS:
        return ()
    tree, near = search.image.tree, {name for one in search.mentions() for name in _CALLED.findall(one.statement)}
    pattern = re.compile(rb"#[ \t]*define[ \t]+(" + b"|".join(sorted(near)) + rb")\(")
    sources = (read_source(tree, file) for file in source_files(tree)) if near else ()
    return (_CAPITALS, *sorted({name.decode() for source in sources for name in pattern.findall(source)}))


def _applied(rules: SemanticPatch, survey: Survey, files: Iterable[str], search: MemberSearch) -> list[Refusal]:
    """Change the files; gives those on which Coccinelle gave up."""
    failed: list[Refusal] = []
    for types in Types:
        group = sorted(one for one in files if (one in survey.deep) is (types is Types.HEADERS))
        failed += spatch(rules, search.image, group, search.progress, types).failed if group else ()
    return failed


_LISTED = 3


def _predicates_called(
    declared: DeclaredMember, survey: Survey, search: MemberSearch
) -> tuple[list[SeriesStep], list[str]]:
    """The step that calls the functions which others spell out, and its rules, where there is something to do."""
    image, predicates = search.image, tuple(predicates_of(declared))
    tests = {one["test"].partition("(")[0].strip().encode() for one in predicates}
    likely = [one for one in survey.files if any(test in image.read(one) for test in tests)]
    rules = calling(survey.rules, predicates)
    _applied(rules, survey, likely, search)
    changes = image.commit()
    if not changes:
        return [], []
    after = b"".join(change.after or b"" for change in changes)
    names = [f"{one['name']}()" for one in predicates if one["name"].encode() in after]
    listed = ", ".join(names[:_LISTED])
    text = (
        f"Some users of {declared.name} of {declared.title} spell out what {listed} "
        f"return{'s' * (len(names) == 1)}. Call {'it' if len(names) == 1 else 'them'} instead. No functional change."
    )
    return [SeriesStep(message(image.tree, declared.outer.file, f"use {listed}", (text,)), changes)], [rules.text]


# The accessor follows from the uses.

_SPECIAL = frozenset((MemberRole.ADDRESS, MemberRole.PART, MemberRole.ASSIGNED))
_IN_MEMORY = frozenset((MemberRole.ADDRESS, MemberRole.HANDED))
_CHANGING = frozenset((MemberRole.ASSIGNED, MemberRole.UPDATED))
_PARAMETER = re.compile(rb"(?<![\w>.])([A-Za-z_]\w*)\s*->\s*\Z")


def _accessor(declared: DeclaredMember, name: str, own: Sequence[UseSite]) -> MemberAccessor:
    """The accessor that serves most uses; its parameter is what most users call the record."""
    in_memory, changing = (sum(bool(one.roles & group) for one in own) for group in (_IN_MEMORY, _CHANGING))
    is_read = len(own) - in_memory - changing > in_memory and not any(MemberRole.PART in one.roles for one in own)
    form = declared.form or (Form.VALUE if is_read else Form.ADDRESS)
    generic = form is not Form.VALUE and any(one.is_constant for one in own)
    holders = Counter(match[1].decode() for one in own if (match := _PARAMETER.search(one.mention.ahead)))
    usual = next((holder for holder, _ in holders.most_common(1)), declared.name)
    return MemberAccessor(name, form, usual if usual != declared.name else declared.outer.record.name[:1], generic)


def _define(declared: DeclaredMember, accessor: MemberAccessor, search: MemberSearch) -> None:
    """Put the accessor behind the record, wherever that is now."""
    outer, source = declared.outer, search.image.read(declared.outer.file)
    near = min(records_named(source, outer.record.name), key=lambda record: abs(record.start - outer.record.start))
    behind = position_behind(source, near)
    lines = definition(accessor, declared, source[behind:])
    search.image.put(outer.file, source[:behind] + lines + source[behind:])


# The places that keep naming the member, each with what stands in the way of the accessor.


def _left(survey: Survey, accessor: MemberAccessor, search: MemberSearch) -> list[Refusal]:
    """Places that a person has to look at, in the order of files and lines."""
    macros = {(one.file, one.macro) for one in search.mentions()}
    roles = ((use.mention, [role for role in UNSERVED[accessor.form] if role in use.roles]) for use in survey.own)
    found = [(one, _staying(accessor, one, some[0])) for one, some in roles if some]
    # Coccinelle changes some definitions of macros.
    others = ((one, refusal) for one, refusal, _ in unresolved(survey, search))
    found += (pair for pair in others if not pair[0].macro or (pair[0].file, pair[0].macro) in macros)
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


def _missed(survey: Survey, replaced: Sequence[UseSite], search: MemberSearch) -> Iterator[Refusal]:
    """Files in which more places name the member than there should be."""
    before, now = (Counter(one.file for one in found) for found in (survey.mentions, search.mentions()))
    for file, count in Counter(one.mention.file for one in replaced).items():
        if (more := now[file] - (before[file] - count)) > 0:
            reason = f"{more} of the {count} places that Coccinelle recognized in this file were not replaced"
            yield Refusal(RefusalCode.NOT_PARSED, f"{file}:1", reason, "change them by hand")


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
    return message(tree, declared.outer.file, subject, (why, *stays, "Made with Coccinelle."))


# What compilers say of the series.


def change_of(made: Encapsulated) -> CheckedChange:
    """All that the patch changes; the units in it are compiled first."""
    files = from_first_to_last(made.series)
    units = tuple(one.file for one in files if one.file.endswith(".c"))
    return CheckedChange(files, file=made.declared.outer.file, title=made.declared.title, prefer=units)


def confirmed(made: Encapsulated, checks: Sequence[ConfigurationCheck]) -> Encapsulated:
    """The series with what was compiled in its last message, and what does not compile.

    Raises ``VerificationFailed`` where no object was compiled at all.
    """
    units = never_compiled(made.series, checks)
    left = paragraph(f"Not compiled by themselves under what was tried: {', '.join(units)}.") if units else ""
    details = paragraphs(checks, made.declared.title)
    series = confirmed_series(made.series, checks, (paragraph(summary(checks)), left), details)
    return replace(made, series=series, standing=tuple(broken(checks)))
