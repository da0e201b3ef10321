# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map as text: who touches the members of a type, what a function or an instruction touches, and sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import touched_alone, touching
from linesmith.analyzer.model import (
    AccessCounts,
    AccessKind,
    AccessOutcome,
    AccessSummary,
    AddressAccesses,
    CodeAccess,
    ElfIdentity,
    Embedding,
    FunctionAccesses,
    FunctionCounts,
    Layout,
    Member,
    MemberAccesses,
    TypeAccesses,
)
from linesmith.analyzer.report.prose import WIDTH

MOST_EMBEDDINGS = 4
MOST_LINES = 3
MOST_BESIDE = 2
MEMBER_COLUMN = 32
_NOWHERE = "(no member there)"
_CUT = "`--member NAME` names all functions of a member, `--limit N` more of each"


def render_types(found: Sequence[tuple[Layout, TypeAccesses]], limit: int | None, columns: int = WIDTH) -> str:
    """Each type with a row for each member that is touched; ``limit`` functions of each are named.

    ``None`` names all of them, one in a line; where some are left out, the last line says how to see them.
    """
    text = _blocks(_type(layout, one, limit, columns) for layout, one in found)
    cut = limit is not None and any(len(row.functions) > limit for _, one in found for row in one.members)
    return f"{text}\n{_CUT}\n" if cut else text


def render_functions(found: Sequence[FunctionAccesses]) -> str:
    """Each function with what its own code and the code inlined into it touch."""
    return _blocks(_function(one) for one in found)


def render_addresses(found: Sequence[AddressAccesses]) -> str:
    """Each instruction with all that is known of its accesses."""
    return _blocks(_address(one) for one in found)


def render_summary(found: AccessSummary, elf: ElfIdentity) -> str:
    """How many accesses ended how, and the share that is resolved."""
    build = f" build-id {elf.build_id}" if elf.build_id else ""
    rows = [
        f"{elf.path}{build}",
        _head(found.kinds, found.functions),
        "",
        f"  {'outcome':<22} {'accesses':>11} {'share':>7}",
    ]
    for outcome, count in found.outcomes:
        rows.append(f"  {outcome.value:<22} {count:>11,} {_share(count, found.accesses):>7}")
    rows += [f"  {'all':<22} {found.accesses:>11,} {_share(found.accesses, found.accesses):>7}", ""]
    others = f"{_counted(found.resolvable, 'access')} that are neither to the stack nor in patched text"
    rows.append(f"resolved: {_share(found.resolved, found.resolvable)} of the {others}")
    return "\n".join([*rows, ""])


def functions_text(functions: Sequence[FunctionCounts], limit: int) -> str:
    """The first functions with what they do: ``filemap_fault r12 w1``; the rest is counted."""
    named = [f"{one.function} {_letters(one.counts)}" for one in functions[:limit]]
    more = len(functions) - limit
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def beside(layout: Layout, accesses: AccessMap) -> Callable[[int, Member], str]:
    """What stands beside the members of ``layout``: how many functions read and write each, and the first of them."""
    touched = touching(layout, accesses)

    def text(offset: int, member: Member) -> str:
        found = touched(offset, member.size)
        parts = ((verb, names) for verb, names in (("read", found.readers), ("written", found.writers)) if names)
        known = "; ".join(f"{verb} by {_named(names)}" for verb, names in parts)
        alone = member.record is not None and touched_alone(member.record, accesses)
        return known or _nobody(member.type if alone else "")

    return text


def _nobody(alone: str) -> str:
    """Of a member without known accesses; ``alone`` is its type where some code touches one that may be it."""
    return f"no access known{f' but to some {alone}' if alone else ''}"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_BESIDE} more" if len(names) > MOST_BESIDE else ""
    return ", ".join(names[:MOST_BESIDE]) + more


def _blocks(blocks: Iterable[Iterable[str]]) -> str:
    return "\n\n".join("\n".join(rows) for rows in blocks) + "\n"


def _type(layout: Layout, found: TypeAccesses, limit: int | None, columns: int) -> Iterator[str]:
    yield f"{layout.title}, {_counted(layout.size, 'byte')}: {_head(found.counts, found.functions)}"
    if found.embeddings:
        yield f"  within   {_embeddings(found.embeddings)}"
    width = MEMBER_COLUMN
    if any(len(row) > columns for member in found.members for row in _member(member, limit, width)):
        width = max(len(name) for name in (*map(_name, found.members), _NOWHERE if found.elsewhere.total else ""))
    if found.members:
        yield ""
        counts = f"{'reads':>7} {'writes':>7} {'updates':>7} {'atomics':>7}"
        yield f"  {'offset':>6}  {'member':<{width}} {counts}  functions"
    for member in found.members:
        yield from _member(member, limit, width)
    if found.elsewhere.total:
        yield f"  {'':>6}  {_NOWHERE:<{width}} {_columns(found.elsewhere)}"


def _embeddings(embeddings: Sequence[Embedding]) -> str:
    named = [f"{one.type}{'.' * bool(one.path)}{one.path} {one.accesses:,}" for one in embeddings[:MOST_EMBEDDINGS]]
    more = embeddings[MOST_EMBEDDINGS:]
    rest = f" and {_counted(len(more), 'more place')} {sum(one.accesses for one in more):,}" if more else ""
    return ", ".join(named) + rest


def _name(member: MemberAccesses) -> str:
    others = len(member.alternatives)
    return member.path + (f" or {_counted(others, 'other')}" if others else "")


def _member(member: MemberAccesses, limit: int | None, width: int) -> Iterator[str]:
    row = f"  {member.offset:>#6x}  {_name(member):<{width}} {_columns(member.counts)}"
    if not member.functions:
        yield f"{row}  {_nobody(member.alone)}"
        yield f"{'':10}code that is handed its address is not counted here"
        if member.takers:
            yield f"{'':10}taken by inlined code of {_counted(len(member.takers), 'function')} that touch more of it:"
            yield from (f"{'':12}{name}" for name in member.takers)
    elif limit is not None:
        yield f"{row}  {functions_text(member.functions, limit)}"
    else:
        yield f"{row}  {_counted(len(member.functions), 'function')}:"
        yield from (f"{'':10}{one.function} {_letters(one.counts)}" for one in member.functions)


def _columns(counts: AccessCounts) -> str:
    each = (counts.reads, counts.writes, counts.updates, counts.atomics)
    return " ".join(f"{count:>7,}" if count else f"{'-':>7}" for count in each)


def _letters(counts: AccessCounts) -> str:
    each = (("r", counts.reads), ("w", counts.writes), ("u", counts.updates), ("a", counts.atomics))
    return " ".join(f"{letter}{count}" for letter, count in each if count)


def _function(found: FunctionAccesses) -> Iterator[str]:
    counted = [one for one in found.accesses if one.outcome.counts]
    resolved = sum(one.outcome.resolved for one in counted)
    where = "inlined only" if found.low is None or found.high is None else f"{found.low:#x} to {found.high:#x}"
    all_ = _counted(len(found.accesses), "access")
    yield f"{found.function}, {where}: {all_}, {resolved} of {len(counted)} resolved that are neither stack nor patched"
    if found.accesses:
        yield ""
        yield f"  {'what':<56} {'kind':<10} {'width':>5} {'count':>5}  lines"
    chains = dict.fromkeys(_chain(one, found) for one in found.accesses)
    for chain in chains:
        yield f"  {chain}"
        yield from _rows(one for one in found.accesses if _chain(one, found) == chain)


def _chain(access: CodeAccess, found: FunctionAccesses) -> str:
    """Which code it is: the function's own, or that of inlined ones, outermost first."""
    outer = (access.function,) if found.low is None else ()
    names = (*outer, *access.inlined)
    return f"inlined: {' > '.join(names)}" if access.inlined else "own code"


def _rows(accesses: Iterable[CodeAccess]) -> Iterator[str]:
    """One row for each thing touched in one way, in the order of the code."""
    groups: dict[tuple[str, str, int], list[CodeAccess]] = {}
    for one in accesses:
        groups.setdefault((_what(one), one.kind.value, one.width), []).append(one)
    for (what, kind, width), group in groups.items():
        yield f"    {what:<54} {kind:<10} {width or '?':>5} {len(group):>5}  {_lines(group)}".rstrip()


def _what(access: CodeAccess) -> str:
    if not access.outcome.resolved:
        return f"({access.outcome.value}{f': {access.type}' if access.type else ''})"
    place = f"{access.variable}: {access.place}" if access.variable and access.place else access.place
    return place or access.variable or f"({access.outcome.value})"


def _lines(accesses: Sequence[CodeAccess]) -> str:
    """Source lines, each file named once: ``rbtree.c:24,31``."""
    places = dict.fromkeys((one.file.rpartition("/")[2], one.line) for one in accesses if one.line)
    shown = [
        f"{file}:{','.join(str(line) for _, line in same)}"
        for file, same in groupby(list(places)[:MOST_LINES], key=lambda place: place[0])
    ]
    more = len(places) - MOST_LINES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _address(found: AddressAccesses) -> Iterator[str]:
    yield f"{found.address:#x} {found.spot}"
    for access in found.accesses:
        yield from _access(access)
    if not found.accesses:
        yield "  touches no memory"
    if found.before:
        yield f"  the instruction before it that does is {found.before[0].spot}"
        for access in found.before:
            yield from _access(access)


def _access(access: CodeAccess) -> Iterator[str]:
    width = _counted(access.width, "byte") if access.width else "unknown width"
    yield f"  {access.kind.value} of {width}: {_what(access)}"
    if access.type is not None and access.path:
        yield f"    at         {access.type}+{access.offset or 0:#x}"
    yield f"    outcome    {access.outcome.value}"
    if access.inlined:
        yield f"    inlined    {' > '.join(access.inlined)}"
    if access.line:
        yield f"    source     {access.file}:{access.line}"


def _head(counts: AccessCounts, functions: int) -> str:
    each = (("read", counts.reads), ("write", counts.writes), ("update", counts.updates), ("atomic", counts.atomics))
    kinds = ", ".join(_counted(count, name) for name, count in each if count)
    in_brackets = f" ({kinds})" if kinds else ""
    return f"{_counted(counts.total, 'access')} by {_counted(functions, 'function')}{in_brackets}"


def _counted(count: int, thing: str) -> str:
    plural = "es" if thing.endswith("s") else "s"
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}{plural}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


# The access map as JSON; docs/schema-access.md documents it and a test keeps the two equal.
#
# Addresses are hexadecimal text, offsets and widths are bytes, shares run from 0 to 1.

SCHEMA_VERSION = 1


class AccessView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One access by one instruction, ``into`` bytes into ``function``; ``width`` 0 is not known."""

    address: str
    function: str
    into: int | None
    kind: AccessKind
    width: int
    outcome: AccessOutcome
    inlined: tuple[str, ...] = ()
    file: str = ""
    line: int | None = None
    type: str | None = None
    offset: int | None = None
    path: str = ""
    variable: str | None = None


class TypeAccessesView(msgspec.Struct, frozen=True):
    """Who touches the members of one type; ``functions`` counts them."""

    name: str
    title: str
    size: int
    file: str | None
    line: int | None
    counts: AccessCounts
    functions: int
    embeddings: tuple[Embedding, ...]
    elsewhere: AccessCounts
    members: tuple[MemberAccesses, ...]


class FunctionAccessesView(msgspec.Struct, frozen=True):
    """What one function touches, by address; without addresses it exists inlined only."""

    function: str
    low: str | None
    high: str | None
    accesses: tuple[AccessView, ...]


class AddressAccessesView(msgspec.Struct, frozen=True):
    """What one instruction touches, or the last one before it that touches anything."""

    address: str
    function: str
    into: int | None
    accesses: tuple[AccessView, ...]
    before: tuple[AccessView, ...]


class SummaryView(msgspec.Struct, frozen=True):
    """How all accesses ended; ``coverage`` is ``resolved`` / ``resolvable``."""

    accesses: int
    functions: int
    types: int
    kinds: AccessCounts
    outcomes: dict[AccessOutcome, int]
    resolved: int
    resolvable: int
    coverage: float


class AccessDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """What ``linesmith access --format json`` writes: beside ``elf`` only what was asked for."""

    schema: int
    elf: ElfIdentity
    summary: SummaryView | None = None
    types: tuple[TypeAccessesView, ...] | None = None
    functions: tuple[FunctionAccessesView, ...] | None = None
    addresses: tuple[AddressAccessesView, ...] | None = None


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(AccessDocument)


def summary_json(found: AccessSummary, elf: ElfIdentity) -> str:
    """The document without any question."""
    view = SummaryView(
        found.accesses,
        found.functions,
        found.types,
        found.kinds,
        dict(found.outcomes),
        found.resolved,
        found.resolvable,
        found.coverage,
    )
    return _text(AccessDocument(SCHEMA_VERSION, elf, summary=view))


def types_json(found: Sequence[tuple[Layout, TypeAccesses]], elf: ElfIdentity) -> str:
    """The document for ``--type``."""
    return _text(AccessDocument(SCHEMA_VERSION, elf, types=tuple(_type_view(layout, one) for layout, one in found)))


def functions_json(found: Sequence[FunctionAccesses], elf: ElfIdentity) -> str:
    """The document for ``--function``."""
    views = tuple(
        FunctionAccessesView(one.function, _address_text(one.low), _address_text(one.high), _accesses(one.accesses))
        for one in found
    )
    return _text(AccessDocument(SCHEMA_VERSION, elf, functions=views))


def addresses_json(found: Sequence[AddressAccesses], elf: ElfIdentity) -> str:
    """The document for ``--address``."""
    views = tuple(
        AddressAccessesView(f"{one.address:#x}", one.function, one.into, _accesses(one.accesses), _accesses(one.before))
        for one in found
    )
    return _text(AccessDocument(SCHEMA_VERSION, elf, addresses=views))


def _text(document: AccessDocument) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _type_view(layout: Layout, found: TypeAccesses) -> TypeAccessesView:
    return TypeAccessesView(
        name=layout.name,
        title=layout.title,
        size=layout.size,
        file=layout.file,
        line=layout.line,
        counts=found.counts,
        functions=found.functions,
        embeddings=found.embeddings,
        elsewhere=found.elsewhere,
        members=found.members,
    )


def _accesses(found: Sequence[CodeAccess]) -> tuple[AccessView, ...]:
    return tuple(
        AccessView(
            f"{one.address:#x}",
            one.function,
            one.into,
            one.kind,
            one.width,
            one.outcome,
            one.inlined,
            one.file,
            one.line,
            one.type,
            one.offset,
            one.path,
            one.variable,
        )
        for one in found
    )


def _address_text(address: int | None) -> str | None:
    return None if address is None else f"{address:#x}"
