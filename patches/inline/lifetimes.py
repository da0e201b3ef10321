# SPDX-License-Identifier: GPL-2.0-or-later
"""Where records with the pointer are made and copied, and where objects of its type are freed by another way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.find import PointerUses
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.uses import ALLOCATORS, CACHE_CREATORS, RELEASES, PointerUse, Role
from linesmith.patches.treewide.mentions import (
    Mention,
    any_of,
    mentions,
    mentions_in,
    metavariable,
    pointer_variable,
    read_source,
    typedef_lines,
)
from linesmith.patches.treewide.series import TreeImage
from linesmith.patches.treewide.spatch import Report, RuleMatch, SemanticPatch, spatch
from linesmith.patches.treewide.syntax import (
    NULL,
    arguments,
    assigned_value,
    bare,
    callee,
    compact,
    enclosing,
    inside,
    line_of,
    parsed,
    text,
)

_COPYING = ("holder_copied", "holder_assigned", "record_assigned")
_COPIES = "memcpy|memmove|__memcpy|kmemdup"
_MADE = """@ holder_made @
{holder}
identifier maker =~ "^({makers})$";
expression list given;
position place;
type cast;
@@
 kept =@place (cast)maker(given)
"""
_DECLARED = """@ holder_declared{number} @
{typedefs}
identifier kept;
identifier maker =~ "^({makers})$";
expression list given;
position place;
type cast;
@@
 {title} *kept@place = (cast)maker(given);
"""
_OTHERS = """@ holder_copied @
{holder}
expression other;
identifier copier =~ "^({copies})$";
position place;
@@
 copier@place(kept, other, ...)

@ holder_assigned @
{holder}
expression other;
position place;
@@
 *kept =@place other

@ record_assigned @
{record}
expression other;
position place;
@@
 kept =@place other

@ object_released @
{object}
expression other;
identifier releaser =~ "^({releasers})$";
position place;
@@
(
 releaser@place(kept)
|
 releaser@place(other, kept)
)
"""
# KMEM_CACHE() asks for the alignment of the type; kmem_cache_create(name, size, align, flags, …) for what it is given.
_FLAGS = 3
_UNALIGNED = "take it from aligned_alloc() and align the member, which has been left out"
# A kernel's folders are large, and every file takes Coccinelle seconds.
_MOST_NEIGHBOURS = 8
# Make a record, or many, and never align it.
_RESIZING = ("realloc", "reallocarray", "krealloc", "g_realloc", "xrealloc")


@dataclass(frozen=True, slots=True)
class Making:
    """One place where a record with the pointer is allocated by ``maker``, from ``cache`` where that takes one."""

    file: str
    line: int
    function: str
    maker: str
    cache: str

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How records with the pointer come and go, as far as the files that use the pointer show."""

    made: tuple[Making, ...]
    copied: tuple[RuleMatch, ...]
    released: tuple[RuleMatch, ...]


def lifetimes(pointer: PointerMember, uses: PointerUses, image: TreeImage, progress: Progress) -> Lifetimes:
    """What Coccinelle sees of them in the files with uses, and in others that may allocate the record."""
    files = tuple(dict.fromkeys((*uses.files, *_allocating(pointer, uses, image, progress))))
    makers = ("holder_made", *(f"holder_declared{number}" for number, _ in enumerate(pointer.holders, start=1)))
    makings = tuple(Report(rule, "place", ("maker", "given")) for rule in makers)
    others = tuple(Report(rule, "place") for rule in (*_COPYING, "object_released"))
    seen = spatch(SemanticPatch(_rules(pointer), (*makings, *others)), image, files, progress)
    released = {(use.file, use.line) for use in uses.places if use.role in (Role.RELEASE, Role.RELEASE_CHECK)}
    made = tuple(dict.fromkeys(_making(site) for site in seen.matches if site.rule in makers))
    copied = {(site.file, site.line): site for site in seen.matches if site.rule in _COPYING}
    freed = (site for site in seen.matches if site.rule == "object_released")
    return Lifetimes(
        made, tuple(copied.values()), tuple(site for site in freed if (site.file, site.line) not in released)
    )


def _allocating(pointer: PointerMember, uses: PointerUses, image: TreeImage, progress: Progress) -> Iterator[str]:
    """Units of a program that name the record; in a kernel, neighbours of the users that may allocate one."""
    name = pointer.outer.record.name
    if not is_kernel(image.tree):
        yield from (one.file for one in mentions(image.tree, name, progress) if one.file.endswith(".c"))
        return
    folders = dict.fromkeys(str(PurePosixPath(file).parent) for file in uses.files if file.endswith(".c"))
    near = (path for folder in folders for path in sorted((image.tree / folder).glob("*.c")))
    likely = (path for path in near if _may_allocate(read_source(path), name.encode()))
    yield from (str(path.relative_to(image.tree)) for path in islice(likely, _MOST_NEIGHBOURS))


def _may_allocate(source: bytes, tag: bytes) -> bool:
    """Whether a call that allocates is given the size of the struct, or of what a variable of that type points to."""
    if tag not in source:
        return False
    variables = set(re.findall(rb"\bstruct\s+" + tag + rb"\s*\*\s*(\w+)", source))
    sizes = re.findall(rb"alloc\w*\s*\([^;]{0,200}?sizeof\s*\(\s*(\*|struct\s+)\s*(\w+)\s*\)", source)
    return any(what == tag if kind != b"*" else what in variables for kind, what in sizes)


def _rules(pointer: PointerMember) -> str:
    titles, makers = pointer.holders, "|".join((*sorted(ALLOCATORS), *_RESIZING))
    known = "\n".join(typedef_lines(titles))
    holder = "\n".join((*typedef_lines(titles), pointer_variable(titles, "kept")))
    object_ = "\n".join((*typedef_lines(pointer.targets), pointer_variable(pointer.targets, "kept")))
    record = "\n".join((*typedef_lines(titles), metavariable(any_of(titles), "kept")))
    declared = (
        _DECLARED.format(number=number, typedefs=known, title=title, makers=makers)
        for number, title in enumerate(titles, start=1)
    )
    releasers = "|".join(sorted(RELEASES))
    others = _OTHERS.format(holder=holder, record=record, object=object_, copies=_COPIES, releasers=releasers)
    return "\n".join((_MADE.format(holder=holder, makers=makers), *declared, others))


def _making(site: RuleMatch) -> Making:
    bound = dict(site.bindings)
    first = bound["given"].split(",")[0].strip()
    allocator = ALLOCATORS.get(bound["maker"])
    cache = first if allocator is not None and allocator.cache is not None else ""
    return Making(site.file, site.line, site.function, bound["maker"], cache)


def released_otherwise(pointer: PointerMember, seen: Lifetimes) -> Iterator[Refusal]:
    """Objects of the type that are freed by way of another pointer: they may be those of the member."""
    for site in seen.released:
        reason = f"{site.function}() frees a {pointer.target} by way of another pointer"
        lift = f"free it as the member `{pointer.name}`, or show that it is another one"
        yield Refusal(RefusalCode.FREED_ELSEWHERE, f"{site.file}:{site.line}", reason, lift)


def copies(pointer: PointerMember, seen: Lifetimes) -> Iterator[Refusal]:
    """Places that copy the whole record, now with the object in it."""
    for site in seen.copied:
        reason = f"{site.function}() copies a whole {pointer.outer.record.title}, now with the object `{pointer.name}`"
        lift = "make sure that the object is set up anew behind it"
        yield Refusal(RefusalCode.COPIED_OBJECT, f"{site.file}:{site.line}", reason, lift)


def misaligned(pointer: PointerMember, seen: Lifetimes, image: TreeImage) -> Iterator[Refusal]:
    """Allocations of the record that do not begin where the member's alignment asks for."""
    caches: dict[str, Making] = {}
    for making in seen.made:
        if making.cache:
            caches.setdefault(making.cache, making)
        elif making.maker != "aligned_alloc":
            reason = f"{making.function}() takes a {pointer.outer.record.title} from {making.maker}()"
            kernel = is_kernel(image.tree)
            lift = "make sure that it begins at a multiple of the member's alignment" if kernel else _UNALIGNED
            yield Refusal(RefusalCode.CACHE_ALIGNMENT, making.place, reason, lift)
    for cache, making in caches.items():
        for assignment in inside(parsed(image.read(making.file)), "assignment_expression"):
            made = assigned_value(assignment)
            if text(assignment.child_by_field_name("left")) == cache and callee(made).startswith("kmem_cache_create"):
                passed = [text(one) for one in arguments(made)]
                if len(passed) > _FLAGS and passed[_FLAGS - 1] == "0" and "SLAB_HWCACHE_ALIGN" not in passed[_FLAGS]:
                    reason = f"the slab cache {cache} asks for no alignment"
                    lift = "create it with SLAB_HWCACHE_ALIGN, or with the alignment of the type"
                    place = f"{making.file}:{line_of(made)}"
                    yield Refusal(RefusalCode.CACHE_ALIGNMENT, place, reason, lift)


# Slab caches that the separate object comes from: those that only it uses go with it.

_OUTLIVES = ("SLAB_TYPESAFE_BY_RCU", "SLAB_DESTROY_BY_RCU")
# Which argument is the constructor, by the number of arguments: kmem_cache_create(), kmem_cache_create_usercopy().
_CONSTRUCTOR = {5: 4, 7: 6}
# kmem_cache_create(name, size, args, flags) takes the constructor within a struct.
_WITH_STRUCT = 4
_NAME = re.compile(r"[A-Za-z_]\w*\Z")


@dataclass(frozen=True, slots=True)
class Caches:
    """``gone`` are the variables of caches that nothing else uses, ``files`` where they are named; ``left`` stay.

    ``standing`` are those with objects that no member of a record can replace.
    """

    gone: tuple[str, ...]
    files: tuple[str, ...]
    left: tuple[Refusal, ...]
    standing: tuple[Refusal, ...]


def object_caches(uses: Sequence[PointerUse], image: TreeImage, progress: Progress) -> Caches:
    """The caches that the uses take objects from."""
    gone: list[str] = []
    files: dict[str, None] = {}
    left: list[Refusal] = []
    standing: list[Refusal] = []
    for cache in sorted({use.cache for use in uses if use.cache}):
        first = next(use for use in uses if use.cache == cache)
        places = _places(cache, first.file, image, progress)
        naming = dict.fromkeys((first.file, *(one.file for one in places)))
        standing.extend(_promises(cache, first.place, naming, image))
        other = next((one for one in places if not _is_ours(one, cache, uses, image)), None)
        if other is None and _NAME.match(cache):
            gone.append(cache)
            files.update(dict.fromkeys(one.file for one in places))
            continue
        place, where = (other.place, f" (`{other.text[:60]}`)") if other else (first.place, "")
        reason = f"the slab cache {cache} stays, since it is used otherwise too{where}"
        lift = "take it away by hand where nothing else needs it"
        left.append(Refusal(RefusalCode.CACHE_LEFT, place, reason, lift))
    return Caches(tuple(gone), tuple(files), tuple(left), tuple(standing))


def _places(cache: str, file: str, image: TreeImage, progress: Progress) -> tuple[Mention, ...]:
    """Where the variable is named: in the one file that has it when it is static, else in the whole tree."""
    if not _NAME.match(cache):
        return ()
    source = image.read(file)
    if re.search(rb"\bstatic\b[^;(){}]*\b" + cache.encode() + rb"\b", source):
        return tuple(mentions_in(file, source, cache))
    return mentions(image.tree, cache, progress)


def _promises(cache: str, place: str, files: Iterable[str], image: TreeImage) -> Iterator[Refusal]:
    """What stands in the way of doing without ``cache``, that is created in ``files`` and used at ``place``."""
    name = "".join(cache.split())
    created = [
        (file, call)
        for file in files
        for one in inside(parsed(image.read(file)), "assignment_expression")
        if compact(one.child_by_field_name("left")) == name and callee(call := assigned_value(one)) in CACHE_CREATORS
    ]
    if not created:
        reason = f"how the slab cache {cache} is created is not seen, which may have a constructor"
        yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, place, reason, "allocate the object with kmalloc() first")
    for file, call in created:
        where, source = f"{file}:{line_of(call)}", image.read(file)
        if _outlives(call, source):
            reason = f"objects of the slab cache {cache} stay of their type while readers look at freed ones"
            yield Refusal(RefusalCode.PUBLISHED, where, reason)
        if _constructs(call, source):
            reason = f"a constructor sets up the objects of the slab cache {cache}"
            lift = "set the object up where it is allocated first"
            yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, where, reason, lift)


def _outlives(call: tree_sitter.Node, source: bytes) -> bool:
    """Whether a flag says so; where flags are a variable, whether the file knows such a flag."""
    if any(flag in text(call) for flag in _OUTLIVES):
        return True
    passed, at = arguments(call), 1 if callee(call).startswith("KMEM_CACHE") else 3
    is_variable = at >= len(passed) or text(passed[at]) != text(passed[at]).upper()
    return is_variable and any(flag.encode() in source for flag in _OUTLIVES)


def _constructs(call: tree_sitter.Node, source: bytes) -> bool:
    passed = [text(bare(one)) for one in arguments(call)]
    if callee(call).startswith("KMEM_CACHE"):
        return False
    if len(passed) == _WITH_STRUCT:
        return "ctor" in passed[2] or (passed[2] not in NULL and "{" not in passed[2] and b"ctor" in source)
    at = _CONSTRUCTOR.get(len(passed))
    return at is None or passed[at] not in NULL


def _is_ours(one: Mention, cache: str, uses: Sequence[PointerUse], image: TreeImage) -> bool:
    """Whether the place declares, creates, tests or destroys the cache, or is one of the uses."""
    if any(use.cache == cache and (use.file, use.line) == (one.file, one.line) for use in uses):
        return True
    root = parsed(image.read(one.file))
    node = root.descendant_for_byte_range(one.offset, one.offset + 1)
    return node is not None and any(_ours(node, cache))


def _ours(node: tree_sitter.Node, cache: str) -> Iterator[bool]:
    declaration = enclosing(node, "declaration")
    yield declaration is not None and text(declaration).startswith("static") and "=" not in text(declaration)
    assignment = enclosing(node, "assignment_expression")
    if assignment is not None and compact(assignment.child_by_field_name("left")) == cache:
        made = assigned_value(assignment)
        alone = assignment.parent is not None and assignment.parent.type == "expression_statement"
        yield alone and callee(made) in CACHE_CREATORS
    call = enclosing(node, "call_expression")
    yield call is not None and callee(call) == "kmem_cache_destroy"
    condition = enclosing(node, "if_statement")
    test = condition.child_by_field_name("condition") if condition is not None else None
    yield test is not None and compact(bare(test)) in (f"!{cache}", f"{cache}==NULL")
