# SPDX-License-Identifier: GPL-2.0-or-later
"""From a pointer to a separately allocated object to a series that makes the object a member of the record.

First everything that is known of the pointer is gathered; nothing is changed where something stands in the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil
from pathlib import Path

import tree_sitter

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.base.text import listed, paragraph
from linesmith.analyzer.model import CompiledSize, ConfigurationCheck, PatchSeries, Refusal, RefusalCode, SeriesStep
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.classify import use_at
from linesmith.patches.inline.find import reliance, unfit, unowned
from linesmith.patches.inline.lifetimes import (
    Caches,
    Lifetimes,
    copies,
    lifetimes,
    misaligned,
    object_caches,
    released_otherwise,
)
from linesmith.patches.inline.pointer import (
    PointerMember,
    commented_start,
    pointer_member,
    semantic_patch,
    with_object,
    without_emptied,
)
from linesmith.patches.inline.uses import RELEASES, PointerUse, Role
from linesmith.patches.matrix.choice import CheckedChange
from linesmith.patches.matrix.evidence import paragraphs, summary, unchecked
from linesmith.patches.source.declaration import Declared, include_path, reached
from linesmith.patches.source.macros import without_comments
from linesmith.patches.source.records import RecordSpan, declaration_end, records_named
from linesmith.patches.treewide.image import TreeImage, tree_image
from linesmith.patches.treewide.mentions import (
    declared_in,
    declared_with,
    files_naming,
    mentions_in,
    other_programs,
    titles_of,
    unread_files,
)
from linesmith.patches.treewide.rules import MemberRules
from linesmith.patches.treewide.series import broken, confirmed_series, from_first_to_last, message, never_compiled
from linesmith.patches.treewide.spatch import SemanticPatch, include_folders, spatch
from linesmith.patches.treewide.survey import Survey, surveyed, unresolved
from linesmith.patches.treewide.syntax import callee, enclosing, member_expression, operator_of, outermost, parsed


def target_record(pointer: PointerMember, image: TreeImage, progress: Progress) -> Declared:
    """Where the type of the object is declared: in the file of the record, in what that includes, or elsewhere.

    Raises ``EditRefused`` when several declarations are left, ``DeclarationNotFound`` when there is none.
    """
    file, apart = pointer.outer.file, other_programs(image.tree)
    naming = files_naming(image.tree, (pointer.record,), progress)[pointer.record]
    near = {file, *included(image, file)}
    for distance in range(3):
        group = [one for one in naming if not one.startswith(apart) and (one != file) + (one not in near) == distance]
        found = declared_in(image.tree, group, pointer.record, naming)
        if bodies := [one for one in found if one.record.kind == "struct"]:
            return _only(bodies, pointer)
    raise DeclarationNotFound(f"{image.tree} has no body of {pointer.target}, which `{pointer.name}` points to")


def included(image: TreeImage, file: str) -> tuple[str, ...]:
    """The files that ``file`` includes, directly or not, as far as they are found without knowing the configuration."""
    follow = include_path(include_folders(image.tree, file), image.read, image.has)
    return tuple(sorted(reached((file,), follow) - {file}))


def _only(declared: list[Declared], pointer: PointerMember) -> Declared:
    """The one that has members; where a configuration goes without the object its type is often empty."""
    filled = [one for one in declared if b";" in without_comments(one.source)[one.record.opening : one.record.closing]]
    if len(filled) == 1:
        return filled[0]
    places = ", ".join(one.place for one in declared[:4])
    reason = f"{pointer.target} is declared {len(declared)} times ({places})"
    raise EditRefused(Refusal(RefusalCode.AMBIGUOUS, declared[0].place, reason, "leave one declaration only"))


# What aligns a member to a cache line in the kernel.
_KERNEL_ALIGNMENT = "____cacheline_aligned_in_smp"


@dataclass(frozen=True, slots=True)
class Study:
    """The pointer, what it leads to, who uses it, and what follows from that.

    ``survey`` has every place that names the pointer, ``rules`` is the semantic patch. ``attribute`` aligns the
    member; it is empty where the record's own alignment cannot follow. ``standing`` stand in the way, ``sites`` are
    places that a person should look at.
    """

    pointer: PointerMember
    target: Declared
    survey: Survey
    uses: tuple[PointerUse, ...]
    caches: Caches
    rules: str
    attribute: str
    standing: tuple[Refusal, ...]
    sites: tuple[Refusal, ...]


def study(record: str, member: str, image: TreeImage, progress: Progress) -> Study:
    """Look at the tree; raises what ``inlined`` does."""
    tree, apart = image.tree, other_programs(image.tree)
    naming = files_naming(tree, (member, record), progress)
    outer, copied = declared_with(tree, record, member, naming)
    if outer.record.kind != "struct":
        raise EditRefused(Refusal(RefusalCode.NO_STRUCT, outer.place, f"{outer.record.title} is not a struct"))
    pointer = pointer_member(outer, member)
    target = target_record(pointer, image, progress)
    holders = titles_of(outer, tree, naming[record])
    near = dict.fromkeys((outer.file, target.file, *naming[member]))
    targets = tuple(dict.fromkeys((pointer.target, *titles_of(target, tree, near))))
    pointer = replace(pointer, holders=holders, targets=targets)
    words = [one.split()[-1] for one in holders]
    named = naming if words == [record] else files_naming(tree, words, progress)
    sources = {file: image.read(file) for word in words for file in named[word] if not file.startswith(apart)}
    files = [file for file in naming[member] if not file.startswith(apart)]
    survey = surveyed(outer, MemberRules(member, holders), files, (), image, progress)
    by_file = groupby((one.mention for one in survey.own), lambda one: one.file)
    roots = ((file, parsed(image.read(file)), list(group)) for file, group in by_file)
    uses = tuple(use_at(root, file, one, pointer.targets) for file, root, group in roots for one in group)
    seen = lifetimes(pointer, uses, sources, image, progress)
    standing, sites = _judged(pointer, target, uses, seen, image)
    unsure = [(refusal, certain) for _, refusal, certain in unresolved(survey, outer, image)]
    by_position, relying = reliance(pointer, sources)
    caches = object_caches(uses, image, progress)
    # A compiler relies on an alignment that is promised, and a program's records may begin anywhere.
    attribute = _KERNEL_ALIGNMENT if is_kernel(tree) else ""
    aside = misaligned(pointer, sources) if attribute else ()
    prevents = (*standing, *(one for one, certain in unsure if certain), *caches.standing, *by_position)
    to_look_at = (*copied, *aside, *(one for one, certain in unsure if not certain), *relying, *caches.left, *sites)
    rules = semantic_patch(survey.rules, uses, caches.gone)
    return Study(pointer, target, survey, uses, caches, rules, attribute, prevents, (*to_look_at, *unread_files(tree)))


def _judged(
    pointer: PointerMember, target: Declared, uses: Sequence[PointerUse], seen: Lifetimes, image: TreeImage
) -> tuple[tuple[Refusal, ...], tuple[Refusal, ...]]:
    """What stands in the way by the types and the uses, and what these leave to look at."""
    refused = (use.refusal for use in uses if use.refusal is not None)
    of_types = (*_incomplete(pointer, target, image), *unfit(pointer, target))
    standing = (*of_types, *refused, *unowned(pointer, uses), *released_otherwise(pointer, seen))
    return standing, (*copies(pointer, seen), *_certain(uses))


def _is_complete(pointer: PointerMember, target: Declared, image: TreeImage) -> bool:
    """Whether the type is complete where the record is declared."""
    outer = pointer.outer
    before = target.record.closing < outer.record.start
    return before if target.file == outer.file else target.file in included(image, outer.file)


def _incomplete(pointer: PointerMember, target: Declared, image: TreeImage) -> Iterator[Refusal]:
    """That the type cannot be moved in front of the record: those who have it might not have the record's file."""
    outer = pointer.outer
    movable = target.file.endswith(".h") and outer.file in included(image, target.file)
    if not (_is_complete(pointer, target, image) or target.file == outer.file or movable):
        reason = f"{target.record.title} is not complete where {outer.record.title} is declared"
        lift = f"move its declaration in front of {outer.place} first, or include the header that has it"
        yield Refusal(RefusalCode.TYPE_ORDER, target.place, reason, lift)


def _certain(uses: Sequence[PointerUse]) -> Iterator[Refusal]:
    """Functions that test an allocation which is gone."""
    checks = (use for use in uses if use.role is Role.ALLOCATION_CHECK)
    for use in {(one.file, one.function): one for one in checks}.values():
        reason = f"{use.function}() can no longer fail to allocate the object"
        yield Refusal(RefusalCode.ALWAYS_SUCCEEDS, use.place, reason, "remove its error handling")


# The change.


@dataclass(frozen=True, slots=True)
class Inlined:
    """What became of the request; ``series`` has no steps when something stands in the way from the beginning.

    ``missed`` are places that the semantic patch should have changed and did not.
    """

    study: Study
    series: PatchSeries
    missed: tuple[Refusal, ...] = ()

    @property
    def standing(self) -> tuple[Refusal, ...]:
        """All that stands in the way."""
        return (*self.study.standing, *self.missed)


def inlined(record: str, member: str, tree: Path, progress: Progress) -> Inlined:
    """The series that makes what ``member`` of ``record`` points to a member, and what a person must look at.

    Nothing of the tree is written. Raises ``DeclarationNotFound``, ``EditRefused`` where the declaration itself stands
    in the way, ``ToolMissing`` without Coccinelle.
    """
    with tree_image(tree) as image:
        known = study(record, member, image, progress)
        if known.standing:
            return Inlined(known, PatchSeries(()))
        first = () if _is_complete(known.pointer, known.target, image) else (_moved(known, image),)
        step, missed = _replaced(known, image, progress)
        return Inlined(known, PatchSeries((*first, step), refusals=known.sites), missed)


def _moved(known: Study, image: TreeImage) -> SeriesStep:
    """The step that moves the type in front of the record; whether that compiles is seen with the rest."""
    outer, target = known.pointer.outer, known.target
    source, titles = target.source, (target.record.title, outer.record.title)
    start = commented_start(source, target.record.start)
    end = source.find(b"\n", declaration_end(without_comments(source), target.record.closing)) + 1 or len(source)
    text = source[start:end]
    gap = len(source[end:]) - len(source[end:].lstrip(b"\n"))
    image.put(target.file, source[:start] + source[end + gap :])
    source, record = _now(outer, image)
    place = commented_start(source, record.start)
    image.put(outer.file, source[:place] + text + b"\n" + source[place:])
    why = f"{titles[1]} is going to have a {titles[0]} as a member, which must be complete there. No functional change."
    text_of_step = message(image.tree, outer.file, f"move {titles[0]} in front of {titles[1]}", (why,))
    return SeriesStep(text_of_step, image.commit())


def _now(outer: Declared, image: TreeImage) -> tuple[bytes, RecordSpan]:
    """The file of the record as it is now, and where the record stands in it."""
    source = image.read(outer.file)
    number = [one.opening for one in records_named(outer.source, outer.record.name)].index(outer.record.opening)
    return source, records_named(source, outer.record.name)[number]


def _replaced(known: Study, image: TreeImage, progress: Progress) -> tuple[SeriesStep, tuple[Refusal, ...]]:
    """The step that takes the pointer away, and the places where it is still used as one."""
    outer = known.pointer.outer
    files = tuple(dict.fromkeys((*known.survey.files, *known.caches.files)))
    done = spatch(SemanticPatch(known.rules), image, files, progress)
    for file in files:
        image.put(file, without_emptied(image.original(file), image.read(file)))
    now = Declared(outer.file, *_now(outer, image), outer.match)
    image.put(outer.file, with_object(pointer_member(now, known.pointer.name), known.attribute))
    step = SeriesStep(_inline_message(known, image.tree), image.commit())
    return step, (*done.failed, *left_behind(known.pointer, known.uses, image))


def _inline_message(known: Study, tree: Path) -> str:
    """The message of the step that makes the object a member."""
    outer, caches = known.pointer.outer, known.caches
    title = outer.record.title
    where = ", at the beginning of a cache line so that what uses it does not disturb the other members"
    own = (
        f"Each {title} has a {known.pointer.target} of its own, allocated by itself: every use goes through a pointer. "
        f"Make it a member{where if known.attribute else ''}."
    )
    counts = Counter(use.role for use in known.uses)
    done = f"{counts[Role.MEMBER] + counts[Role.VALUE] + counts[Role.OBJECT]} uses changed"
    gone = f"{counts[Role.ALLOCATION]} allocation(s) and {counts[Role.RELEASE]} release(s) gone"
    cache = f", with the slab cache {', '.join(caches.gone)}" if caches.gone else ""
    subject = f"make {known.pointer.name} a member of {title}"
    return message(tree, outer.file, subject, (own, f"Made with Coccinelle: {done}, {gone}{cache}."))


# Uses of the pointer that are still there when the semantic patch has run.

# What an object cannot do.
_OF_POINTERS = frozenset((Role.OBJECT, Role.ALLOCATION, Role.RELEASE, Role.CLEARED))


def left_behind(pointer: PointerMember, uses: Sequence[PointerUse], image: TreeImage) -> Iterator[Refusal]:
    """The places that the semantic patch should have changed and did not; it skips functions that it cannot parse."""
    for file in dict.fromkeys(use.file for use in uses):
        source, lines = image.read(file), image.original(file).splitlines()
        own = [use for use in uses if use.file == file]
        known = {(use.function, use.holder) for use in own}
        root = parsed(source)
        for one in mentions_in(file, source, pointer.name):
            use = use_at(root, file, one, pointer.targets)
            node = member_expression(root, one.offset)
            if (use.function, use.holder) in known and (use.role in _OF_POINTERS or _is_pointer(node)):
                reason = f"spatch left the pointer here (`{one.text[:60]}`), perhaps in a function that it cannot parse"
                # Where the line stands in the tree as it is.
                line = one.text.encode("utf-8", "replace")
                same = (
                    old.place for old in own if old.function == use.function and lines[old.line - 1].strip() == line
                )
                yield Refusal(RefusalCode.NOT_PARSED, next(same, one.place), reason, "change it by hand")


def _is_pointer(node: tree_sitter.Node | None) -> bool:
    """Whether an arrow stands behind the member, or it is passed to a function that frees."""
    if node is None:
        return False
    above = outermost(node).parent
    if above is not None and above.type == "field_expression" and operator_of(above) == "->":
        return True
    call = enclosing(node, "call_expression", "field_expression", "expression_statement")
    return call is not None and call.type == "call_expression" and callee(call) in RELEASES


# What compilers say of the series: whether it builds, and what the record costs then.

_SHOWN = 6
_MANY = 1000


def change_of(inlined: Inlined) -> CheckedChange:
    """All that the patch changes."""
    files = from_first_to_last(inlined.series)
    outer = inlined.study.pointer.outer
    others = (inlined.study.target.record.name,)
    unit = next((one.file for one in files if one.file.endswith(".c")), None)
    return CheckedChange(files, outer.record.name, outer.record.title, outer.file, unit, others=others)


def confirmed(inlined: Inlined, checks: Sequence[ConfigurationCheck]) -> Inlined:
    """The series with what was compiled in its last message; what does not compile stands in the way.

    Raises ``VerificationFailed`` where nothing could be compiled.
    """
    missed = tuple(broken(checks))
    if missed or not inlined.series.steps:
        return replace(inlined, missed=(*inlined.missed, *missed))
    own, title = inlined.study.target.record.name, inlined.study.pointer.outer.record.title
    # The cost under a single configuration, and that of the object, are in the paragraph above.
    several = len(checks) > 1
    rest = [replace(one, records=tuple(r for r in one.records if several and r.record != own)) for one in checks]
    left = never_compiled(inlined.series, checks)
    units = f"; {listed(left, _SHOWN)}, which none of these compile" if left else ""
    nobody = paragraph(f"Not checked: {unchecked(checks)}{units}. No benchmark has been run.")
    blocks = (_cost(inlined, checks), paragraph(summary(rest)), nobody)
    return replace(inlined, series=confirmed_series(inlined.series, checks, blocks, paragraphs(rest, title)))


def _cost(inlined: Inlined, checks: Sequence[ConfigurationCheck]) -> str:
    """What one record and one object take, before and after, in the first configuration that measured the record."""
    pointer = inlined.study.pointer
    for check in checks:
        measured = {record.record: record for record in check.records}
        outer, object_ = measured.get(pointer.outer.record.name), measured.get(inlined.study.target.record.name)
        if outer is None or outer.before is None or outer.after is None:
            continue
        inner = (object_.before or object_.after) if object_ else None
        if inner is None:
            return ""
        title, before, after = pointer.outer.record.title, outer.before, outer.after
        pages = _pages((before, inner)), _pages((after,))
        slabs = f" In slabs {_MANY} of them take {pages[0]} pages now and {pages[1]} then." if all(pages) else ""
        return paragraph(
            f"A {title} takes {before.size} bytes and a {pointer.target} {inner.size} ({check.title}); with the object "
            f"in it a {title} takes {after.size}, aligned to {after.alignment}.{slabs}"
        )
    return ""


def _pages(sizes: Sequence[CompiledSize]) -> int:
    """Pages of whole slabs for a thousand objects of each size; 0 where the slabs of one are not known."""
    if not sizes or any(not size.objects for size in sizes):
        return 0
    return sum(ceil(_MANY / size.objects) * size.pages for size in sizes)
