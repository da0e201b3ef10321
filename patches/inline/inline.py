# SPDX-License-Identifier: GPL-2.0-or-later
"""From a pointer to a separately allocated object to a series that makes the object a member of the record.

First everything that is known of the pointer is gathered; nothing is changed where something stands in the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from pathlib import Path

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.base.text import listed, paragraph
from linesmith.analyzer.model import CompiledSize, ConfigurationCheck, PatchSeries, Refusal, RefusalCode, SeriesStep
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.lifetimes import lifetimes, misaligned, object_caches, reliance, unfit, unowned
from linesmith.patches.inline.pointer import (
    PointerMember,
    PointerUse,
    Role,
    commented_start,
    pointer_member,
    semantic_patch,
    with_object,
    without_emptied,
)
from linesmith.patches.inline.uses import use_at
from linesmith.patches.matrix.choice import CheckedChange
from linesmith.patches.matrix.evidence import paragraphs, summary, unchecked
from linesmith.patches.source.declaration import Declared, include_path, reached
from linesmith.patches.source.macros import without_comments
from linesmith.patches.source.records import RecordSpan, declaration_end, records_named
from linesmith.patches.treewide.image import TreeImage, tree_image
from linesmith.patches.treewide.series import broken, confirmed_series, from_first_to_last, message, never_compiled
from linesmith.patches.treewide.spatch import SemanticPatch, include_folders, spatch
from linesmith.patches.treewide.survey import (
    MemberSearch,
    declared_in,
    files_naming,
    mentions_in,
    other_programs,
    read_source,
    searched,
    surveyed,
    titles_of,
    unresolved,
)
from linesmith.patches.treewide.syntax import parsed


def target_record(pointer: PointerMember, image: TreeImage, progress: Progress) -> Declared:
    """Where the type of the object is declared: in the file of the record, in what that includes, or elsewhere.

    Raises ``EditRefused`` when several declarations are left, ``DeclarationNotFound`` when there is none.
    """
    file, apart = pointer.outer.file, other_programs(image.tree, pointer.outer.file)
    naming = files_naming(image.tree, (pointer.record,), progress)[pointer.record]
    near = {file, *included(image, file)}
    for distance in range(3):
        group = [one for one in naming if not one.startswith(apart) and (one != file) + (one not in near) == distance]
        found = declared_in(image.tree, group, pointer.record, naming)
        if bodies := [one for one in found if one.record.kind == "struct"]:
            return _only(bodies, pointer)
    raise DeclarationNotFound(f"{image.tree} has no body of {pointer.target}, which `{pointer.name}` points to")


def included(image: TreeImage, file: str) -> set[str]:
    """The files that ``file`` includes, directly or not, as far as they are found without knowing the configuration."""
    follow = include_path(include_folders(image.tree, file), image.read, image.has)
    return reached((file,), follow) - {file}


def _only(declared: list[Declared], pointer: PointerMember) -> Declared:
    """The one that has members; where a configuration goes without the object its type is often empty."""
    filled = [one for one in declared if b";" in without_comments(one.source)[one.record.opening : one.record.closing]]
    if len(filled) == 1:
        return filled[0]
    places = ", ".join(one.place for one in declared[:4])
    reason = f"{pointer.target} is declared {len(declared)} times ({places})"
    raise EditRefused(Refusal(RefusalCode.AMBIGUOUS, declared[0].place, reason, "leave one declaration only"))


# What aligns a member to a cache line in the kernel. In a program a compiler relies on an alignment that is promised,
# and records may begin anywhere.
_KERNEL_ALIGNMENT = "____cacheline_aligned_in_smp"


@dataclass(frozen=True, slots=True)
class Inlined:
    """What became of the request; ``series`` has no steps when something stands in the way from the beginning.

    ``rules`` is the semantic patch for ``files``; the slab ``caches`` go. ``standing`` stand in the way, ``sites`` are
    places that a person should look at.
    """

    pointer: PointerMember
    target: Declared
    uses: tuple[PointerUse, ...]
    caches: tuple[str, ...]
    files: tuple[str, ...]
    rules: str
    standing: tuple[Refusal, ...]
    sites: tuple[Refusal, ...]
    series: PatchSeries


def inlined(record: str, member: str, tree: Path, progress: Progress) -> Inlined:
    """The series that makes what ``member`` of ``record`` points to a member, and what a person must look at.

    Nothing of the tree is written. Raises ``DeclarationNotFound``, ``EditRefused`` where the declaration itself stands
    in the way, ``ToolMissing`` without Coccinelle.
    """
    with tree_image(tree) as image:
        known = _studied(searched(image, record, member, progress))
        if known.standing:
            return known
        first = () if _is_complete(known.pointer, known.target, image) else (_moved(known, image),)
        failed = spatch(SemanticPatch(known.rules), image, known.files, progress).failed
        for file in known.files:
            image.put(file, without_emptied(read_source(tree, file), image.read(file)))
        outer = known.pointer.outer
        now = Declared(outer.file, *_now(outer, image), outer.match)
        attribute = _KERNEL_ALIGNMENT if is_kernel(tree) else ""
        image.put(outer.file, with_object(pointer_member(now, member), attribute))
        step = SeriesStep(_inline_message(known, image.tree, attribute), image.commit())
        missed = (*failed, *left_behind(known, image))
        return replace(known, standing=missed, series=PatchSeries((*first, step), refusals=known.sites))


def _studied(search: MemberSearch) -> Inlined:
    """What the pointer leads to, who uses it, and what follows from that."""
    image, outer, progress, naming = search.image, search.outer, search.progress, search.naming
    if outer.record.kind != "struct":
        raise EditRefused(Refusal(RefusalCode.NO_STRUCT, outer.place, f"{outer.record.title} is not a struct"))
    pointer = pointer_member(outer, search.rules.member)
    target = target_record(pointer, image, progress)
    near = titles_of(target, image.tree, dict.fromkeys((outer.file, target.file, *naming[pointer.name])))
    targets = tuple(dict.fromkeys((pointer.target, *near)))
    pointer = replace(pointer, holders=search.rules.titles, targets=targets)
    words = [one.split()[-1] for one in pointer.holders]
    named = naming if {*words} <= naming.keys() else files_naming(image.tree, words, progress)
    apart = other_programs(image.tree, outer.file)
    sources = {file: image.read(file) for word in words for file in named[word] if not file.startswith(apart)}
    survey = surveyed(search)
    root_of = cache(lambda file: parsed(image.read(file)))
    uses = tuple(use_at(root_of(one.mention.file), one.mention, targets) for one in survey.own)
    copied, released = lifetimes(pointer, uses, sources, image, progress)
    unsure = [(refusal, certain) for _, refusal, certain in unresolved(survey, search)]
    by_position, relying = reliance(pointer, sources)
    gone, with_caches, caches_left, promised = object_caches(uses, image, progress)
    standing = (
        *_incomplete(pointer, target, image),
        *unfit(pointer, target),
        *(use.refusal for use in uses if use.refusal is not None),
        *unowned(pointer, uses),
        *released,
        *(one for one, certain in unsure if certain),
        *promised,
        *by_position,
    )
    aside = misaligned(pointer, sources) if is_kernel(image.tree) else ()
    doubtful = (one for one, certain in unsure if not certain)
    sites = (*search.left, *aside, *doubtful, *relying, *caches_left, *copied, *_certain(uses))
    files = tuple(dict.fromkeys((*survey.files, *with_caches)))
    rules = semantic_patch(survey.rules, uses, gone)
    return Inlined(pointer, target, uses, gone, files, rules, standing, sites, PatchSeries(()))


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


def _moved(known: Inlined, image: TreeImage) -> SeriesStep:
    """The step that moves the type in front of the record; whether that compiles is seen with the rest."""
    outer, target = known.pointer.outer, known.target
    source, titles = target.source, (target.record.title, outer.record.title)
    start = commented_start(source, target.record.start)
    end = source.find(b"\n", declaration_end(without_comments(source), target.record.closing)) + 1 or len(source)
    image.put(target.file, source[:start] + source[end:].lstrip(b"\n"))
    text, (source, record) = source[start:end], _now(outer, image)
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


def _inline_message(known: Inlined, tree: Path, attribute: str) -> str:
    """The message of the step that makes the object a member."""
    outer, title = known.pointer.outer, known.pointer.outer.record.title
    where = ", at the beginning of a cache line so that what uses it does not disturb the other members"
    own = (
        f"Each {title} has a {known.pointer.target} of its own, allocated by itself: every use goes through a pointer. "
        f"Make it a member{where if attribute else ''}."
    )
    counts = Counter(use.role for use in known.uses)
    done = f"{counts[Role.MEMBER] + counts[Role.VALUE] + counts[Role.OBJECT]} uses changed"
    gone = f"{counts[Role.ALLOCATION]} allocation(s) and {counts[Role.RELEASE]} release(s) gone"
    with_cache = f", with the slab cache {', '.join(known.caches)}" if known.caches else ""
    subject = f"make {known.pointer.name} a member of {title}"
    return message(tree, outer.file, subject, (own, f"Made with Coccinelle: {done}, {gone}{with_cache}."))


# What an object cannot do.
_OF_POINTERS = frozenset((Role.MEMBER, Role.OBJECT, Role.ALLOCATION, Role.RELEASE, Role.CLEARED))


def left_behind(known: Inlined, image: TreeImage) -> Iterator[Refusal]:
    """The places that the semantic patch should have changed and did not; it skips functions that it cannot parse."""
    for file in dict.fromkeys(use.file for use in known.uses):
        source, lines = image.read(file), read_source(image.tree, file).splitlines()
        own = [use for use in known.uses if use.file == file]
        root = parsed(source)
        for one in mentions_in(file, source, known.pointer.name):
            use = use_at(root, one, known.pointer.targets)
            if use.role in _OF_POINTERS and (use.function, use.holder) in {(old.function, old.holder) for old in own}:
                # Where the line stands in the tree as it is.
                line = one.text.encode("utf-8", "replace")
                near = (old for old in own if old.function == use.function and lines[old.line - 1].strip() == line)
                reason = f"spatch left the pointer here (`{one.text[:60]}`), perhaps in a function that it cannot parse"
                place = next((old.place for old in near), one.place)
                yield Refusal(RefusalCode.NOT_PARSED, place, reason, "change it by hand")


# What compilers say of the series: whether it builds, and what the record costs then.

_SHOWN = 6
_MANY = 1000


def change_of(made: Inlined) -> CheckedChange:
    """All that the patch changes."""
    files = from_first_to_last(made.series)
    outer = made.pointer.outer
    unit = next((one.file for one in files if one.file.endswith(".c")), None)
    others = (made.target.record.name,)
    return CheckedChange(files, outer.record.name, outer.record.title, outer.file, unit, others=others)


def confirmed(made: Inlined, checks: Sequence[ConfigurationCheck]) -> Inlined:
    """The series with what was compiled in its last message; what does not compile stands in the way.

    Raises ``VerificationFailed`` where nothing could be compiled.
    """
    standing = tuple(broken(checks))
    if standing:
        return replace(made, standing=standing)
    own, title = made.target.record.name, made.pointer.outer.record.title
    # The cost under a single configuration, and that of the object, are in the paragraph above.
    several = len(checks) > 1
    rest = [replace(one, records=tuple(r for r in one.records if several and r.record != own)) for one in checks]
    left = never_compiled(made.series, checks)
    units = f"; {listed(left, _SHOWN)}, which none of these compile" if left else ""
    nobody = paragraph(f"Not checked: {unchecked(checks)}{units}. No benchmark has been run.")
    blocks = (_cost(made, checks), paragraph(summary(rest)), nobody)
    return replace(made, series=confirmed_series(made.series, checks, blocks, paragraphs(rest, title)))


def _cost(made: Inlined, checks: Sequence[ConfigurationCheck]) -> str:
    """What one record and one object take, before and after, in the first configuration that measured the record."""
    title, target = made.pointer.outer.record.title, made.pointer.target
    for check in checks:
        measured = {record.record: record for record in check.records}
        outer, object_ = (measured.get(one.record.name) for one in (made.pointer.outer, made.target))
        if outer is None or outer.before is None or outer.after is None:
            continue
        inner = object_ and (object_.before or object_.after)
        if not inner:
            return ""
        before, after = outer.before, outer.after
        pages = _pages(before, inner), _pages(after)
        slabs = f" In slabs {_MANY} of them take {pages[0]} pages now and {pages[1]} then." if all(pages) else ""
        return paragraph(
            f"A {title} takes {before.size} bytes and a {target} {inner.size} ({check.title}); with the object "
            f"in it a {title} takes {after.size}, aligned to {after.alignment}.{slabs}"
        )
    return ""


def _pages(*sizes: CompiledSize) -> int:
    """Pages of whole slabs for a thousand objects of each size; 0 where the slabs of one are not known."""
    known = all(size.objects for size in sizes)
    return sum(ceil(_MANY / size.objects) * size.pages for size in sizes) if known else 0
