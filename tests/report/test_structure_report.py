# SPDX-License-Identifier: GPL-2.0-or-later
"""How structural advice reads: what to do first, then why, who, how much, at what price."""

from __future__ import annotations

from hand_made import scalar, struct, table

from linesmith.analyzer.model import Accessor, Gain, MemoryUse, SlabBasis, StructuralAdvice, StructureKind
from linesmith.analyzer.report.structure import advice_rows
from linesmith.analyzer.report.structure_json import advice_document

MAPPING = struct("mapping", scalar("host"), scalar("lock"), scalar("tree", 16))
BY_NODE = "one copy for each access; as placed"
ADVICE = StructuralAdvice(
    StructureKind.SHARD,
    "mapping",
    ("lock", "tree"),
    "shard lock with tree",
    reasons=("56% of the line's contended accesses waited on lock for stores to it",),
    accessors=(
        Accessor("tree_add", 4320, ("tree",), ("tree",), True),
        Accessor("tree_find", 90, ("tree",), ()),
        *(Accessor(f"rare_{number}", 0, (), ("tree",)) for number in range(6)),
    ),
    gains=(
        Gain(1, "node", 1000, 900, -0.12, -0.08, "a line of its own; as placed"),
        Gain(2, "node", 1000, 500, -0.55, -0.45, BY_NODE),
        Gain(4, "node", 1000, 250, -0.8, -0.7, BY_NODE),
    ),
    before=(MAPPING,),
    memory_before=(MemoryUse("mapping", SlabBasis.COMPUTED, 32, 32, 0, 128, 8, 3_203_072),),
    notes=("A copy takes 64 bytes.",),
)
TEXT = """\
shard: shard lock with tree
  because     56% of the line's contended accesses waited on lock for stores to it
  reached by  tree_add (4,320 samples, takes the lock): updates tree
              tree_find (90 samples): reads tree
              and in the code rare_0, rare_1, rare_2, rare_3 and 2 more
  replayed    1,000 misses between CPUs on all such objects as they are
              1 copy                  900  -10.0% (-12.0% to -8.0%)  a line of its own; as placed
              2 copies by node        500  -50.0% (-55.0% to -45.0%)  one copy for each access; as
                placed
              4 copies by node        250  -75.0% (-80.0% to -70.0%)
  memory      now   32 bytes, 8 pages for 1,000 objects, 3.1 MiB for 100,000
                    mapping: 128 in 1 page
  - A copy takes 64 bytes."""


def test_advice_as_text() -> None:
    assert "\n".join(advice_rows(ADVICE, table(MAPPING))) == TEXT


def test_long_sentences_are_broken_for_a_terminal() -> None:
    wordy = StructuralAdvice(StructureKind.PULL_IN, "mapping", ("lock",), "word " * 60, notes=("note " * 60,))
    rows = list(advice_rows(wordy, table(MAPPING)))
    assert max(map(len, rows)) <= 100
    assert [row[:6] for row in rows] == ["pull i", *["  word"] * 3, "  - no", *["    no"] * 3]


def test_the_layout_it_leads_to_is_shown_with_what_changes_marked() -> None:
    after = struct("mapping", scalar("host"), scalar("lock", align=64))
    shown = StructuralAdvice(StructureKind.PULL_IN, "mapping", ("lock",), "pull lock in", after=(after,))
    rows = list(advice_rows(shown, table(MAPPING, after)))
    assert [row for row in rows if row.lstrip().startswith(">")] == [
        "  >       type                       lock __attribute__((__aligned__(64))); /*    64     8 */"
    ]


def test_advice_as_json() -> None:
    document = advice_document(ADVICE)
    assert (document.kind, document.before[0].members) == ("shard", (("host", 0, 8), ("lock", 8, 8), ("tree", 16, 16)))
