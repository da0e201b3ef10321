# SPDX-License-Identifier: GPL-2.0-or-later
"""What a space promises, a compiler confirms: points of several moves and alignments, written into real source."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hand_made import finding, hot, offsets
from patch_cases import write_files

from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import ConflictPair, Patch, Point, Searching
from linesmith.patches.edit.patch import confirm, patch_of
from linesmith.patches.source.tree import Tree
from linesmith.tuner.space.proposals import RecordProposals, proposals

pytestmark = pytest.mark.xdist_group("search-written")
SOURCE = """\
#include <stdint.h>

typedef struct { int32_t word, waiters; } latch_t;

struct ring {
\tuint64_t *slots, mask;\t/* read by both sides */
\tuint64_t head, head_limit;\t/* the writer's */
\tuint64_t tail;\t\t\t/* the reader's */
\tuint64_t tail_limit;
\tunsigned int open : 1, broken : 1;
\tlatch_t latch;
\tunion {
\t\tvoid *owner;
\t\tuint64_t token;
\t};
\tconst char *name;
\tuint64_t sizes[4];
};
struct ring ring;
int main(void) { return (int)ring.mask; }
"""
HEADS, TAILS, READ = ("head", "head_limit"), ("tail", "tail_limit"), ("slots", "mask")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("ring"), {"ring.c": SOURCE})


@pytest.fixture(scope="module")
def proposed(tree: Path) -> RecordProposals:
    program = tree.parent / f"{tree.name}.out"
    subprocess.run(["gcc", "-g", "-o", program, tree / "ring.c"], check=True)
    layouts = read_layouts(program).layouts
    (layout,) = layouts.variants("ring")
    at = offsets(layout)
    seen = [hot(name, at[name], 8, 500, 500 * (name not in READ)) for name in (*HEADS, *TAILS, *READ)]
    pairs = [ConflictPair(one, other, "head", 200) for one in HEADS for other in TAILS]
    pairs += [ConflictPair(read_, side, side, 100) for read_ in READ for side in (*HEADS, *TAILS)]
    return proposals([finding(layout, seen, pairs)], layouts, Searching(growth=256))


def written(proposed: RecordProposals, point: Point, tree: Path) -> Patch:
    (candidate,) = proposed.candidates(point)
    confirmed = confirm(candidate, Tree(tree), lambda _: None)
    return patch_of(candidate, proposed.finding(point), Tree(tree), 1, confirmed)


@pytest.mark.parametrize("most", [3, pytest.param(10, marks=pytest.mark.study)])
def test_points_compile_to_what_was_promised(proposed: RecordProposals, tree: Path, most: int) -> None:
    several = [point for point in proposed.legality.options if len(proposed.describe(point)) > 2]
    chosen = several[:: max(1, len(several) // most)]
    assert len(chosen) >= most
    for point in chosen:
        assert written(proposed, point, tree).exact, proposed.describe(point)
