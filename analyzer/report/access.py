# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map as text and JSON: who touches a type's members, what a function or instruction touches, and sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import touched_alone, touching
from linesmith.analyzer.base.text import and_more, listed
from linesmith.analyzer.model import (
    AccessCounts,
    AccessSummary,
    AddressAccesses,
    CodeAccess,
    ElfIdentity,
    FunctionAccesses,
    Layout,
    Member,
    MemberAccesses,
    TypeAccesses,
)
from linesmith.analyzer.report.prose import WIDTH, Json, counted, fields_of, hexadecimal, json_text, known

MOST_EMBEDDINGS = 4
MOST_LINES = 3
MOST_CALLERS = 2
MEMBER_COLUMN = 32
_SUMMARY_ROW = "  {:<22} {:>11} {:>7}"
_MEMBER_ROW = "  {:>6}  {:<{}} {:>7} {:>7} {:>7} {:>7}"
_CODE_ROW = "  {:<56} {:<10} {:>5} {:>5}  {}"
_NOWHERE = "(no member there)"
_CUT = (
    "`--member NAME` names all functions of a member, `--limit N` more of each; r: reads, w: writes, u: updates,"
    " a: atomics"
)


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
    outcomes = (*((outcome.value, count) for outcome, count in found.outcomes), ("all", found.accesses))
    others = f"{counted(found.resolvable, 'access')} that are neither to the stack nor in patched text"
    rows = [
        f"{elf.path}{build}",
        _head(found.kinds, found.functions),
        "",
        _SUMMARY_ROW.format("outcome", "accesses", "share"),
        *(_SUMMARY_ROW.format(name, f"{count:,}", _share(count, found.accesses)) for name, count in outcomes),
        "",
        f"resolved: {_share(found.resolved, found.resolvable)} of the {others}",
    ]
    return "\n".join([*rows, ""])


def access_notes(layout: Layout, accesses: AccessMap) -> Callable[[int, Member], str]:
    """What stands behind the members of ``layout``: how many functions read and write each, and the first of them."""
    touched = touching(layout, accesses)

    def text(offset: int, member: Member) -> str:
        found = touched(offset, member.size)
        parts = ((verb, names) for verb, names in (("read", found.readers), ("written", found.writers)) if names)
        known = "; ".join(f"{verb} by {listed(names, MOST_CALLERS)}" for verb, names in parts)
        alone = member.record is not None and touched_alone(member.record, accesses)
        return known or _nobody(member.type if alone else "")

    return text


def _nobody(alone: str) -> str:
    """Of a member without known accesses; ``alone`` is its type where some code touches one that may be it."""
    return f"no access known{f' but to some {alone}' if alone else ''}"


def _blocks(blocks: Iterable[Iterable[str]]) -> str:
    return "\n\n".join("\n".join(rows) for rows in blocks) + "\n"


def _type(layout: Layout, found: TypeAccesses, limit: int | None, columns: int) -> Iterator[str]:
    yield f"{layout.title}, {counted(layout.size, 'byte')}: {_head(found.counts, found.functions)}"
    if found.embeddings:
        outer = [f"{one.type}{'.' * bool(one.path)}{one.path} {one.accesses:,}" for one in found.embeddings]
        more = found.embeddings[MOST_EMBEDDINGS:]
        rest = f" and {counted(len(more), 'more place')} {sum(one.accesses for one in more):,}" if more else ""
        yield f"  within   {', '.join(outer[:MOST_EMBEDDINGS])}{rest}"
    width = MEMBER_COLUMN
    if any(len(row) > columns for member in found.members for row in _member(member, limit, width)):
        width = max(len(name) for name in (*map(_name, found.members), _NOWHERE if found.elsewhere.total else ""))
    if found.members:
        yield ""
        kinds = ("reads", "writes", "updates", "atomics")
        yield f"{_MEMBER_ROW.format('offset', 'member', width, *kinds)}  functions"
    for member in found.members:
        yield from _member(member, limit, width)
    if found.elsewhere.total:
        yield _MEMBER_ROW.format("", _NOWHERE, width, *_kinds(found.elsewhere))


def _name(member: MemberAccesses) -> str:
    others = len(member.alternatives)
    return member.path + (f" or {counted(others, 'other')}" if others else "")


def _member(member: MemberAccesses, limit: int | None, width: int) -> Iterator[str]:
    row = _MEMBER_ROW.format(f"{member.offset:#x}", _name(member), width, *_kinds(member.counts))
    if not member.functions:
        yield f"{row}  {_nobody(member.alone)}"
        yield f"{'':10}code that is handed its address is not counted here"
    elif limit is not None:
        yield f"{row}  {listed((f'{one.function} {_letters(one.counts)}' for one in member.functions), limit)}"
    else:
        yield f"{row}  {counted(len(member.functions), 'function')}:"
        yield from (f"{'':10}{one.function} {_letters(one.counts)}" for one in member.functions)
    for to, calls in groupby(member.handed, key=lambda one: one.to):
        yield f"{'':10}its address goes to {to}:"
        for call in calls:
            place = f" ({call.file}:{call.line})" if call.line else ""
            yield f"{'':12}{' > '.join((call.function, *call.inlined))}{place}"


def _kinds(counts: AccessCounts) -> list[str]:
    return [f"{one:,}" if one else "-" for one in (counts.reads, counts.writes, counts.updates, counts.atomics)]


def _letters(counts: AccessCounts) -> str:
    """``r12 w1``: reads, writes, updates, atomic updates."""
    each = (("r", counts.reads), ("w", counts.writes), ("u", counts.updates), ("a", counts.atomics))
    return " ".join(f"{letter}{count}" for letter, count in each if count)


def _function(found: FunctionAccesses) -> Iterator[str]:
    shared = [one for one in found.accesses if one.outcome.counts]
    resolved = sum(one.outcome.resolved for one in shared)
    where = "inlined only" if found.low is None or found.high is None else f"{found.low:#x} to {found.high:#x}"
    accesses = counted(len(found.accesses), "access")
    what = f"{accesses}, {resolved} of {len(shared)} resolved that are neither stack nor patched"
    yield f"{found.function}, {where}: {what}"
    if found.accesses:
        yield ""
        yield _CODE_ROW.format("what", "kind", "width", "count", "lines")
    # The function's own code, and that of inlined functions, outermost first; in each a row for what is touched alike.
    chains: dict[str, dict[tuple[str, str, int], list[CodeAccess]]] = {}
    for one in found.accesses:
        outer = (one.function,) if found.low is None else ()
        chain = f"inlined: {' > '.join((*outer, *one.inlined))}" if one.inlined else "own code"
        chains.setdefault(chain, {}).setdefault((_what(one), one.kind.value, one.width), []).append(one)
    for chain, groups in chains.items():
        yield f"  {chain}"
        for (touched, kind, width), group in groups.items():
            yield _CODE_ROW.format(f"  {touched}", kind, width or "?", len(group), _lines(group)).rstrip()


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
    return ", ".join(shown) + and_more(len(places) - MOST_LINES)


def _address(found: AddressAccesses) -> Iterator[str]:
    yield f"{found.address:#x} {found.spot}"
    yield from (row for access in found.accesses for row in _access(access))
    if not found.accesses:
        yield "  touches no memory"
    if found.before:
        yield f"  the instruction before it that does is {found.before[0].spot}"
        yield from (row for access in found.before for row in _access(access))


def _access(access: CodeAccess) -> Iterator[str]:
    width = counted(access.width, "byte") if access.width else "unknown width"
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
    kinds = ", ".join(counted(count, name) for name, count in each if count)
    in_brackets = f" ({kinds})" if kinds else ""
    return f"{counted(counts.total, 'access')} by {counted(functions, 'function')}{in_brackets}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


# The same as JSON (docs/json.md): addresses are hexadecimal text, offsets and widths bytes, shares run from 0
# to 1; of an access what is not known is left out.

SCHEMA_VERSION = 1


def summary_json(found: AccessSummary, elf: ElfIdentity) -> str:
    """The document without any question."""
    summary = fields_of(found, "accesses", "functions", "types", "kinds")
    summary["outcomes"] = dict(found.outcomes)
    return _document(elf, summary=summary | fields_of(found, "resolved", "resolvable", "coverage"))


def types_json(found: Sequence[tuple[Layout, TypeAccesses]], elf: ElfIdentity) -> str:
    """The document for ``--type``."""
    types = [
        fields_of(layout, "name", "title", "size", "file", "line")
        | fields_of(one, "counts", "functions", "embeddings", "elsewhere", "members")
        for layout, one in found
    ]
    return _document(elf, types=types)


def functions_json(found: Sequence[FunctionAccesses], elf: ElfIdentity) -> str:
    """The document for ``--function``; a function without addresses exists inlined only."""
    functions = [
        {
            "function": one.function,
            "low": hexadecimal(one.low),
            "high": hexadecimal(one.high),
            "accesses": _accesses(one.accesses),
        }
        for one in found
    ]
    return _document(elf, functions=functions)


def addresses_json(found: Sequence[AddressAccesses], elf: ElfIdentity) -> str:
    """The document for ``--address``."""
    addresses = [
        {
            "address": hexadecimal(one.address),
            "function": one.function,
            "into": one.into,
            "accesses": _accesses(one.accesses),
            "before": _accesses(one.before),
        }
        for one in found
    ]
    return _document(elf, addresses=addresses)


def _document(elf: ElfIdentity, **found: object) -> str:
    return json_text({"schema": SCHEMA_VERSION, "elf": elf, **found})


def _accesses(found: Sequence[CodeAccess]) -> list[Json]:
    always, optional = ("function", "into", "kind", "width", "outcome"), ("inlined", "file", "line")
    of_type = ("type", "offset", "path", "variable")
    return [
        {"address": hexadecimal(one.address), **fields_of(one, *always), **known(fields_of(one, *optional, *of_type))}
        for one in found
    ]
