# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds every use of the pointer in a tree, whatever the configuration or the machine, and what stands in the way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import tree_sitter

from linesmith.analyzer.model import DependencyKind, Refusal, RefusalCode
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.classify import use_at
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.uses import PointerUse, Role
from linesmith.patches.scan.text_scan import RecordText
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import without_comments
from linesmith.patches.treewide.mentions import Mention, names_of, other_programs, read_source, source_files
from linesmith.patches.treewide.series import TreeImage
from linesmith.patches.treewide.spatch import Report, SemanticPatch, spatch
from linesmith.patches.treewide.syntax import parsed, text

# Initialisers that give the pointer a value: ``struct area first = { .lock = &first_lock }``.

_DESIGNATOR = re.compile(rb"(?:\A|[{,;\n(])\s*\.\s*\Z")
_BACK = 200
_STORAGE = re.compile(r"\b(?:const|volatile|static)\s+")


def initialised(
    pointer: PointerMember, mentions: Sequence[Mention], sources: Mapping[str, bytes]
) -> tuple[list[Refusal], list[Refusal]]:
    """The designated initialisers among ``mentions``: of the record, and of unknown ones in files that name it."""
    names = (re.escape(name.removeprefix("struct ").encode()) for name in pointer.holders)
    word = re.compile(rb"\b(?:" + b"|".join(names) + rb")\b")
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    for one in mentions:
        source = sources[one.file]
        end = one.offset + len(pointer.name)
        behind = source[end : end + _BACK].lstrip()
        sets = behind[:1] == b"=" and behind[1:2] != b"="
        if not (sets and _DESIGNATOR.search(one.ahead(source)) and word.search(source)):
            continue
        record = _initialised_record(parsed(source), one.offset)
        reason = f"an initialiser sets the pointer (`{one.text[:60]}`)"
        if record in pointer.holders:
            lift = "initialise the object in its place, by hand"
            certain.append(Refusal(RefusalCode.INITIALISER, one.place, reason, lift))
        elif not record:
            lift = f"check whether it is a {pointer.outer.record.title}"
            possible.append(Refusal(RefusalCode.INITIALISER, one.place, reason, lift))
    return certain, possible


def _initialised_record(root: tree_sitter.Node, offset: int) -> str:
    """What is initialised, as its type is named; empty where that is nested or not plain C."""
    pair = root.descendant_for_byte_range(offset, offset + 1)
    while pair is not None and pair.type != "initializer_pair":
        pair = pair.parent
    listed = pair.parent if pair is not None else None
    holder = listed.parent if listed is not None and listed.type == "initializer_list" else None
    if holder is not None and holder.type == "initializer_list":
        holder = holder.parent
        declarator = holder.child_by_field_name("declarator") if holder is not None else None
        if declarator is None or declarator.type != "array_declarator":
            return ""
    if holder is None or holder.type not in ("init_declarator", "compound_literal_expression"):
        return ""
    declaration = holder.parent if holder.type == "init_declarator" else holder
    return _STORAGE.sub("", text(declaration.child_by_field_name("type") if declaration is not None else None))


# The order of the members.

_RELYING = frozenset(
    (DependencyKind.ASSERTION, DependencyKind.OFFSET_RANGE, DependencyKind.PARTIAL_COPY, DependencyKind.ASM_OFFSET)
)


def reliance(pointer: PointerMember, sources: Mapping[str, bytes]) -> tuple[list[Refusal], list[Refusal]]:
    """What ``sources``, the files that name the record, rely on: initialisers by position, and all else."""
    title = pointer.outer.record.title
    looking = RecordText(pointer.outer.record.name)
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    for file, source in sources.items():
        for one in looking.places(file, source).places:
            place = f"{file}:{one.line}"
            if one.kind is DependencyKind.POSITIONAL:
                reason = f"an initialiser of a {title} gives values by position, and the object comes last"
                lift = "name the members in the initialiser"
                certain.append(Refusal(RefusalCode.POSITIONAL, place, reason, lift))
            elif one.kind in _RELYING:
                reason = f"{one.kind.value} of {title} (`{one.text[:60]}`)"
                lift = f"check that it holds when {title} is larger and `{pointer.name}` its last member"
                possible.append(Refusal(RefusalCode.OFFSET, place, reason, lift))
    return certain, possible


_DECLARED = re.compile(rb"\s*(?:\[[^\]]*\]\s*)*(?:;|,|:\s*\d)")
_DECLARING = re.compile(rb"[\w*]\s*\Z")
_FLOW = re.compile(rb"\b(?:return|goto|case|else)\s*\Z")
_QUALIFIERS = re.compile(r"\b(?:const|volatile)\b")
_TYPES = """@ typed_pointer @
type kind;
kind *{holder};
position place;
@@
 {holder}->{name}@place

@ typed_object @
type kind;
kind {holder};
position place;
@@
 {holder}.{name}@place
"""


_SHOWN = 6
_COUNTED = re.compile(rb"\b(?:struct\s+kref|refcount_t|struct\s+kobject|struct\s+percpu_ref)\s+(\w+)\s*;")


@dataclass(frozen=True, slots=True)
class PointerUses:
    """The ``places`` that use the pointer. ``typed``: other records have a member of that name too.

    ``sites`` are places that were left out, ``standing`` those that are no uses and stand in the way.
    """

    places: tuple[PointerUse, ...]
    typed: bool
    sites: tuple[Refusal, ...]
    standing: tuple[Refusal, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The files with uses, each once."""
        return tuple(dict.fromkeys(use.file for use in self.places))


@dataclass(frozen=True, slots=True)
class PointerMentions:
    """Every place that names the pointer; ``sources`` are the files, ``accesses`` the places with a record in front."""

    every: tuple[Mention, ...]
    sources: Mapping[str, bytes]
    accesses: tuple[Mention, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The files with accesses, each once."""
        return tuple(dict.fromkeys(one.file for one in self.accesses))


def pointer_mentions(named: Sequence[Mention], image: TreeImage) -> PointerMentions:
    """The places of the pointer's name in the code of the tree, without programs that are built apart."""
    own = tuple(one for one in named if not one.file.startswith(other_programs(image.tree)))
    sources = {one.file: image.read(one.file) for one in own}
    return PointerMentions(own, sources, tuple(one for one in own if one.is_access(sources[one.file])))


def record_sources(pointer: PointerMember, image: TreeImage) -> tuple[PointerMember, dict[str, bytes]]:
    """The pointer with all names of its record, and the files that name it, but for programs that are built apart."""
    sources = _naming(pointer.holders, image)
    alias = re.compile(rb"\btypedef\s+struct\s+" + re.escape(pointer.outer.record.name.encode()) + rb"\b")
    more = names_of(pointer.outer, (source for source in sources.values() if alias.search(source)))
    holders = tuple(dict.fromkeys((*pointer.holders, *more)))
    if holders == pointer.holders:
        return pointer, sources
    return replace(pointer, holders=holders), _naming(holders, image)


def _naming(names: Sequence[str], image: TreeImage) -> dict[str, bytes]:
    others = other_programs(image.tree)
    words = tuple(one.split()[-1].encode() for one in names)
    word = re.compile(rb"\b(?:" + b"|".join(map(re.escape, words)) + rb")\b")
    files = (file for file in source_files(image.tree) if not file.startswith(others))
    sources = ((file, read_source(image.tree / file)) for file in files)
    return {file: source for file, source in sources if any(one in source for one in words) and word.search(source)}


def find_uses(pointer: PointerMember, mentioned: PointerMentions, image: TreeImage, progress: Progress) -> PointerUses:
    """Every use in the code of the tree; raises ``ToolMissing`` where types are needed and Coccinelle is missing."""
    typed = any(_declares(pointer, mentioned.sources[one.file], one) for one in mentioned.every)
    ours, unknown = _of_record(pointer, image, mentioned.accesses, progress) if typed else (mentioned.accesses, ())
    places: list[PointerUse] = []
    for file, group in groupby(ours, lambda one: one.file):
        root = parsed(mentioned.sources[file])
        places += (use_at(root, file, one, pointer.targets) for one in group)
    certain, possible = initialised(pointer, mentioned.every, mentioned.sources)
    return PointerUses(tuple(places), typed, (*unknown, *possible), tuple(certain))


def _declares(pointer: PointerMember, source: bytes, one: Mention) -> bool:
    """Whether the word may be declared there as a member of another record, or as a variable."""
    own = one.file == pointer.outer.file and pointer.start <= one.offset < pointer.end
    ahead, behind = one.ahead(source), source[one.offset + len(pointer.name) :]
    if own or not _DECLARED.match(behind) or one.is_access(source):
        return False
    return bool(_DECLARING.search(ahead)) and not _FLOW.search(ahead)


def _of_record(
    pointer: PointerMember, image: TreeImage, accesses: Sequence[Mention], progress: Progress
) -> tuple[tuple[Mention, ...], tuple[Refusal, ...]]:
    """Which of the accesses are to the record, as Coccinelle knows the types, and those of unknown type."""
    holder = "holder" if pointer.name != "holder" else "holder_"
    text = _TYPES.format(holder=holder, name=pointer.name)
    reports = tuple(Report(rule, "place", ("kind",)) for rule in ("typed_pointer", "typed_object"))
    files = tuple(dict.fromkeys(one.file for one in accesses))
    kinds = {
        (site.file, site.line, site.column): " ".join(_QUALIFIERS.sub(" ", dict(site.bindings)["kind"]).split())
        for site in spatch(SemanticPatch(text, reports), image, files, progress).matches
    }
    ours = tuple(one for one in accesses if kinds.get((one.file, one.line, one.column)) in pointer.holders)
    lost = [one for one in accesses if (one.file, one.line, one.column) not in kinds]
    return ours, tuple(_unknown(pointer, image, lost))


def _unknown(pointer: PointerMember, image: TreeImage, lost: Sequence[Mention]) -> Iterator[Refusal]:
    """Accesses of unknown type, where the file speaks of the record at all."""
    word = re.compile(rb"\b" + re.escape(pointer.outer.record.name.encode()) + rb"\b")
    for file, group in groupby(lost, lambda one: one.file):
        if word.search(image.read(file)):
            for one in group:
                code = RefusalCode.IN_MACRO if one.macro else RefusalCode.TYPE_UNKNOWN
                reason = f"the type of the record is not known here (`{one.text[:60]}`)"
                yield Refusal(code, one.place, reason, f"change it by hand where it is a {pointer.outer.record.title}")


def standing(pointer: PointerMember, target: Declared, uses: PointerUses) -> tuple[Refusal, ...]:
    """What stands in the way of the object's becoming a member."""
    refused = [use.refusal for use in uses.places if use.refusal is not None]
    return (*_of_type(pointer, target), *refused, *uses.standing, *_ownership(pointer, uses))


def _of_type(pointer: PointerMember, target: Declared) -> Iterator[Refusal]:
    body = without_comments(target.source)[target.record.opening : target.record.closing]
    if counted := _COUNTED.search(body):
        reason = f"{pointer.target} counts its users (`{counted[1].decode()}`), so it may live longer than its holder"
        yield Refusal(RefusalCode.COUNTED, target.place, reason)
    if re.search(rb"\[\s*\]\s*;\s*\Z|DECLARE_FLEX_ARRAY[^;]*;\s*\Z", body):
        reason = f"{pointer.target} ends with an array without a length"
        yield Refusal(RefusalCode.LARGER, target.place, reason)
    holds = re.search(rb"\bstruct\s+" + re.escape(pointer.outer.record.name.encode()) + rb"\s+\w+\s*[;\[]", body)
    if holds or pointer.record == pointer.outer.record.name:
        reason = f"{pointer.target} holds {pointer.outer.record.title} itself"
        yield Refusal(RefusalCode.TYPE_ORDER, target.place, reason)


def _ownership(pointer: PointerMember, uses: PointerUses) -> Iterator[Refusal]:
    """Without a release that is seen a function frees the object; without an allocation it is another one's."""
    codes = [use.refusal.code for use in uses.places if use.refusal is not None]
    allocations = [use for use in uses.places if use.role is Role.ALLOCATION]
    made = [use for use in allocations if not use.callee.startswith("devm_")]
    if made and not codes and not any(use.role is Role.RELEASE for use in uses.places):
        callees = dict.fromkeys(use.callee for use in uses.places if use.role is Role.VALUE and use.callee)
        to = f", which is passed to {', '.join(list(callees)[:_SHOWN])}" if callees else ""
        reason = f"no code that frees `{pointer.name}` was found{to}"
        lift = "free it through the member first, in the function that frees the record"
        yield Refusal(RefusalCode.FREED_ELSEWHERE, made[0].place, reason, lift)
    if not allocations and not {RefusalCode.UNKNOWN_ALLOCATION, RefusalCode.SHARED} & set(codes):
        reason = f"no allocation into `{pointer.name}` was found, so the object belongs to something else"
        yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, pointer.place, reason)
