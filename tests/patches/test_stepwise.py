# SPDX-License-Identifier: GPL-2.0-or-later
"""A candidate of several moves as one patch a move."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from patch_cases import behind, candidate, finding, layout, write_files

from linesmith.analyzer.model import Candidate, Layout, Move, MoveKind, PatchSeries, Residual
from linesmith.patches.edit.patch import confirm, patch_of
from linesmith.patches.series.files import stepwise
from linesmith.patches.source.tree import Tree

HEADER = """\
struct cache {
\tlong root;\t/* read by everyone */
\tlong lock;
\tchar name[56];
\tlong uses;
};
"""
BEFORE = [("root", 0, 8), ("lock", 8, 8), ("name", 16, 56), ("uses", 72, 8)]
MOVED = [("root", 0, 8), ("name", 8, 56), ("uses", 64, 8), ("lock", 72, 8)]
ALIGNED = [("root", 0, 8), ("name", 8, 56), ("uses", 64, 8), ("lock", 128, 8)]
MOVES = (behind("lock", "uses"), Move(MoveKind.ALIGN, "lock", align=64))
PAIRS = (Residual("root", "lock", 64, 0.875, 0.0), Residual("uses", "lock", 64, 0.125, 0.0))


def cache(members: Sequence[tuple[str, int, int]], size: int) -> Layout:
    return layout("cache", members, size, file="/elsewhere/src/cache.h", line=1)


def proposal(moves: Sequence[Move] = MOVES) -> Candidate:
    return candidate(cache(BEFORE, 80), cache(ALIGNED, 192), moves, PAIRS)


def series(folder: Path, chosen: Candidate, header: str = HEADER) -> PatchSeries:
    tree = Tree(write_files(folder, {"src/cache.h": header}))
    confirmed = confirm(chosen, tree, lambda _: None, {"lock": "Kept off the line of root."})
    patch = patch_of(chosen, finding(), tree, 1, confirmed)
    return stepwise(chosen, patch, confirmed, tree, lambda _: None)


def test_each_move_is_a_patch_that_begins_where_the_one_before_ended(tmp_path: Path) -> None:
    """A step says what it does, the last one has the evidence, and a letter says what the whole is for."""
    made = series(tmp_path, proposal())
    (move, align) = made.steps
    (moved,), (aligned,) = move.changes, align.changes
    assert (moved.before, moved.after) == (HEADER.encode(), aligned.before)
    assert b"\tlong uses;\n\t/* Kept off the line of root. */\n\tlong lock;\n};\n" in (moved.after or b"")
    assert b"\tlong lock __attribute__((aligned(64)));\n" in (aligned.after or b"")
    assert move.message.startswith(
        "cache: move lock in struct cache\n\nMove lock after uses. The size stays 80 bytes.\n"
    )
    assert "  root and lock: 7 of 8 -> 0 of 8\n" in move.message
    assert "after this step, which is one of 2; the last one has the evidence for all." in " ".join(
        move.message.split()
    )
    assert "\n\nThe last of 2 patches; what follows is about all of them together.\n\nIn struct cache" in align.message
    assert align.message.endswith(" No\nbenchmark has been run.\n")
    assert made.cover.startswith(
        "cache: separate root from lock in struct cache\n\nIn struct cache, root and uses share a cache line"
    )
    assert made.cover.endswith("\n\n2 patches, each of which compiles.\n")


def test_a_move_after_which_nothing_compiles_is_joined_with_the_next(tmp_path: Path) -> None:
    padded = HEADER.replace("\tlong lock;\n", "\tlong lock __attribute__((aligned(64)));\n")
    placed = [("root", 0, 8), ("lock", 64, 8), ("name", 72, 56), ("uses", 128, 8)]
    after = [("root", 0, 8), ("name", 8, 56), ("uses", 64, 8), ("lock", 128, 8)]
    chosen = candidate(
        cache(placed, 192), cache(after, 192), (behind("uses", "root"), behind("name", "root"), behind("lock", "uses"))
    )
    apart = '_Static_assert(__builtin_offsetof(struct cache, uses) != 8, "uses is off the line of root");\n'
    (first, last) = series(tmp_path, chosen, padded + apart).steps
    assert first.message.startswith("cache: reorder struct cache\n\nMove uses after root; move name after root.")
    assert last.changes[0].before == first.changes[0].after


def test_one_move_is_one_patch(tmp_path: Path) -> None:
    chosen = candidate(cache(BEFORE, 80), cache(MOVED, 80), MOVES[:1], PAIRS[:1])
    found = series(tmp_path, chosen)
    assert (len(found.steps), found.cover) == (1, "")
