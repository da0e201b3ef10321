# SPDX-License-Identifier: GPL-2.0-or-later
"""What the code says about a sampled function: the record types it can reach, and how surely.

A pasted report has no usable addresses, but its function names survive kernel builds. A function reaches the
records its parameters and variables point to (those of code inlined into it as well), and, one pointer
further, the records those point to. Source: DW_TAG_formal_parameter and DW_TAG_variable through
``dwarf.touched``; for C library locks, whose code is not in the program, POSIX names the type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from linesmith.analyzer.attribution.code_touches import UNTOUCHED, CodeTouches, together
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import Access, MemberCategory, Operand, Profile, Touched

# How likely a function works on a record of a variable's type, by the way it came to the variable.
DIRECT = 1.0
INLINED = 0.8
RETURNED = 0.5
ONE_POINTER_FURTHER = 0.3
ON_STACK = 0.1
# A pointer to a record that another reached record holds (the atomic in a semaphore) is taken to point into it.
POINTS_INTO_ANOTHER = 0.1

# Links (list_head, rb_node) are small and lie in everything; other records of a variable are objects of their own.
LINK_BYTES = 32
# Static keys are patched into the code and tracepoints sleep: code that names them does not touch them.
DORMANT = frozenset({"static_key", "static_key_false", "static_key_true", "tracepoint", "tracepoint_func", "_ddebug"})

# A hub such as task_struct points to everything; what it points to says nothing about one function.
HUB_POINTERS = 24
# Records nest less deeply in real programs; the bound keeps damaged input from recursing for ever.
DEPTH = 12

_CLONE_SUFFIX = re.compile(r"\.(?:isra|constprop|part|cold|llvm|lto_priv)(?:\.\d+)*$")
# Of an access the function, whether perf cut its name, and the address.
_Code = tuple[str | None, bool, int | None]
_POSIX_LOCK = re.compile(r"(?:__GI_)?_*pthread_(mutex|rwlock|cond|barrier)_|_*(lll)_(?:un)?lock_")


@dataclass(frozen=True, slots=True)
class Reach:
    """How a function reaches a record: ``quality`` 0 … 1, and whether only through pointers to const."""

    quality: float
    read_only: bool
    via: str


@dataclass(frozen=True, slots=True)
class FunctionEvidence:
    """What one function can do: the records it reaches, and the displacements of its memory operands (bytes).

    ``operands`` are those read or written, ``stores`` those written; both empty where the code is not at hand.
    ``touches`` is what it really does, as far as the access map knows; ``total`` the sum of the qualities, at least 1.
    """

    records: Mapping[str, Reach]
    operands: frozenset[int] = frozenset()
    stores: frozenset[int] = frozenset()
    touches: CodeTouches = UNTOUCHED

    total: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", max(1.0, sum(reach.quality for reach in self.records.values())))


NOTHING = FunctionEvidence({})


@dataclass(frozen=True, slots=True)
class CodeEvidence:
    """What is known by function name, and what single instructions touch, by the code addresses of the profile.

    ``sources`` tells where these were written (``mm/mmap.c:120``), as far as the ELF file says.
    ``containment`` are the layouts that it speaks of, ``asked`` is what was found for the code of accesses so far.
    """

    containment: Containment
    functions: Mapping[str, FunctionEvidence]
    instructions: Mapping[int, CodeTouches]
    sources: Mapping[int, str] = field(default_factory=dict)
    asked: dict[_Code, FunctionEvidence] = field(default_factory=dict, init=False, compare=False, repr=False)


def symbol_name(access: Access) -> str | None:
    """The access's function without compiler suffixes (``foo.isra.0`` is ``foo``), or ``None``."""
    return _CLONE_SUFFIX.sub("", access.function) if access.function else None


def function_names(profile: Profile) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The function names of a profile: whole ones, and prefixes where perf cut the symbol."""
    told = {(access.function, access.symbol_cut): access for line in profile.lines for access in line.accesses}
    whole = {symbol_name(access) for access in told.values() if not access.symbol_cut}
    cut = {symbol_name(access) for access in told.values() if access.symbol_cut}
    # Paravirtualised kernels call native_X where others call X; either name may stand in the report.
    whole |= {f"native_{name}" for name in whole if name}
    return tuple(sorted(filter(None, whole))), tuple(sorted(filter(None, cut)))


def gather(
    touched: Iterable[Touched],
    operands: Iterable[Operand],
    containment: Containment,
    touches: Mapping[str, CodeTouches],
    instructions: Mapping[int, CodeTouches],
) -> CodeEvidence:
    """Evidence from what the code of one ELF file declares, does, and by the access map really touches.

    ``touches`` are by function name, ``instructions`` by code address; there are none where there is no map.
    """
    layouts = containment.layouts
    found: dict[str, dict[str, Reach]] = {}
    for item in touched:
        if item.record not in DORMANT:
            _strengthen(found.setdefault(item.function, {}), item.record, _direct_reach(item))
    for reaches in found.values():
        for record, reach in _one_pointer_further(reaches, layouts):
            _strengthen(reaches, record, reach)
        _discount_parts(reaches, layouts)
    every: dict[str, set[int]] = {}
    written: dict[str, set[int]] = {}
    for operand in operands:
        every.setdefault(operand.function, set()).add(operand.displacement)
        if operand.writes:
            written.setdefault(operand.function, set()).add(operand.displacement)
    functions = {
        name: FunctionEvidence(
            found.get(name, {}),
            frozenset(every.get(name, ())),
            frozenset(written.get(name, ())),
            touches.get(name, UNTOUCHED),
        )
        for name in dict.fromkeys((*found, *touches))
    }
    return CodeEvidence(containment, functions, instructions)


def evidence_of(access: Access, evidence: CodeEvidence) -> FunctionEvidence:
    """The evidence for the access: by its function, and by its instruction where that is known.

    A symbol that perf cut stands for all functions that begin so.
    """
    code = access.function, access.symbol_cut, access.code_address
    if (before := evidence.asked.get(code)) is not None:
        return before
    name, functions = symbol_name(access), evidence.functions
    if name is None:
        known = NOTHING
    elif found := functions.get(name) or functions.get(f"native_{name}"):
        known = found
    else:
        known = _evidence_of_prefix(name, functions) if access.symbol_cut else _posix_evidence(name)
    instruction = None if access.code_address is None else evidence.instructions.get(access.code_address)
    known = evidence.asked[code] = known if instruction is None else replace(known, touches=instruction)
    return known


def _direct_reach(item: Touched) -> Reach:
    quality = INLINED if item.inlined_from else DIRECT
    if item.via == "return":
        quality = RETURNED
    if item.by_value:
        quality = ON_STACK
    where = f" of {item.inlined_from} (inlined)" if item.inlined_from else ""
    return Reach(quality, item.read_only, f"{item.via} {item.variable}{where}")


def _discount_parts(reaches: dict[str, Reach], layouts: Layouts) -> None:
    """Inlined code (``atomic_read``, ``list_del``) works on parts of what its caller works on; in place.

    So does a local pointer to a link (``rb_node``): it walks through the records that the parameters name.
    """
    whole = [record for record, reach in reaches.items() if reach.quality >= INLINED]
    parts = {part for record in whole for part in _parts(record, layouts)}
    for record, reach in reaches.items():
        link = any(layout.size <= LINK_BYTES for layout in layouts.variants(record)[:1])
        local = reach.quality < DIRECT or (link and not reach.via.startswith("parameter"))
        if record in parts and local:
            reaches[record] = replace(reach, quality=min(reach.quality, POINTS_INTO_ANOTHER))


def _parts(record: str, layouts: Layouts) -> set[str]:
    """Names of all records that ``record`` holds by value, at any depth."""
    parts: set[str] = set()
    frontier = [layout.id for layout in layouts.variants(record)[:1]]
    for _ in range(DEPTH):
        members = [member for one in frontier for member in layouts.by_id(one).members]
        frontier = [member.record for member in members if member.record is not None]
        parts |= {layouts.by_id(one).name for one in frontier}
    return parts - {"", record}


def _one_pointer_further(reaches: Mapping[str, Reach], layouts: Layouts) -> list[tuple[str, Reach]]:
    further = []
    for record, reach in reaches.items():
        members = [member for layout in layouts.variants(record)[:1] for member in layout.members]
        pointers = {m.target: m.name for m in members if m.target and m.category is MemberCategory.POINTER}
        if len(pointers) <= HUB_POINTERS:
            quality = reach.quality * ONE_POINTER_FURTHER
            further += [(target, Reach(quality, False, f"{record}.{name}")) for target, name in pointers.items()]
    return further


def _strengthen(reaches: dict[str, Reach], record: str, reach: Reach) -> None:
    known = reaches.get(record)
    if known is None:
        reaches[record] = reach
        return
    best = max(known, reach, key=lambda one: one.quality)
    reaches[record] = Reach(best.quality, known.read_only and reach.read_only, best.via)


def _evidence_of_prefix(prefix: str, functions: Mapping[str, FunctionEvidence]) -> FunctionEvidence:
    merged: dict[str, Reach] = {}
    found = [one for name, one in functions.items() if name.startswith(prefix)]
    for one in found:
        for record, reach in one.records.items():
            _strengthen(merged, record, reach)
    nothing: frozenset[int] = frozenset()
    operands = nothing.union(*(one.operands for one in found))
    stores = nothing.union(*(one.stores for one in found))
    return FunctionEvidence(merged, operands, stores, together(one.touches for one in found))


def _posix_evidence(name: str) -> FunctionEvidence:
    match = _POSIX_LOCK.match(name)
    if not match:
        return NOTHING
    kinds = ("mutex", "rwlock", "cond") if match[2] else (match[1],)
    return FunctionEvidence({f"pthread_{kind}_t": Reach(DIRECT, False, "POSIX") for kind in kinds})
