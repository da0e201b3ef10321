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
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patch_cases import FILE, atoms_of, behind, candidate, edited, finding, ordered
from text_cases import TextCase, declared, text_cases, text_rows

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import (
    Candidate,
    Finding,
    LineMember,
    LineObject,
    MemberFunction,
    Move,
    MoveKind,
    Outcome,
    Residual,
)
from linesmith.patches.message.paragraphs import remarks_on
from linesmith.patches.source.atoms import Atom, AtomKind
from linesmith.patches.source.macros import plain
from linesmith.patches.source.pieces import followed
from linesmith.patches.source.records import is_packed, records_named

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


# How the text of a record is read


def label(atom: Atom, regions: list[int]) -> str:
    """The names that an atom declares, those inside of it, what it is, and which region it is in."""
    words = [*atom.names, f"[{' '.join(atom.inner)}]" if atom.inner else ""]
    words.append("" if atom.kind is AtomKind.DECLARATION else f"({atom.kind.name.lower().replace('_', '-')})")
    if atom.names and regions.index(atom.region):
        words.append(f"region {regions.index(atom.region)}")
    return " ".join(filter(None, words)) or "-"


@text_cases(CASES / "atoms.txt")
def test_lines_are_cut_into_atoms(case: TextCase) -> None:
    lines = [line.partition("|")[2] for line in case.lines]
    ending = b"\r\n" if case.words("lines") else b"\n"
    source = declared(lines).encode().replace(b"\n", ending)
    atoms = atoms_of(source)
    regions = list(dict.fromkeys(atom.region for atom in atoms if atom.names))
    found, at = [], 0
    for line in source.split(ending)[:-1]:
        atom = next((one for one in atoms if one.start <= at < one.end), None)
        found.append((label(atom, regions) if atom and atom.start == at else ":" if atom else "", line.decode()))
        at += len(line + ending)
    shown = found if lines[0] in found[0] else found[1:-1]
    assert shown == [(line.partition("|")[0].rstrip(), line.partition("|")[2]) for line in case.lines]


@text_rows(CASES / "declarations.txt")
def test_records_are_found_by_their_name(source: str, expected: list[str]) -> None:
    text = f"{source}\n".encode()
    found = records_named(text, "s")
    said = [f"{one.title} in line {one.line}{', packed' if is_packed(text, one) else ''}" for one in found]
    assert (said or ["none"]) == expected
    assert {(chr(text[one.opening]), chr(text[one.closing])) for one in found} <= {("{", "}")}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"struct s {" * 50_000, id="nested"),
        pytest.param(b"struct " + b"_" * 50_000 + b" s", id="underscores"),
        pytest.param(b"struct s " + b"__a" * 20_000, id="attributes"),
        pytest.param(b"typedef struct {" * 2_000 + b"} t;" * 2_000, id="typedefs"),
        pytest.param(b"struct s { int " + b"(" * 5_000 + b"x" + b")" * 5_000 + b"; };", id="parentheses"),
        pytest.param(b"/*" * 50_000 + b" struct s { int a; };", id="comments"),
    ],
)
def test_text_made_to_exhaust_a_parser_declares_nothing(source: bytes) -> None:
    assert records_named(source, "s") == ()


@text_rows(CASES / "macros.txt")
def test_a_macro_becomes_plain_c(source: str, expected: list[str]) -> None:
    text = plain(f"struct s {{\n{source}\n}}".encode()).decode()
    assert [" ".join(text.removeprefix("struct s {").removesuffix("}").split())] == expected


# fmt: off
PARTS = st.sampled_from([
    b"int a;", b"F(", b")", b"{", b"}", b"/*", b"*/", b'"', b"'", b"\n", b"#if X\n", b";", b"struct_group(", b",",
    b"_Atomic(", b"DECLARE_BITMAP(", b":3", b"\\\n", b"//", b"\xff", b"__attribute__((", b"PAD\n", b" : 4;", b"__rcu ",
])
# fmt: on


@settings(max_examples=50)
@given(st.lists(PARTS, max_size=30))
def test_no_text_changes_its_length_or_its_lines(parts: list[bytes]) -> None:
    source = b"struct s {" + b"".join(parts) + b"}"
    text = plain(source)
    assert len(text) == len(source)
    assert [at for at, byte in enumerate(text) if byte == 10] == [at for at, byte in enumerate(source) if byte == 10]


# The words of the comment beside a moved member; where it stands is in cases/remarks.txt


def line_of(**written: bool) -> Finding:
    """A hot line of members that are read, some of them ``written``."""
    members = tuple(LineMember(name, 0, 0, 8, 5, 3 * stores, ()) for name, stores in written.items())
    return replace(finding(), members=members)


def change(order: str, move: Move, *pairs: tuple[str, str], after: float = 0.0) -> Candidate:
    """A change of ``a b c`` to ``order`` that parts the members of each pair."""
    parted = [Residual(*pair, 64, 1.0, after) for pair in pairs]
    return candidate(ordered(" ".join(sorted(order.split()))), ordered(order), [move], parted)


MOVED = change("b c a", behind("a", "c"), ("a", "c"))
NEARER = change("b c a", behind("a", "c"), ("a", "c"), after=0.5)
SWAPPED = change("c b a", Move(MoveKind.SWAP, "a", partner="c"), ("a", "c"), ("c", "b"))
BETWEEN = change("b a c", behind("a", "b"), ("b", "c"))
NESTED = change("c a", behind("a", "c"), ("a.x", "c[0]"), ("a.y", "c.z"))
ALIGNED = change("a b", Move(MoveKind.ALIGN, "a", align=64), ("a", "b"), ("c", "a"), ("a", "d"), ("a", "e"))
OFF = "Off the cache line of c"
AWAY = "Starts a cache line, off that of b, c, d and 1 more, written often."
CALLS = (MemberFunction("take", 0, 9), MemberFunction("look", 40, 0), MemberFunction("drop", 0, 3))
CALLED = replace(line_of(), members=(LineMember("a", 0, 0, 8, 5, 12, CALLS),))


@pytest.mark.parametrize(
    ("proposal", "line", "said"),
    [
        (MOVED, line_of(a=True, c=False), {"a": "Written often; off the cache line of c."}),
        (MOVED, line_of(a=False, c=True), {"a": f"{OFF}, written often."}),
        (NEARER, line_of(a=False, c=True), {"a": "Away from c, written often."}),
        (MOVED, line_of(a=False), {"a": f"{OFF}."}),
        (MOVED, CALLED, {"a": "Written by take() etc.; off the cache line of c."}),
        (BETWEEN, CALLED, {"a": "Keeps c off the cache line of b."}),
        (BETWEEN, line_of(b=True), {"a": "Keeps b, written often, off the cache line of c."}),
        (SWAPPED, line_of(a=True), {"a": "Written often; off the cache line of c."}),
        (NESTED, finding(), {"a": f"{OFF}."}),
        (ALIGNED, line_of(b=True), {"a": AWAY}),
        (change("b a", behind("a", "b")), finding(), {}),
    ],
)
def test_it_says_who_writes_and_whose_line_it_is_off(proposal: Candidate, line: Finding, said: dict[str, str]) -> None:
    assert remarks_on(proposal, line) == said


def test_of_a_record_in_doubt_it_says_only_where_the_member_stands() -> None:
    """Who reads and who writes is then perhaps said of other members."""
    seen = LineObject("s", 1, 0, 1.0, Outcome.RESOLVED, doubt="what is touched at 0x8 hardly fits the likeliest type")
    assert remarks_on(MOVED, replace(line_of(a=True, c=False), objects=(seen,))) == {"a": f"{OFF}."}
