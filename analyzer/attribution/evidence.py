# SPDX-License-Identifier: GPL-2.0-or-later
"""What the code says about a sampled function: the record types it can reach, and how surely.

A pasted report has no usable addresses, but its function names survive kernel builds. A function reaches the records
its parameters and variables point to (those of code inlined into it as well), and, one pointer further, the records
those point to. Source: DW_TAG_formal_parameter and DW_TAG_variable; for locks of the C library POSIX names the type.

What the access map knows of a function counts by its share of the function's accesses; the rest is left to what the
function declares and to the displacements of its operands. docs/attribution.md gives the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt

from linesmith.analyzer.attribution.code_touches import (
    BY_FUNCTION,
    UNTOUCHED,
    CodeTouches,
    SampledKinds,
    Spot,
    share_known,
    together,
    touching_leaves,
)
from linesmith.analyzer.attribution.lock import is_lock, is_opaque
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import Access, Leaf, MemberCategory, Operand, Profile, Touched

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
# Likelihoods of an access that no reached record explains: on a leaf's start, inside a leaf, on another
# object of the line, in a hole. A hole is the strongest objection: nobody loads padding.
UNEXPLAINED_LEAF = 5e-4
UNEXPLAINED_INSIDE = 1e-4
OUTSIDE = 1e-4
HOLE = 2e-6
# From this many samples on, that a function touches an offset is a fact; more samples repeat it.
CERTAIN = 64
UNKNOWN_FUNCTION = 0.3
# Share of a function's accesses to a record that use displacements of its own operands; the rest goes through
# pointers moved into the record before.
OPERAND = 0.9
# What is left of that for a displacement that the function only reads, where stores were sampled.
ONLY_READ = 0.3
# Elements of an array that lie on one line, which any of its accesses may mean.
MOST_ELEMENTS = 8


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
    for one in operands:
        for places in (every, written) if one.writes else (every,):
            places.setdefault(one.function, set()).add(one.displacement)
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
    name, functions = symbol_name(access) or "", evidence.functions
    known = functions.get(name) or functions.get(f"native_{name}")
    known = known or (_evidence_of_prefix(name, functions) if name and access.symbol_cut else _posix_evidence(name))
    instruction = None if access.code_address is None else evidence.instructions.get(access.code_address)
    known = evidence.asked[code] = known if instruction is None else replace(known, touches=instruction)
    return known


def _direct_reach(item: Touched) -> Reach:
    declared = RETURNED if item.via == "return" else INLINED if item.inlined_from else DIRECT
    quality = ON_STACK if item.by_value else declared
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
    known = reaches.get(record, reach)
    best = max(known, reach, key=lambda one: one.quality)
    reaches[record] = Reach(best.quality, known.read_only and reach.read_only, best.via)


def _evidence_of_prefix(prefix: str, functions: Mapping[str, FunctionEvidence]) -> FunctionEvidence:
    merged: dict[str, Reach] = {}
    found = [one for name, one in functions.items() if name.startswith(prefix)]
    for record, reach in (pair for one in found for pair in one.records.items()):
        _strengthen(merged, record, reach)
    operands = frozenset[int]().union(*(one.operands for one in found))
    stores = frozenset[int]().union(*(one.stores for one in found))
    return FunctionEvidence(merged, operands, stores, together(one.touches for one in found))


def _posix_evidence(name: str) -> FunctionEvidence:
    match = _POSIX_LOCK.match(name)
    if not match:
        return NOTHING
    kinds = ("mutex", "rwlock", "cond") if match[2] else (match[1],)
    return FunctionEvidence({f"pthread_{kind}_t": Reach(DIRECT, False, "POSIX") for kind in kinds})


@dataclass(frozen=True, slots=True)
class Clue:
    """Accesses of one function at one offset; ``sampled`` tells of which kinds they were.

    ``weight`` dampens counts, for samples of one place repeat one fact. ``mapped`` is the share of what the function
    does, 0 to 1, for which ``touches`` is known; each of ``spots`` is equally likely to be met.
    ``by_instruction`` tells that the instructions are known: then nothing else that their function does matters.
    """

    offset: int
    known: FunctionEvidence
    weight: float
    samples: int
    sampled: SampledKinds
    touches: CodeTouches
    mapped: float
    spots: tuple[Spot, ...]
    containment: Containment = field(compare=False, repr=False)
    by_instruction: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_instruction", bool(self.spots) and self.touches.trust > BY_FUNCTION)


def clues_of(accesses: Iterable[Access], evidence: CodeEvidence) -> tuple[Clue, ...]:
    """The accesses by function and offset, as clues."""
    grouped: dict[tuple[int, str | None], list[Access]] = {}
    for access in accesses:
        if access.offset is not None:
            grouped.setdefault((access.offset, symbol_name(access)), []).append(access)
    return tuple(_clue(offset, group, evidence) for (offset, _), group in grouped.items())


def _clue(offset: int, group: Sequence[Access], evidence: CodeEvidence) -> Clue:
    """A function that the ELF file does not know still says that its offset is no hole, and little else."""
    samples = sum(one.contended + one.stores or one.records or 0 for one in group)
    weight = min(1.0, max(0.1, log(1 + samples) / log(CERTAIN)))
    known = evidence_of(group[0], evidence)
    touches = together(evidence_of(access, evidence).touches for access in group)
    sampled = sampled_kinds(group)
    spots = tuple(spot for spot, counts in touches.spots.items() if sampled.suits(counts))
    judged = weight if known.records or spots else weight * UNKNOWN_FUNCTION
    mapped = share_known(touches, sampled)
    return Clue(offset, known, judged, samples, sampled, touches, mapped, spots, evidence.containment)


def sampled_kinds(group: Iterable[Access]) -> SampledKinds:
    """Which kinds were sampled; only loads are contended, except those stores that a recording saw take the line."""
    kinds = [(access.contended > (access.taken or 0), access.stores > 0) for access in group]
    return SampledKinds(any(loaded for loaded, _ in kinds), any(stored for _, stored in kinds))


def reach_likelihood(clue: Clue, record: str, layout: int, offset: int) -> float:
    """Likelihood of the leaf at ``offset`` of a record that is reached: what the map leaves open is shared out.

    The record is one among all reached, the leaf one among its leaves. Where the function's operands are known, leaves
    at their displacements are what it touches, mostly.
    """
    starts = clue.containment.starts(layout)
    quality = (1.0 - clue.mapped) * clue.known.records[record].quality / clue.known.total
    if offset not in clue.known.operands:
        left = 1 - OPERAND if clue.known.operands else 1.0
        return max(quality * left / sqrt(max(len(starts), 1)), UNEXPLAINED_LEAF)
    doubt = ONLY_READ if clue.sampled.stored and offset not in clue.known.stores else 1.0
    return max(quality * doubt * OPERAND / len(clue.known.operands & starts | {offset}), 2 * UNEXPLAINED_LEAF)


def touch_likelihood(clue: Clue) -> float:
    """Likelihood of one of the spots that the function really touches."""
    return max(clue.mapped / len(clue.spots), 2 * UNEXPLAINED_LEAF) if clue.spots else 0.0


def probability(clue: Clue, layout: int, offset: int) -> tuple[float, bool]:
    """Likelihood that the clue met ``offset`` of a layout, and whether there is a reason that it did."""
    containment, by_instruction = clue.containment, clue.by_instruction
    if not containment.holds(layout, offset):
        return OUTSIDE, False
    leaves = containment.leaves(layout, offset)
    if not leaves:
        return HOLE, False
    reasoned = 0.0 if by_instruction else max(_leaf_probability(leaf, offset, clue) for leaf in leaves)
    if sure := touched(clue, layout, offset):
        several = clue.touches.trust <= BY_FUNCTION
        elements = min(containment.multiplicity(layout, offset), MOST_ELEMENTS) if several else 1
        reasoned += touch_likelihood(clue) * sure / elements
    if reasoned > 0:
        return reasoned, True
    if leaves[0].offset != offset:
        return UNEXPLAINED_INSIDE, False
    # What is known of all code of a function speaks against the leaf, too. An instruction touches another object's.
    return UNEXPLAINED_LEAF if by_instruction else max(UNEXPLAINED_LEAF * (1.0 - clue.mapped), OUTSIDE), False


def touched(clue: Clue, layout: int, offset: int) -> float:
    """How surely the function touches ``offset`` of this layout: 1, less where it knows a part only, 0 if it does not.

    Code that walks a list knows links only. If it also works on a record that holds such links, it is that one's
    link, or that of another object one pointer further.
    """
    if not clue.spots or clue.touches.records.isdisjoint(clue.containment.records_at(layout, offset)):
        return 0.0
    met = touching_leaves(clue.touches, clue.sampled, layout, offset, clue.containment)
    return max((_as_held(clue, leaf, number) for leaf, number in met), default=0.0)


def _as_held(clue: Clue, leaf: Leaf, number: int) -> float:
    if number < 0:
        return 1.0
    named = {name for name, reach in clue.known.records.items() if reach.quality >= INLINED}
    part = leaf.entered[number].record
    around = {clue.containment.layouts.by_id(one.record).name for one in leaf.entered[:number]}
    name = clue.containment.layouts.by_id(part).name
    holders = clue.containment.names_of_holders(part) - {other for other, _ in clue.containment.same_memory(name)}
    # What takes a lock that it was given takes anybody's, also that of a task that it runs in.
    given = name in named and is_lock(name)
    return 1.0 if given or around & named or not holders & named else POINTS_INTO_ANOTHER


def _leaf_probability(leaf: Leaf, offset: int, clue: Clue) -> float:
    """Likelihood of the best reason that the function has to reach byte ``offset`` of the hypothesis's type."""
    if any(is_opaque(record) and record not in clue.known.records for record, _ in leaf.chain):
        return 0.0
    # A raw_spinlock may come from any spinlock_t.
    named = (
        (*one, entered.offset)
        for entered in leaf.entered
        for one in clue.containment.same_memory(clue.containment.layouts.by_id(entered.record).name)
    )
    known = ((name, layout, offset - begin) for name, layout, begin in named if name in clue.known.records)
    return max((_declared(clue, *one) for one in known), default=0.0)


def _declared(clue: Clue, record: str, layout: int, offset: int) -> float:
    """Likelihood of a byte of a reached record; of an array's elements each is reached by the array's displacement."""
    elements = clue.containment.multiplicity(layout, offset)
    if elements == 1:
        return reach_likelihood(clue, record, layout, offset)
    _, first = clue.containment.folded(layout, offset)
    by_index = max(reach_likelihood(clue, record, layout, first) / elements, UNEXPLAINED_LEAF)
    return by_index if offset == first else max(by_index, reach_likelihood(clue, record, layout, offset))


def quality(clue: Clue, layout: int, offset: int) -> float:
    """How surely the function works on a record that the layout has at the clue's offset."""
    chained = {record for leaf in clue.containment.leaves(layout, offset) for record, _ in leaf.chain}
    records = {name for record in chained for name, _ in clue.containment.same_memory(record)}
    reached = max((clue.known.records[name].quality for name in records & clue.known.records.keys()), default=0.0)
    return max(touched(clue, layout, offset), (1.0 - clue.mapped) * reached)
