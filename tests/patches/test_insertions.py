# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change adds to a record beside moves: padding in front of a member, marks around a group of members."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from patch_cases import FILE, behind, candidate, layout, text, write_files

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import Candidate, FactKind, Move, MoveKind, RefusalCode, SourceFact
from linesmith.patches.confirmed import confirm
from linesmith.patches.dressing import check_positions, grouped, padded
from linesmith.patches.edit import edit
from linesmith.patches.pieces import Origin
from linesmith.patches.records import records_named
from linesmith.patches.spelling import Spelling, Vocabulary, spellings, vocabulary
from linesmith.patches.tree import Tree

CACHE_HEADER = text("""
    #if defined(CONFIG_SMP)
    #define CACHELINE_PADDING(name)\t\tstruct cacheline_padding name
    #else
    #define CACHELINE_PADDING(name)
    #endif
    #define __cacheline_group_begin(GROUP) \\
        __u8 __cacheline_group_begin__##GROUP[0]
""").decode()
MARKED = Spelling(markers=True)
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


def written(chosen: Candidate, spelling: Spelling, source: bytes = SOURCE) -> bytes:
    (record,) = records_named(source, "s")
    return edit(Origin(source, FILE), record, chosen, spelling).source


ALIGNED = Move(MoveKind.ALIGN, "c", align=64)


def test_padding_comes_in_front_of_the_member_with_its_comments() -> None:
    chosen = padded(proposal(Move(MoveKind.ALIGN, "b", align=64)))
    assert written(chosen, Spelling(padding="CACHELINE_PADDING({});")) == SOURCE.replace(
        b"\t/* counts */\n", b"\tCACHELINE_PADDING(_pad1_);\n\t/* counts */\n"
    )


def test_padding_has_a_place_in_the_layout_and_takes_no_room() -> None:
    chosen = padded(proposal(ALIGNED))
    assert [(one.name, one.offset, one.size) for one in chosen.after.members] == [
        ("a", 0, 4), ("b", 4, 4), ("_pad1_", 64, 0), ("c", 64, 4), ("d", 68, 4),
    ]  # fmt: skip
    assert chosen.moves == (Move(MoveKind.PAD, "_pad1_", partner="c", align=64),)


def test_padding_is_numbered_behind_that_which_is_there() -> None:
    first = padded(proposal(ALIGNED))
    again = padded(candidate(first.after, first.after, [Move(MoveKind.ALIGN, "d", align=64)]))
    assert again.moves[0].member == "_pad2_"


def test_a_move_with_an_alignment_is_a_move_and_a_padding() -> None:
    chosen = padded(proposal(Move(MoveKind.MOVE, "c", after="d", align=64)))
    assert chosen.moves == (behind("c", "d"), Move(MoveKind.PAD, "_pad1_", partner="c", align=64))


def test_an_alignment_to_another_size_stays_an_attribute() -> None:
    asked = proposal(Move(MoveKind.ALIGN, "c", align=128))
    assert padded(asked) == asked


def test_without_a_macro_padding_is_an_array_without_members() -> None:
    chosen = padded(proposal(ALIGNED))
    assert b"\tchar _pad1_[0] ____cacheline_aligned_in_smp;\n\tint c;\n" in written(
        chosen, Spelling({64: "____cacheline_aligned_in_smp"})
    )
    assert b"\tchar _pad1_[0] __attribute__((aligned(64)));\n" in written(chosen, Spelling())


def test_padding_of_one_of_several_names_splits_them() -> None:
    source = b"struct s {\n\tint a, b, c;\n\tint d;\n};\n"
    assert written(padded(proposal(ALIGNED)), Spelling(padding="PAD({})"), source) == (
        b"struct s {\n\tint a, b;\n\tPAD(_pad1_)\n\tint c;\n\tint d;\n};\n"
    )


def test_marks_come_around_the_members_and_assertions_behind_the_record() -> None:
    assert written(grouped(proposal(), "hot", ["c", "b"]), MARKED) == text("""
        struct s {
            int a;
            __cacheline_group_begin(hot);
            /* counts */
            int b;
            int c;
            __cacheline_group_end(hot);

            int d;
        };
        static_assert(offsetof(struct s, __cacheline_group_begin__hot) <=
                  offsetof(struct s, b));
        static_assert(offsetof(struct s, b) <=
                  offsetof(struct s, __cacheline_group_end__hot));
        static_assert(offsetof(struct s, __cacheline_group_begin__hot) <=
                  offsetof(struct s, c));
        static_assert(offsetof(struct s, c) <=
                  offsetof(struct s, __cacheline_group_end__hot));

        int after;
    """).replace(b"\t\t\t\t\t  ", b"\t      ").replace(b"\t\t  ", b"\t      ")


def test_marks_have_places_in_the_layout() -> None:
    chosen = grouped(proposal(), "hot", ["c", "d"])
    names = "a", "b", "__cacheline_group_begin__hot", "c", "d", "__cacheline_group_end__hot"
    assert tuple(one.name for one in chosen.after.members) == names
    assert [one.offset for one in chosen.after.members] == [0, 4, 8, 64, 68, 72]


def test_what_a_configuration_may_leave_out_is_not_asserted() -> None:
    source = b"struct s {\n\tint a;\n#ifdef A\n\tint b;\n#endif\n\tint c;\n\tint d;\n};\n"
    assertions = written(grouped(proposal(), "hot", ["b", "c"]), MARKED, source).partition(b"};\n")[2]
    assert assertions.count(b"static_assert") == 2
    assert b"struct s, b)" not in assertions


def test_a_group_in_an_if_block_is_asserted_under_the_same_directive() -> None:
    source = b"struct s {\n\tint a;\n#if A && \\\n\tB\n\tint b;\n\tint c;\n#else\n\tint x;\n#endif\n\tint d;\n};\n"
    changed = written(grouped(proposal(), "hot", ["b", "c"]), MARKED, source)
    body, _, assertions = changed.partition(b"};\n")
    assert b"\tB\n\t__cacheline_group_begin(hot);\n\tint b;\n\tint c;\n\t__cacheline_group_end(hot);\n#else" in body
    assert assertions.startswith(b"#if A && \\\n\tB\nstatic_assert(")
    assert assertions.endswith(b"\n#endif\n")
    assert assertions.count(b"static_assert") == 4


def test_a_record_that_may_be_shuffled_is_not_asserted() -> None:
    source = SOURCE.replace(b"};\n", b"} __randomize_layout;\n")
    changed = written(grouped(proposal(), "hot", ["b", "c"]), MARKED, source)
    assert b"__cacheline_group_end(hot);\n" in changed
    assert b"static_assert" not in changed


def test_a_group_in_another_arm_is_not_asserted() -> None:
    source = b"struct s {\n\tint a;\n#ifdef A\n\tint x;\n#else\n\tint b;\n\tint c;\n#endif\n\tint d;\n};\n"
    changed = written(grouped(proposal(), "hot", ["b", "c"]), MARKED, source)
    assert b"\tint b;\n\tint c;\n\t__cacheline_group_end(hot);\n#endif" in changed
    assert b"static_assert" not in changed


@pytest.mark.parametrize(
    ("members", "code"),
    [(["a", "c"], RefusalCode.NOT_ADJACENT), (["a", "x"], RefusalCode.NOT_WRITTEN), ([], RefusalCode.NOT_WRITTEN)],
)
def test_members_of_a_group_follow_each_other(members: list[str], code: RefusalCode) -> None:
    with pytest.raises(EditRefused) as refused:
        grouped(proposal(), "hot", members)
    assert refused.value.refusal.code is code


def test_a_member_that_the_elf_file_does_not_have_keeps_a_group_apart() -> None:
    source = b"struct s {\n\tint a;\n#ifdef A\n\tint x;\n#endif\n\tint b;\n\tint c;\n\tint d;\n};\n"
    with pytest.raises(EditRefused, match=r"one\.h:3: `x` stands among the members of the group; name it too"):
        written(grouped(proposal(), "hot", ["a", "b"]), MARKED, source)


def test_a_tree_without_marks_has_no_groups() -> None:
    with pytest.raises(EditRefused, match=r"one\.h:1: the tree has no __cacheline_group_begin\(\)"):
        written(grouped(proposal(), "hot", ["c", "d"]), Spelling())


def test_a_kernel_says_which_words_it_has(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/linux/cache.h": CACHE_HEADER})
    assert vocabulary(tree, b"", kernel=True) == Vocabulary(True, "CACHELINE_PADDING({});", markers=True)
    assert vocabulary(tree, b"", kernel=False) == Vocabulary()


def test_a_file_with_a_padding_of_its_own_uses_that(tmp_path: Path) -> None:
    source = b"#define ZONE_PADDING(name)\tstruct zone_padding name;\n"
    assert vocabulary(tmp_path, source, kernel=True).padding == "ZONE_PADDING({})"


def test_the_macro_is_tried_first_then_attributes_that_more_headers_know() -> None:
    moves = padded(proposal(ALIGNED)).moves
    tried = spellings(moves, Vocabulary(True, "CACHELINE_PADDING({});"))
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


def test_gcc_gives_the_layout_that_marks_promise_and_takes_the_assertions(tmp_path: Path) -> None:
    chosen = grouped(proposal(ALIGNED), "hot", ["c", "d"])
    assert "__attribute__((aligned(64)));\n" in compiled(tmp_path, chosen)


def test_an_assertion_keeps_a_group_together(tmp_path: Path) -> None:
    torn = compiled(tmp_path, grouped(proposal(ALIGNED), "hot", ["c", "d"])).replace("\tint d;\n", "")
    (tmp_path / "torn.c").write_text(torn.replace("\tint a;\n", "\tint d;\n\tint a;\n"), encoding="utf-8")
    ended = subprocess.run(
        ["gcc", "-c", "torn.c"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert "static assertion failed" in ended.stderr
