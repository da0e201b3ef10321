# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that move in the text, with what belongs to them: the cases of ``cases``, and what holds of every move.

In a case, ``move``, ``swap`` and ``align`` are the moves of a candidate. ``order`` is the order that it wants, where
moves do not make it plain. ``spell`` has the word for an alignment and ``remark`` a comment on a member. ``refused`` is
the code of a refusal, with its line and its sentence. ``back`` is a move that gives the old bytes again, as ``from``
is an order that does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patch_cases import FILE, atoms_of, behind, edited
from text_cases import TextCase, text_cases

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import Move, MoveKind
from linesmith.patches.source.pieces import followed
from linesmith.patches.source.records import records_named

CASES = Path(__file__).with_name("cases")
MOVES = [CASES / f"{name}.txt" for name in ("moves", "blocks", "remarks", "descriptions")]


def moves_of(case: TextCase) -> list[Move]:
    return [one for line in case.asked for one in move_of(line)]


def move_of(words: Sequence[str]) -> list[Move]:
    """The move that a line asks for; none in a line that says something else."""
    match words:
        case ["move", name, "first"]:
            return [behind(name, None)]
        case ["move", names, "behind", after]:
            first, *others = names.split("+")
            return [Move(MoveKind.MOVE, first, after=after, members=(first, *others) if others else ())]
        case ["swap", name, "with", partner]:
            return [Move(MoveKind.SWAP, name, partner=partner)]
        case ["align", name, "to", align]:
            return [Move(MoveKind.ALIGN, name, align=int(align))]
    return []


def order_after(source: bytes, moves: Sequence[Move]) -> str:
    """The members that the moves make of those of the text."""
    names = [name for atom in atoms_of(source) for name in atom.names]
    for move in moves:
        moved = [*move.members] or [move.member]
        if move.kind is MoveKind.SWAP and {move.member, move.partner} <= {*names}:
            exchanged = {move.member: str(move.partner), str(move.partner): move.member}
            names = [exchanged.get(name, name) for name in names]
        elif move.kind is MoveKind.MOVE and {*moved, move.after or moved[0]} <= {*names}:
            names = [name for name in names if name not in moved]
            at = 0 if move.after is None else names.index(move.after) + 1
            names[at:at] = moved
    return " ".join(names)


def result_of(case: TextCase, source: bytes, moves: Sequence[Move]) -> bytes:
    """The text after the moves, written as the case asks."""
    spelt = (case.words("spell") or "").split()
    member, _, remark = (case.words("remark") or "").partition(" ")
    return edited(
        source,
        moves,
        case.words("order") or order_after(source, moves),
        {int(spelt[0]): spelt[1]} if spelt else None,
        {member: remark} if member else None,
        case.words("file") or FILE,
    )


def check_refusal(case: TextCase, error: EditRefused) -> None:
    code, _, said = (case.words("refused") or "").partition(" ")
    assert (error.refusal.code.value, str(error)) == (code, f"{FILE}:{said}")


@text_cases(*MOVES)
def test_a_move_in_the_text(case: TextCase) -> None:
    moves = moves_of(case)
    if case.words("refused"):
        with pytest.raises(EditRefused) as caught:
            result_of(case, case.before, moves)
        check_refusal(case, caught.value)
        return
    assert result_of(case, case.before, moves) == case.after
    back = (case.words("back") or "").split()
    if back:
        assert result_of(case, case.after, move_of(back)) == case.before


ENDINGS = st.sampled_from((b"\n", b"\r\n"))
SINGLE = (
    b"\tint {};",
    b"\t/* above {} \xff */%\tchar *{}[3];\t// beside",
    b"#ifdef A%\tlong {};%#else%\tint {};%#endif",
    b"\tunion {{ int x_{}; }} {};\t/* both%\t\t\t * lines */",
    b"  u8 {} __aligned(8);",
)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(SINGLE), st.booleans()), min_size=2, max_size=9), ENDINGS, st.data())
def test_a_move_loses_no_byte(shapes: list[tuple[bytes, bool]], ending: bytes, data: st.DataObject) -> None:
    names = [f"m{index}" for index in range(len(shapes))]
    rows = [
        shape.replace(b"{}", name.encode()).replace(b"{{", b"{").replace(b"}}", b"}").replace(b"%", ending)
        + ending * (1 + blank)
        for (shape, blank), name in zip(shapes, names, strict=True)
    ]
    source = b"int before;" + ending + b"struct s {" + ending + b"".join(rows) + b"};" + ending + b"no end of line"
    member = data.draw(st.sampled_from(names))
    after = data.draw(st.sampled_from([None, *(name for name in names if name != member)]))
    move = behind(member, after)
    moved = edited(source, [move], order_after(source, [move]))
    assert Counter(moved.split(b"\n")) == Counter(source.split(b"\n"))
    assert len(moved) == len(source)
    back = names[names.index(member) - 1] if member != names[0] else None
    assert edited(moved, [behind(member, back)], " ".join(names)).replace(ending, b"") == source.replace(ending, b"")


NAMES = "abcdefg"


@settings(max_examples=50)
@given(st.permutations(NAMES), ENDINGS)
def test_descriptions_that_follow_back_give_the_same_bytes(second: Sequence[str], ending: bytes) -> None:
    entries = [f" * @{name}: about {name}\n *\n".encode() * (name != "d") for name in NAMES]
    source = b"/**\n * struct s - x\n" + b"".join(entries) + b" * words\n */\nstruct s {\n\tint a;\n};\n"
    source = source.replace(b"\n", ending)
    there = followed(source, records_named(source, "s")[0], NAMES, second)
    described = [line[4:5] for line in there.split(b"\n") if line.startswith(b" * @")]
    assert described == [name.encode() for name in second if name != "d"]
    assert followed(there, records_named(there, "s")[0], second, NAMES) == source
