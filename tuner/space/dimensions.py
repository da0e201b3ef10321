# SPDX-License-Identifier: GPL-2.0-or-later
"""The decisions that are worth searching: where each hot member goes, and how it is aligned.

Not every order: of all places for a member those are kept that differ in the line it comes to, in whom it meets there,
and in the size of the record. Of places that do not differ so, the one that is predicted cheapest stands for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES, Candidate, Move, MoveKind
from linesmith.tuner.arrangement import moves, unchanged
from linesmith.tuner.conflict import meets, residual_share
from linesmith.tuner.placement import round_up
from linesmith.tuner.search import Option, price
from linesmith.tuner.space.composition import Choice, composed
from linesmith.tuner.space.estimate import estimate
from linesmith.tuner.space.hot_record import HotRecord, straddling
from linesmith.tuner.subject import Subject

# Members that get dimensions, the hottest; the others can still be moved out of their way by a candidate's choice.
MOST_MEMBERS = 4
# Of those, members that get a dimension for their alignment.
MOST_ALIGNED = 2
# Places of one member beside the one it has.
MOST_PLACES = 5
AS_IT_IS = Choice("as it is")


@dataclass(frozen=True, slots=True)
class Decision:
    """A dimension with what each of its choices does; the first is as it is now."""

    name: str
    choices: tuple[Choice, ...]


def decisions(record: HotRecord, candidates: Sequence[Candidate], growth: int) -> tuple[Decision, ...]:
    """The dimensions, each with all that ``candidates`` choose in it, though they may grow by ``growth`` bytes only."""
    target = record.subject
    hot = hottest(record)[:MOST_MEMBERS]
    found: dict[str, list[Choice]] = {}
    for atom in hot:
        found[f"place of {target.parts[atom].name}"] = [AS_IT_IS, *_places(record, atom, growth)]
    for atom in hot[:MOST_ALIGNED] if target.may_resize else ():
        found[f"alignment of {target.parts[atom].name}"] = [AS_IT_IS, *_alignments(record, atom, growth)]
    for move in (move for candidate in candidates for move in candidate.moves):
        name, choice = chosen(move)
        known = found.setdefault(name, [AS_IT_IS])
        if choice not in known:
            known.append(choice)
    return tuple(Decision(name, tuple(choices)) for name, choices in found.items() if len(choices) > 1)


def chosen(move: Move) -> tuple[str, Choice]:
    """The dimension that a candidate's move decides, and how."""
    if move.kind is MoveKind.ALIGN:
        return f"alignment of {move.member}", Choice(f"{move.align} bytes", (move,))
    if move.kind is MoveKind.SWAP:
        return f"place of {move.member}", Choice(f"swapped with {move.partner}", (move,))
    plain = Move(MoveKind.MOVE, move.member, after=move.after, members=move.members)
    where = f"behind {move.after}" if move.after else "at the front"
    return f"place of {move.member}", Choice(where, (plain,))


def hottest(record: HotRecord) -> list[int]:
    """Atoms with hot members that may move, those that cost most first; of equal ones the written before the read."""
    target = record.subject
    heat = {spot: [0.0, float(spot.written), float(spot.samples)] for spot in target.heat.spots}
    for contact in target.heat.sampled:
        for spot in (contact.first, contact.second):
            heat[spot][0] += contact.weight
    ranked = sorted(heat, key=lambda spot: [-value for value in heat[spot]])
    atoms = dict.fromkeys(target.owners[spot.member] for spot in ranked)
    return [atom for atom in atoms if target.parts[atom].name and len(target.freedom.places(atom)) > 1]


def _places(record: HotRecord, atom: int, growth: int) -> list[Choice]:
    """Places to put the atom at, each for all that amount to the same, those predicted best first."""
    target = record.subject
    best: dict[tuple[object, ...], tuple[tuple[float, ...], Option]] = {}
    for option in _moved(target, atom, growth):
        rank = (estimate(record, option), option.size, _disturbed(target, option))
        effect = _effect(target, atom, option)
        if effect not in best or rank < best[effect][0]:
            best[effect] = rank, option
    ranked = sorted(best.values(), key=lambda one: one[0])[:MOST_PLACES]
    return [chosen(option.arrangement.moves[0])[1] for _, option in ranked]


def _moved(target: Subject, atom: int, growth: int) -> Iterator[Option]:
    """The atom alone at every other place that has a name to find it by."""
    for arrangement in moves(target, unchanged(target), [atom]):
        option = price(target, arrangement)
        same = option.starts == target.starts
        if arrangement.moves[0].after != "" and not same and option.size <= target.layout.size + growth:
            yield option


def _effect(target: Subject, atom: int, option: Option) -> tuple[object, ...]:
    """What tells places apart: the line of the atom, the members it meets and how often, and the record's size."""
    first = target.positions[atom][0]
    phase = (target.heat.phase or 0) if option.granule == target.heat.granule else 0
    met = tuple(
        (meets(contact, option.starts, phase, target.heat.line_bytes), _often(target, option, number))
        for number, contact in enumerate(target.heat.contacts)
    )
    return (option.starts[first] + phase) // CACHE_LINE_BYTES, met, option.size


def _often(target: Subject, option: Option, contact: int) -> float:
    return residual_share(target.heat.contacts[contact], option.starts, target.heat.line_bytes, option.granule)


def _disturbed(target: Subject, option: Option) -> float:
    return sum(1.0 for now, then in zip(target.starts, option.starts, strict=True) if now != then)


def _alignments(record: HotRecord, atom: int, growth: int) -> list[Choice]:
    """Alignments that the record has room for, to a line, to a pair of lines, alone on either, and within a line."""
    target = record.subject
    name, size = target.parts[atom].members[0].name, target.layout.size
    wanted = [(align, alone) for align in (CACHE_LINE_BYTES, ADJACENT_LINE_BYTES) for alone in (False, True)]
    wanted = [(_own_size(record, atom), False), *wanted] if _own_size(record, atom) else wanted
    choices = []
    for align, alone in wanted:
        words = f"{align} bytes, alone there" if alone else f"{align} bytes"
        choice = Choice(words, (Move(MoveKind.ALIGN, name, align=align),), alone)
        if round_up(size, align) <= size + growth and _can_be(target, choice):
            choices.append(choice)
    return choices


def _can_be(target: Subject, choice: Choice) -> bool:
    """Whether the alignment can be written and is more than there is, at whatever size."""
    try:
        return bool(composed(target, [choice], growth=1 << 20).arrangement.aligned)
    except NothingToSuggest:
        return False


def _own_size(record: HotRecord, atom: int) -> int:
    """The power of two that keeps a member within a line that now may lie on two of them; 0 where none is needed."""
    target = record.subject
    split = [
        spot
        for spot in target.heat.spots
        if target.owners[spot.member] == atom and straddling(target, spot, target.starts, target.heat.granule)
    ]
    size = target.parts[atom].members[0].size
    return 1 << (size - 1).bit_length() if split and 1 < size <= CACHE_LINE_BYTES // 2 else 0
