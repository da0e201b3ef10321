# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that is known of a pointer before anything is changed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePosixPath

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.model import Layout, Member, RecordKind, Refusal, RefusalCode
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.find import PointerUses, find_uses, pointer_mentions, record_sources, reliance, standing
from linesmith.patches.inline.lifetimes import Caches, copies, lifetimes, misaligned, object_caches, released_otherwise
from linesmith.patches.inline.pointer import PointerMember, conditionals, pointer_member
from linesmith.patches.inline.rules import semantic_patch
from linesmith.patches.inline.uses import Role
from linesmith.patches.source import declaration as c_declaration
from linesmith.patches.source.declaration import Declared, declaration
from linesmith.patches.source.macros import without_comments
from linesmith.patches.source.records import records_named
from linesmith.patches.treewide.mentions import mentions, names_of, tags_of, unread_files
from linesmith.patches.treewide.series import TreeImage
from linesmith.patches.treewide.spatch import include_folders

# Makes the object's type complete in front of the record that is to hold it.

_COMMENT_ABOVE = re.compile(rb"(?:^/\*(?:(?!\*/).)*\*/[ \t]*\r?\n)\Z", re.MULTILINE | re.DOTALL)
# Files that are looked into for what one file includes.
_MOST_FILES = 400


def target_record(pointer: PointerMember, files: Sequence[str], image: TreeImage, progress: Progress) -> Declared:
    """Where the type that the pointer leads to is declared; ``files`` use it.

    Looked for in the file of the record, in what it and ``files`` include, then in the whole tree. Raises
    ``EditRefused`` when several declarations are left, ``DeclarationNotFound`` when there is none.
    """
    outer = pointer.outer
    tags: dict[str, None] = {}
    used = dict.fromkeys(chain.from_iterable((file, *included(image, file)) for file in files))
    for group in ((outer.file,), tuple(included(image, outer.file)), tuple(used)):
        tags.update(dict.fromkeys(tags_of(pointer.record, (image.read(file) for file in group))))
        bodies = [one for file in group for one in _declared_in(image, file, pointer, tuple(tags))]
        if bodies:
            return _only(bodies, pointer)
    own = str(PurePosixPath(outer.file).parent)
    places = dict.fromkeys(one.file for one in mentions(image.tree, pointer.record, progress))
    nearest = sorted((one for one in places if not one.startswith("tools/")), key=lambda one: not one.startswith(own))
    bodies = [one for file in nearest for one in _declared_in(image, file, pointer, tuple(tags))]
    if not bodies:
        raise DeclarationNotFound(f"no body of {pointer.target} is in {image.tree}, which `{pointer.name}` points to")
    return _only(bodies, pointer)


def included(image: TreeImage, file: str) -> Iterator[str]:
    """The files that ``file`` includes, directly or not, as far as they are found without knowing the configuration."""
    waiting, seen = [file], {file}
    while waiting and len(seen) < _MOST_FILES:
        origin = waiting.pop(0)
        for is_quoted, name in c_declaration.included(image.read(origin)):
            folders = (
                *([str(PurePosixPath(origin).parent)] if is_quoted else []),
                *include_folders(image.tree, origin),
            )
            places = (posixpath.normpath(posixpath.join(folder, name)) for folder in folders)
            place = next((one for one in places if not one.startswith(("..", "/")) and image.has(one)), None)
            if place is not None and place not in seen:
                seen.add(place)
                waiting.append(place)
                yield place


def _declared_in(image: TreeImage, file: str, pointer: PointerMember, tags: Sequence[str]) -> Iterator[Declared]:
    source = image.read(file)
    for name in (pointer.record, *tags):
        for record in records_named(source, name):
            if record.kind == "struct" and (record.title == pointer.target or record.typedef or name in tags):
                yield Declared(file, source, record, 1.0)


def _only(declared: list[Declared], pointer: PointerMember) -> Declared:
    """The one that has members; where a configuration goes without the object its type is often empty."""
    filled = [one for one in declared if b";" in without_comments(one.source)[one.record.opening : one.record.closing]]
    if len(filled) == 1:
        return filled[0]
    places = ", ".join(one.place for one in declared[:4])
    reason = f"{pointer.target} is declared {len(declared)} times ({places})"
    raise EditRefused(Refusal(RefusalCode.AMBIGUOUS, declared[0].place, reason, "leave one declaration only"))


def in_order(pointer: PointerMember, target: Declared, image: TreeImage) -> bool:
    """Whether the type is complete where the record is declared."""
    outer = pointer.outer
    if target.file == outer.file:
        return target.record.closing < outer.record.start
    return target.file in set(included(image, outer.file))


def missed_by(pointer: PointerMember, target: Declared, image: TreeImage) -> Iterator[Refusal]:
    """A header that has the type no more when it is moved, and does not include the one that has it."""
    outer = pointer.outer
    if in_order(pointer, target, image) or target.file == outer.file or target.file.endswith(".c"):
        return
    if outer.file not in set(included(image, target.file)):
        reason = f"{target.record.title} moves to {outer.file}, which is not included here"
        lift = "see whether all who include this header find the type"
        yield Refusal(RefusalCode.TYPE_ORDER, target.place, reason, lift)


def moved_ahead(pointer: PointerMember, target: Declared) -> dict[str, bytes]:
    """The files in which the declaration of the type stands right in front of the record.

    Raises ``EditRefused`` where it stands in a conditional that the record does not stand in.
    """
    outer = pointer.outer
    start, end = _block(target)
    if _guards(target.source, start) != _guards(outer.source, outer.record.start):
        reason = f"{target.record.title} is declared within an #if that {outer.record.title} is not in"
        lift = f"move it in front of {outer.place} by hand"
        raise EditRefused(Refusal(RefusalCode.TYPE_ORDER, target.place, reason, lift))
    place, _ = _block(outer)
    block = target.source[start:end] + b"\n"
    ahead, behind = target.source[:start], target.source[end:]
    if ahead.endswith(b"\n\n"):
        behind = behind.removeprefix(b"\n")
    if target.file == outer.file:
        return {outer.file: ahead[:place] + block + ahead[place:] + behind}
    return {outer.file: outer.source[:place] + block + outer.source[place:], target.file: ahead + behind}


def _block(declared: Declared) -> tuple[int, int]:
    """The whole lines of a declaration, with the comment right above."""
    source, record = declared.source, declared.record
    start = source.rfind(b"\n", 0, record.start) + 1
    above = _COMMENT_ABOVE.search(source, max(0, start - 10_000), start)
    end = source.find(b"\n", source.find(b";", record.closing)) + 1
    return above.start() if above else start, end or len(source)


def _guards(source: bytes, offset: int) -> tuple[bytes, ...]:
    """The conditionals around a place but for include guards, which define what they ask for."""
    code = without_comments(source)
    guards = []
    for one in conditionals(source, offset):
        opening = b" ".join(without_comments(one.opening).split())
        name = re.search(rb"ifndef (\w+)|defined ?\(? ?(\w+)", opening)
        word = re.escape(name[1] or name[2]) if name else b""
        defined = rb"^[ \t]*\#[ \t]*define[ \t]+" + word + rb"[ \t]*(?:1[ \t]*)?$"
        if name is None or not re.search(defined, code, re.MULTILINE):
            guards.append(opening)
    return tuple(guards)


# What aligns a member to a cache line in the kernel.
_KERNEL_ALIGNMENT = "____cacheline_aligned_in_smp"


@dataclass(frozen=True, slots=True)
class Study:
    """The pointer, what it leads to, who uses it, and what follows from that.

    ``rules`` is the semantic patch. ``attribute`` aligns the member; it is empty where the record's own alignment
    cannot follow. ``standing`` stand in the way, ``sites`` are places that a person should look at.
    """

    pointer: PointerMember
    target: Declared
    uses: PointerUses
    caches: Caches
    rules: str
    attribute: str
    standing: tuple[Refusal, ...]
    sites: tuple[Refusal, ...]


def study(record: str, member: str, image: TreeImage, progress: Progress) -> Study:
    """Look at the tree; raises what ``inlined`` does."""
    pointer = pointer_member(_outer(image, record, member, progress), member)
    mentioned = pointer_mentions(pointer, image, progress)
    target = target_record(pointer, mentioned.files, image, progress)
    # The names of both records, as the files that are near have them.
    outer = pointer.outer
    near = dict.fromkeys((outer.file, target.file, *mentioned.files, *included(image, outer.file)))
    texts = [image.read(file) for file in near]
    targets = tuple(dict.fromkeys((pointer.target, *names_of(target, texts))))
    pointer = replace(pointer, holders=names_of(outer, texts), targets=targets)
    pointer, sources = record_sources(pointer, image)
    uses = find_uses(pointer, mentioned, image, progress)
    caches = object_caches(uses.places, image, progress)
    seen = lifetimes(pointer, uses, image, progress)
    relying = reliance(pointer, sources)
    # A compiler relies on an alignment that is promised, and a program's records may begin anywhere.
    attribute = _KERNEL_ALIGNMENT if is_kernel(image.tree) else ""
    rules = semantic_patch(pointer, uses.places, caches.gone, typed=uses.typed)
    in_the_way = (
        *standing(pointer, target, uses),
        *caches.standing,
        *released_otherwise(pointer, seen),
        *relying.certain,
    )
    sites = (
        *missed_by(pointer, target, image),
        *uses.sites,
        *relying.possible,
        *caches.left,
        *copies(pointer, seen),
        *misaligned(pointer, seen, image),
        *_certain(uses),
        *unread_files(image.tree),
    )
    return Study(pointer, target, uses, caches, rules, attribute, in_the_way, sites)


def _certain(uses: PointerUses) -> Iterator[Refusal]:
    """Functions that test an allocation which is gone."""
    checks = (use for use in uses.places if use.role is Role.ALLOCATION_CHECK)
    for use in {(one.file, one.function): one for one in checks}.values():
        reason = f"{use.function}() cannot fail any more for want of memory for the object"
        yield Refusal(RefusalCode.ALWAYS_SUCCEEDS, use.place, reason, "take away what is done when it does")


def _outer(image: TreeImage, record: str, member: str, progress: Progress) -> Declared:
    """The record in the tree that has the member; the debug information of no build is needed."""
    try:
        declared = _declared(image, record, member)
    except DeclarationNotFound:
        files = dict.fromkeys(one.file for one in mentions(image.tree, record, progress))
        known = tags_of(record, (image.read(file) for file in files))
        if not known:
            remedy = "check the name, as its tag or typedef has it"
            raise DeclarationNotFound(f"{image.tree} declares no record {record}; {remedy}") from None
        declared = _declared(image, known[0], member)
    if declared.record.kind != "struct":
        reason = f"{declared.record.title} is no struct"
        raise EditRefused(Refusal(RefusalCode.NO_STRUCT, declared.place, reason))
    return declared


def _declared(image: TreeImage, record: str, member: str) -> Declared:
    known = (Member(name=member, type="", declarator=member, offset=0, size=0),)
    return declaration(image.tree, record, Layout(0, record, RecordKind.STRUCT, 0, known))
