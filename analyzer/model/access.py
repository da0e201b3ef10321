# SPDX-License-Identifier: GPL-2.0-or-later
"""What the instructions of a program touch, as the access map tells it, and who called them.

Addresses are those of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile


class AccessKind(StrEnum):
    """What an instruction does to memory; the order is that of the native core.

    A read-write is an update by one instruction that other CPUs may come between; an atomic one is not.
    """

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read-write"
    ATOMIC = "atomic"


class AccessOutcome(StrEnum):
    """What became of an access: every one has exactly one outcome. The order is that of the native core."""

    VARIABLE = "variable"
    PROPAGATION = "propagation"
    GLOBAL = "global"
    PER_CPU = "per-CPU"
    STACK = "stack"
    NO_TYPES = "no type information"
    UNTYPED = "untyped pointer"
    SCALAR = "scalar arithmetic"
    OUTSIDE = "outside the type"
    HOLE = "hole"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"
    PATCHED = "patched text"
    UNDECODED = "undecodable"
    ABSOLUTE = "fixed address"
    INDEXED = "unknown index"

    @property
    def resolved(self) -> bool:
        """Whether type and offset of what is touched are known."""
        return self in _RESOLVED

    @property
    def counts(self) -> bool:
        """Whether an access of this outcome could touch an object that others share: no stack, no patched text."""
        return self not in (AccessOutcome.STACK, AccessOutcome.PATCHED)


_RESOLVED = frozenset((AccessOutcome.VARIABLE, AccessOutcome.PROPAGATION, AccessOutcome.GLOBAL, AccessOutcome.PER_CPU))


def spot(function: str, into: int | None) -> str:
    """A place in code as symbols tell it; ``None`` is a part of the function that lies apart."""
    return f"{function} (a part that lies apart)" if into is None else f"{function}+{into:#x}"


@dataclass(frozen=True, slots=True)
class CodeAccess:
    """One access by one instruction, ``into`` bytes into ``function``; ``None`` in a part that lies apart (cold code).

    ``inlined`` names the inlined functions that the instruction comes from, outermost first; ``file`` and ``line``
    are where it was written. ``width`` is in bytes, 0 where it is not known. ``type`` is the outermost type known and
    ``offset`` the bytes into it; ``path`` is the innermost member there, ``""`` where there is none. Of an access that
    is not resolved, type and offset are those of the address it is counted from. ``variable``
    names the global or per-CPU variable.
    """

    address: int
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

    @property
    def place(self) -> str:
        """What is touched, as C code writes it: ``struct inode.i_data.nrpages``; ``""`` where it is not known."""
        if self.type is None:
            return ""
        if self.path:
            return f"{self.type}.{self.path}"
        return f"{self.type}+{self.offset:#x}" if self.offset else self.type

    @property
    def spot(self) -> str:
        """Where the instruction is: ``vma_interval_tree_remove+0x12``."""
        return spot(self.function, self.into)


@dataclass(frozen=True, slots=True)
class AccessCounts:
    """How many accesses there are of each kind."""

    reads: int = 0
    writes: int = 0
    updates: int = 0
    atomics: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.reads + self.writes + self.updates + self.atomics

    @property
    def reading(self) -> int:
        """Those that read, whether or not they write as well."""
        return self.total - self.writes

    @property
    def writing(self) -> int:
        """Those that write, whether or not they read as well."""
        return self.total - self.reads


@dataclass(frozen=True, slots=True)
class FunctionCounts:
    """The accesses of one function to one thing; inlined code counts for the function that it was inlined into."""

    function: str
    counts: AccessCounts


@dataclass(frozen=True, slots=True)
class HandedAddress:
    """A call by which the address of a member gets ``to`` a function; ``inlined`` as in ``CodeAccess``."""

    to: str
    function: str
    inlined: tuple[str, ...] = ()
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class MemberAccesses:
    """Who touches a member (``path`` at ``offset``, ``size`` bytes); functions with the most accesses first.

    ``alternatives`` are other members of unions with the same bytes: which one is meant the code does not tell. Of a
    member that nobody is known to touch ``alone`` is the type, where some code touches one that may be it. ``handed``
    are the calls that hand on its address, where one member was asked for.
    """

    path: str
    offset: int
    size: int
    counts: AccessCounts
    functions: tuple[FunctionCounts, ...]
    alternatives: tuple[str, ...] = ()
    alone: str = ""
    handed: tuple[HandedAddress, ...] = ()

    @property
    def readers(self) -> tuple[str, ...]:
        """Functions that read it."""
        return tuple(one.function for one in self.functions if one.counts.reading)

    @property
    def writers(self) -> tuple[str, ...]:
        """Functions that write it."""
        return tuple(one.function for one in self.functions if one.counts.writing)


@dataclass(frozen=True, slots=True)
class Embedding:
    """Accesses whose outermost known type holds the type asked for: ``struct inode`` at ``i_data``."""

    type: str
    path: str
    offset: int
    accesses: int


@dataclass(frozen=True, slots=True)
class TypeAccesses:
    """Who touches the members of one layout (an id), by offset.

    ``counts`` counts each access once; one that is wider than a member counts for every member it covers.
    ``embeddings`` tell the accesses that come by way of an outer type, most first; ``elsewhere`` are those that fall
    on no member (holes).
    """

    layout: int
    counts: AccessCounts
    functions: int
    members: tuple[MemberAccesses, ...]
    embeddings: tuple[Embedding, ...] = ()
    elsewhere: AccessCounts = AccessCounts()


@dataclass(frozen=True, slots=True)
class FunctionAccesses:
    """Every access of a function's code, by address; inlined code included.

    A function that only exists inlined has ``low`` and ``high`` ``None``, and the accesses of all its copies.
    """

    function: str
    low: int | None
    high: int | None
    accesses: tuple[CodeAccess, ...]


@dataclass(frozen=True, slots=True)
class AddressAccesses:
    """What the instruction at ``address`` touches; nothing when it touches no memory.

    ``before`` are the accesses of the last instruction before it in the same function that touches any: a sample
    often names the instruction behind the one that it is about.
    """

    address: int
    function: str
    into: int | None
    accesses: tuple[CodeAccess, ...]
    before: tuple[CodeAccess, ...] = ()

    @property
    def spot(self) -> str:
        """Where the instruction is: ``vma_interval_tree_remove+0x12``."""
        return spot(self.function, self.into)


@dataclass(frozen=True, slots=True)
class AccessSummary:
    """How the accesses of a file ended: ``outcomes`` has every outcome once, and its counts sum to ``accesses``."""

    accesses: int
    functions: int
    types: int
    kinds: AccessCounts
    outcomes: tuple[tuple[AccessOutcome, int], ...]

    @property
    def resolved(self) -> int:
        """Accesses with known type and offset."""
        return sum(count for outcome, count in self.outcomes if outcome.resolved)

    @property
    def resolvable(self) -> int:
        """Accesses that are neither to the stack nor in patched text."""
        return sum(count for outcome, count in self.outcomes if outcome.counts)

    @property
    def coverage(self) -> float:
        """Share of the resolvable accesses that are resolved, from 0 to 1; 1 where there are none."""
        return self.resolved / self.resolvable if self.resolvable else 1.0


# Call paths of one access, and functions of one of them: enough to lead out of the helpers of locks and lists.
MOST_CALL_PATHS = 8
MOST_CALLERS = 4


@dataclass(frozen=True, slots=True)
class CallPath:
    """Contended accesses whose code was reached the same way: ``functions`` from the one that called it outwards.

    ``returns`` are the addresses where they go on, as they ran, where only these are known.
    """

    functions: tuple[str, ...]
    count: int
    returns: tuple[int, ...] = ()

    def named(self, name: Callable[[int], str | None]) -> CallPath:
        """The same path with the functions that ``name`` finds at the addresses, up to the first without a name."""
        if not self.returns:
            return self
        found = tuple(takewhile(bool, map(name, self.returns)))
        return replace(self, functions=tuple(filter(None, found)), returns=()) if found else self
