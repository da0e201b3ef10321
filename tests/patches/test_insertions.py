# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change adds to a record beside moves: padding in front of a member, marks around a group of members."""

from __future__ import annotations

from pathlib import Path

import pytest
from patch_cases import FILE, candidate, layout, text, write_files
from text_cases import TextCase, text_cases

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import Candidate, FactKind, Move, MoveKind, RefusalCode, SourceFact
from linesmith.patches.edit.edit import check_positions, edit, grouped, padded
from linesmith.patches.edit.insertions import AddedText, spellings
from linesmith.patches.edit.patch import confirm
from linesmith.patches.source.pieces import SourceText
from linesmith.patches.source.records import records_named
from linesmith.patches.source.tree import Tree

CACHE_HEADER = text("""
    #if defined(CONFIG_SMP)
    #define CACHELINE_PADDING(name)\t\tstruct cacheline_padding name
    #else
    #define CACHELINE_PADDING(name)
    #endif
    #define __cacheline_group_begin(GROUP) \\
        __u8 __cacheline_group_begin__##GROUP[0]
""").decode()
SOURCE = text("""
    struct s {
        int a;
        /* counts */
        int b;
        int c;

        int d;
    };

    int after;
""")


def proposal(*moves: Move) -> Candidate:
    """``a`` to ``d``, ``c`` on a line of its own."""
    before = layout("s", [("a", 0, 4), ("b", 4, 4), ("c", 8, 4), ("d", 12, 4)], 16)
    after = layout("s", [("a", 0, 4), ("b", 4, 4), ("c", 64, 4), ("d", 68, 4)], 128)
    return candidate(before, after, moves)


ALIGNED = Move(MoveKind.ALIGN, "c", align=64)


@text_cases(Path(__file__).with_name("cases") / "insertions.txt")
def test_what_is_added_to_the_text(case: TextCase) -> None:
    """``pad`` is a member that begins a line, ``group`` the name of a group and its members."""
    group, *members = (case.words("group") or "").split() or [""]
    align, *word = (case.words("spell") or "64").split()
    spelling = AddedText(
        {int(align): word[0]} if word else {},
        case.words("padding") or "",
        markers=bool(group) and not case.words("words"),
    )
    asked = Move(MoveKind.ALIGN, case.words("pad") or "", align=64)
    chosen = grouped(proposal(), group, members) if group else padded(proposal(asked))
    (record,) = records_named(case.before, "s")
    if not case.words("refused"):
        assert edit(SourceText(case.before, FILE), record, chosen, spelling) == case.after
        return
    with pytest.raises(EditRefused) as caught:
        edit(SourceText(case.before, FILE), record, chosen, spelling)
    assert f"{caught.value.refusal.code.value} {caught.value}".replace(f"{FILE}:", "") == case.words("refused")


def test_padding_is_numbered_behind_that_which_is_there() -> None:
    first = padded(proposal(ALIGNED))
    again = padded(candidate(first.after, first.after, [Move(MoveKind.ALIGN, "d", align=64)]))
    assert again.moves[0].member == "_pad2_"


def test_an_alignment_to_another_size_stays_an_attribute() -> None:
    asked = proposal(Move(MoveKind.ALIGN, "c", align=128))
    assert padded(asked) == asked


@pytest.mark.parametrize(
    ("members", "code"),
    [(["a", "c"], RefusalCode.NOT_ADJACENT), (["a", "x"], RefusalCode.NOT_WRITTEN), ([], RefusalCode.NOT_WRITTEN)],
)
def test_members_of_a_group_follow_each_other(members: list[str], code: RefusalCode) -> None:
    with pytest.raises(EditRefused) as refused:
        grouped(proposal(), "hot", members)
    assert refused.value.refusal.code is code


def test_a_kernel_says_which_words_it_has(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/linux/cache.h": CACHE_HEADER})
    found, other = (spellings(padded(proposal(ALIGNED)).moves, tree, b"", kernel=kernel)[0] for kernel in (True, False))
    assert (found.padding, found.markers) == ("CACHELINE_PADDING({});", True)
    assert (other.padding, other.markers) == ("", False)


def test_a_file_with_a_padding_of_its_own_uses_that(tmp_path: Path) -> None:
    source = b"#define ZONE_PADDING(name)\tstruct zone_padding name;\n"
    moves = padded(proposal(ALIGNED)).moves
    assert spellings(moves, tmp_path, source, kernel=True)[0].padding == "ZONE_PADDING({})"


def test_the_macro_is_tried_first_then_attributes_that_more_headers_know(tmp_path: Path) -> None:
    moves = padded(proposal(ALIGNED)).moves
    tree = write_files(tmp_path, {"include/linux/cache.h": CACHE_HEADER})
    tried = spellings(moves, tree, b"", kernel=True)
    assert [one.pad("_pad1_", 64) for one in tried] == [
        "CACHELINE_PADDING(_pad1_);",
        "char _pad1_[0] ____cacheline_aligned_in_smp;",
        "char _pad1_[0] __aligned(64);",
    ]


def positional(*members: str) -> tuple[SourceFact, ...]:
    return (SourceFact(FactKind.POSITIONAL, members, "an initialiser gives it by position", "one.c:7"),)


@pytest.mark.parametrize("members", [("a", "b", "c"), ("d",), ("a", "within_an_anonymous_record")])
def test_nothing_comes_among_members_that_an_initialiser_gives_by_position(members: tuple[str, ...]) -> None:
    plain = proposal(ALIGNED)
    with pytest.raises(EditRefused, match=r"`_pad1_` would take the value .* by position \(one\.c:7\)") as refused:
        check_positions(plain, padded(plain), positional(*members))
    assert refused.value.refusal.code is RefusalCode.POSITIONAL
    with pytest.raises(EditRefused, match="`__cacheline_group_begin__hot` would take"):
        check_positions(plain, grouped(plain, "hot", ["a"]), positional(*members))


def test_what_comes_behind_the_members_given_by_position_takes_no_value() -> None:
    plain = proposal(ALIGNED)
    check_positions(plain, padded(plain), positional("a", "b"))
    check_positions(plain, plain, positional("a", "b", "c", "d"))


WORDS = text("""
    #include <assert.h>
    #include <stddef.h>
    struct padding { char x[0]; } __attribute__((aligned(64)));
    #define LINE_PADDING(name)\tstruct padding name
    #define __cacheline_group_begin(GROUP) \\
        unsigned char __cacheline_group_begin__##GROUP[0]
    #define __cacheline_group_end(GROUP) \\
        unsigned char __cacheline_group_end__##GROUP[0]
""")


def compiled(root: Path, chosen: Candidate) -> str:
    """The file that gcc confirms: it must give the layout of the candidate to the bit."""
    tree = Tree(write_files(root, {FILE: (WORDS + SOURCE).decode()}))
    confirmed = confirm(chosen, tree, lambda _: None)
    assert confirmed.verification.exact
    return (confirmed.change.after or b"").decode()


def test_gcc_gives_the_layout_that_padding_promises(tmp_path: Path) -> None:
    assert "\tLINE_PADDING(_pad1_);\n\tint c;\n" in compiled(tmp_path, padded(proposal(ALIGNED)))


def test_gcc_gives_the_layout_that_marks_promise(tmp_path: Path) -> None:
    chosen = grouped(proposal(ALIGNED), "hot", ["c", "d"])
    assert "__attribute__((aligned(64)));\n" in compiled(tmp_path, chosen)
