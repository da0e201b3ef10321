# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates and patches: proposed layouts, what they cost, and the source edit that makes them.

Where no order of members can win there is structural advice instead. A candidate is called by a word made of the
layout that it proposes, the same whatever else is proposed with it; numbers count what is offered, which depends on
what is known of the source, on the growth allowed, on a trace. What a change is expected to save in misses, who meets
on a line in which phases, and memory come first.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from hashlib import blake2b

from linesmith.analyzer.model.layout import CACHE_LINE_BYTES, Layout, MemberPair
from linesmith.analyzer.model.slab import SlabBasis


class MoveKind(StrEnum):
    """The ways in which a candidate differs from the layout it starts from."""

    MOVE = "move"
    SWAP = "swap"
    FILL_HOLE = "move into a hole"
    ALIGN = "align"


class Strategy(StrEnum):
    """How a candidate was found, the smallest change first; the value is what a user reads."""

    MOVE = "one move"
    SWAP = "one swap"
    HOLE = "a move into a hole"
    ALIGN = "an alignment"
    TWO_MOVES = "two moves"
    ISOLATE = "one member alone on its line"
    GROUP = "hot members together"
    PACKED = "packed anew"
    SEVERAL = "several moves"


@dataclass(frozen=True, slots=True)
class Churn:
    """What a reviewer reads: ``members`` that move, ``lines`` of source that a diff removes or adds.

    They move as so many ``atoms``: lines of source that stay together.
    """

    members: int
    lines: int
    atoms: int


@dataclass(frozen=True, slots=True)
class Move:
    """One step of a candidate: ``member`` goes behind ``after`` (``None``: to the front).

    A swap names its partner in ``partner``; ``align`` is the new explicit alignment in bytes. An anonymous record
    goes by the first name inside it. ``members`` are all that move as one atom, in order, where they are several.
    """

    kind: MoveKind
    member: str
    after: str | None = None
    partner: str | None = None
    align: int | None = None
    members: tuple[str, ...] = ()

    @property
    def clause(self) -> str:
        """The move as an imperative clause."""
        if self.kind is MoveKind.ALIGN:
            return f"align {self.member} to {self.align} bytes"
        if self.kind is MoveKind.SWAP:
            return f"swap {self.member} and {self.partner}"
        whole = f" (with {', '.join(self.members[1:])})" if len(self.members) > 1 else ""
        return f"move {self.member}{whole} {f'after {self.after}' if self.after else 'to the front'}"


@dataclass(frozen=True, slots=True)
class Residual(MemberPair):
    """Share of the possible object phases in which two members still meet on one line of ``line_bytes``."""

    line_bytes: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class PlacePhases:
    """Where objects can start in a line of ``line_bytes``: ``phases`` as (byte, share of the objects), shares add to 1.

    ``place`` says where these objects lie (``ext4_inode_cache, vfs_inode.i_data``), empty where only the record's
    alignment is known and every multiple of it counts the same.
    """

    place: str
    line_bytes: int
    phases: tuple[tuple[int, float], ...]
    basis: SlabBasis | None = None


@dataclass(frozen=True, slots=True)
class PhaseProof(MemberPair):
    """In which phases two members still share a line: ``together`` of ``phases``, with ``share`` of the objects.

    Two members never meet, wherever an object starts, when ``together`` is 0 and ``place`` is empty: then every
    multiple of the record's alignment was looked at.
    """

    place: str
    line_bytes: int
    phases: int
    together: int
    share: float


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What ``objects`` cost in a slab ``cache``; sizes in bytes, ``pages_per_1000`` pages for 1,000 objects."""

    cache: str
    basis: SlabBasis
    object_bytes: int
    stride: int
    order: int
    objects_per_slab: int
    pages_per_1000: int
    bytes_per_100000: int


@dataclass(frozen=True, slots=True)
class HolderChange:
    """What becomes of a record that holds the changed one by value: its size in bytes ``before`` and ``after``.

    ``memory`` is what its objects cost before and after, where they have a slab cache of their own.
    """

    record: str
    before: int
    after: int
    memory: tuple[MemoryUse, MemoryUse] | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of a share: 80 % of what resampling the runs gives lies between them."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Misses of ``victim`` by the doing of stores to ``writer``, before and after; both are members of the object."""

    victim: str
    writer: str
    true_sharing: bool
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """Members that a change puts on one line, those with the most misses first, and their misses before and after."""

    members: tuple[str, ...]
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a change does to the misses on all lines that hold objects of the record, their neighbours included.

    ``before`` and ``after`` are expected numbers: the mean of ``runs``, one for a recorded trace, and of as many
    ``phases`` in which the objects may begin. ``runs`` is 0 where nothing could be replayed, and the numbers are
    estimated. ``interval`` is that of ``change``, ``whole`` all misses of the profile as it is. ``lines`` and ``pairs``
    are those with the largest difference. ``accesses`` to ``objects`` objects were replayed, on lines of
    ``line_bytes``. ``refusal`` tells why nothing is known.
    """

    before: float = 0.0
    after: float = 0.0
    interval: Interval = Interval(0.0, 0.0)
    whole: float = 0.0
    lines: tuple[JudgedLine, ...] = ()
    pairs: tuple[JudgedPair, ...] = ()
    runs: int = 0
    phases: int = 1
    line_bytes: int = CACHE_LINE_BYTES
    objects: int = 0
    accesses: int = 0
    remarks: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def saved(self) -> float:
        """Misses that go away, negative where some come."""
        return self.before - self.after

    @property
    def change(self) -> float:
        """Misses after, less those before, as a share of those before; 0 where there are none."""
        return -self.saved / self.before if self.before else 0.0

    @property
    def better(self) -> bool:
        """Whether the record gets better in all of the interval."""
        return self.change < 0 and self.interval.high < 0

    @property
    def by_pair(self) -> dict[tuple[str, str], tuple[float, float]]:
        """Misses before and after by the member that misses and the one stored to; true and false sharing as one."""
        sums: dict[tuple[str, str], tuple[float, float]] = {}
        for one in self.pairs:
            before, after = sums.get((one.victim, one.writer), (0.0, 0.0))
            sums[one.victim, one.writer] = before + one.before, after + one.after
        return sums


NOT_JUDGED = Judgement()


@dataclass(frozen=True, slots=True)
class Sharded:
    """``members`` of a record in ``ways`` copies, chosen ``by`` the number of the CPU or of its node.

    The judgement is the best case: every access goes to one copy only.
    """

    type: str
    members: tuple[str, ...]
    ways: int
    by: str
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed layout, with what it costs and what it is expected to gain.

    ``before`` and ``after`` are the record whose members move: that called ``type``, or an anonymous struct inside it.
    ``memory`` is what objects cost in their slabs before and after, ``judgement`` what the change does to misses;
    ``recommended`` is the reason why this one is, empty for all others. ``doubt`` is a sentence, the first of
    ``notes``, where the record may not be there, and ``split`` one of them on members that come to lie on two lines.
    ``proofs`` hold every place where objects are known to lie, and every start.
    ``holders`` are the records around it that get another size, the costliest first. ``granules`` are the bytes
    between the places at which objects start before and after, ``None`` where only the record's alignment tells, and
    ``firsts`` the first of these places in a pair of lines, where objects are variables: of one there is one place. The
    caches ``loose`` put objects elsewhere than that alignment allows. ``exposed`` is how many members that the profile
    does not have newly meet a written one, each as far as it is probably used.
    """

    type: str
    before: Layout
    after: Layout
    moves: tuple[Move, ...]
    residuals: tuple[Residual, ...]
    lines: int
    constraints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    strategy: Strategy = Strategy.MOVE
    memory: tuple[tuple[MemoryUse, ...], tuple[MemoryUse, ...]] = ((), ())
    judgement: Judgement = NOT_JUDGED
    churn: Churn = Churn(0, 0, 0)
    proofs: tuple[PhaseProof, ...] = ()
    recommended: str = ""
    doubt: str = ""
    holders: tuple[HolderChange, ...] = ()
    granules: tuple[int, int] | None = None
    firsts: tuple[int, int] | None = None
    loose: tuple[str, ...] = ()
    split: str = ""
    exposed: float = 0.0

    @property
    def steps(self) -> tuple[int, int]:
        """Bytes between the places at which objects can start, before and after, as far as it is known."""
        if self.granules is not None:
            return self.granules
        before, after = (max(one.natural_alignment, one.alignment or 1) for one in (self.before, self.after))
        return before, after

    @property
    def moved(self) -> frozenset[str]:
        """Members that move or change places."""
        return frozenset(name for move in self.moves for name in (move.member, move.partner, *move.members) if name)


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """A commit message in parts, in the order in which they stand in it; each is wrapped, and empty ones are left out.

    ``trouble`` is who meets on the line with the evidence, ``starts`` in how many places of an object members share a
    line, ``cost`` its size and memory. ``below`` is for reviewers: it stands below the ``---`` of a mail and is no part
    of the commit.
    """

    subject: str
    trouble: str = ""
    change: str = ""
    layout: str = ""
    starts: str = ""
    cost: str = ""
    compiled: str = ""
    unchecked: str = ""
    below: str = ""

    def __str__(self) -> str:
        """The message: a subject, an empty line, paragraphs; no trailers."""
        parts = (getattr(self, one.name) for one in fields(self) if one.name != "below")
        return "\n\n".join(part for part in parts if part) + "\n"


@dataclass(frozen=True, slots=True)
class Patch:
    """A source edit: ``diff`` applies with ``git apply`` and ``patch -p1``; ``message`` carries no sign-off.

    ``verified`` says by what the edit was confirmed, empty when it was not. ``exact`` tells that the tree's layouts are
    those of the ELF file, so that the candidate's layout came out to the bit. ``commands`` were run, or would be.
    ``candidate`` is its number, ``name`` what it is called in any list.
    A byte of ``diff`` that is no UTF-8 is a lone surrogate, as ``surrogateescape`` makes it.
    """

    type: str
    file: str
    diff: str
    message: CommitMessage
    verified: str
    candidate: int
    exact: bool = True
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    name: str = ""


# Without vowels they are no words of a language, and none is a number.
LETTERS = "bcdfghjklmnpqrst"
LENGTH = 5


def candidate_name(candidate: Candidate) -> str:
    """``LENGTH`` of the ``LETTERS``; of two candidates of one profile the same in one case of a million.

    It is made of the members, where they lie, and the alignment they ask for.
    """
    members = (
        f"{one.name} {one.offset if one.bit_offset is None else f'{one.bit_offset} bits'} {one.alignment or 0}"
        for one in candidate.after.members
    )
    text = "\n".join((candidate.type, *members))
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=LENGTH).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest)


class StructureKind(StrEnum):
    """The kinds of change; the value is what a user reads."""

    SHARD = "shard"
    PULL_IN = "pull in"
    PUSH_OUT = "push out"
    SHRINK = "shrink"
    READ_FIRST = "read before write"
    COUNT_APART = "count per CPU"


ONE_COPY = "if each access needs one copy only"


@dataclass(frozen=True, slots=True)
class Gain:
    """What replaying a trace says of ``ways`` copies chosen ``by`` CPU or node: misses of the record before and after.

    ``low`` and ``high`` bound the change as a share of the misses before. ``basis`` says what was replayed, ``whole``
    are all misses of the profile.
    """

    ways: int
    by: str
    before: int
    after: int
    low: float
    high: float
    basis: str
    whole: int = 0

    @property
    def is_limit(self) -> bool:
        """Whether no more can be saved: an access to members that are split may need more than one copy."""
        return self.ways > 1 and self.after < self.before and self.basis.startswith(ONE_COPY)


@dataclass(frozen=True, slots=True)
class Accessor:
    """A function that reaches the members of an advice: how often it was sampled, and which of them it touches."""

    function: str
    samples: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    holds_lock: bool | None = None


@dataclass(frozen=True, slots=True)
class StructuralAdvice:
    """One change of the structure of ``type``: what happens to ``members``, why, and what it costs in memory.

    ``accessors`` are functions that would have to change, the most sampled first. ``before`` and ``after`` are the
    layouts where they are known; ``memory_before`` has a row for each object that is allocated (those add up),
    ``memory_after`` likewise. ``gains`` are of a replay, ``notes`` say what it rests on and what it leaves open.
    """

    kind: StructureKind
    type: str
    members: tuple[str, ...]
    sentence: str
    reasons: tuple[str, ...] = ()
    accessors: tuple[Accessor, ...] = ()
    gains: tuple[Gain, ...] = ()
    before: tuple[Layout, ...] = ()
    after: tuple[Layout, ...] = ()
    memory_before: tuple[MemoryUse, ...] = ()
    memory_after: tuple[MemoryUse, ...] = ()
    notes: tuple[str, ...] = ()
