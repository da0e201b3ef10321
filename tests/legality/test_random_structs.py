# SPDX-License-Identifier: GPL-2.0-or-later
"""No candidate or structural change of a random struct of a real kernel breaks a rule or has another layout than gcc's.

docs/constraints.md says how to ask for thousands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from legality.checker import violations
from legality.compiled import compiled, says
from legality.study import candidates, cases, holders, study

from linesmith.analyzer.base.errors import StructureRefused
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.gaps import with_inferred_alignment
from linesmith.analyzer.layouts.placement import lay_out, refusal
from linesmith.analyzer.model import Layout, RecordKind, StructuralAdvice
from linesmith.tuner.structure.case import Allocation
from linesmith.tuner.structure.locks import made_smaller
from linesmith.tuner.structure.members import Pulling, pulled_in, put_apart

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("vmlinux-layouts")]


@pytest.fixture(scope="module")
def layouts(vmlinux: Path) -> Layouts:
    return read_layouts(vmlinux).layouts


def test_nearly_all_structs_are_placed_exactly_and_the_rest_is_packed(layouts: Layouts) -> None:
    structs = [layout for layout in layouts if layout.kind is RecordKind.STRUCT and layout.members]
    reasons = Counter(refusal(with_inferred_alignment(layout)) for layout in structs)
    packed = sum(count for reason, count in reasons.items() if "packed" in (reason or ""))
    assert reasons[None] >= 0.97 * len(structs)
    assert len(structs) - reasons[None] - packed <= 10, reasons


@pytest.mark.parametrize(("seed", "sample"), [(7, 15), pytest.param(8, 100, marks=pytest.mark.study)])
def test_candidates_are_legal_and_compile(layouts: Layouts, tmp_path: Path, seed: int, sample: int) -> None:
    found = study(cases(layouts, sample, seed), layouts, tmp_path)
    assert found.wrong == ()
    assert found.asked["structs"] == sample
    assert found.asked["candidates"] >= sample


def test_orders_that_know_no_rules_are_found_out(layouts: Layouts) -> None:
    around = holders(layouts)
    wrong = 0
    for case in cases(layouts, 12, 9):
        for one in candidates(case, layouts):
            after = lay_out(one.before, tuple(reversed(one.before.members)))
            wrong += bool(violations(case, replace(one, after=after), layouts, around[case.layout.id]))
    assert wrong > 3


@pytest.mark.parametrize("sample", [25, pytest.param(100, marks=pytest.mark.study)])
def test_changed_records_compile_to_what_they_say(layouts: Layouts, tmp_path: Path, sample: int) -> None:
    random = Random(5)  # noqa: S311 - reproducible, not secret
    known = [one for one in layouts if one.name and len(one.members) > 1 and 0 < one.size < 20_000]
    chosen = random.sample(known, sample)
    after = [one.after[0] for layout in chosen for one in changed(layout, layouts, random)]
    assert len(after) > sample
    assert [says(one) for one in after] == compiled(after, tmp_path)


def changed(layout: Layout, layouts: Layouts, random: Random) -> Iterator[StructuralAdvice]:
    """Every kind of change that the record allows, for random members with random cold ones."""
    home = Allocation(None, Containment(layouts))
    name = random.choice(layout.members).name
    heat = {member.name: random.randrange(9) for member in layout.members if member.name}
    pointers = [member.name for member in layout.members if member.target][:1]
    asked = (
        put_apart(layout, home, name),
        made_smaller(layout, home, name, random.choice((1, 2, 4, 8, 12, 16))),
        *(pulled_in(layout, layouts, home, Pulling(pointer), heat) for pointer in pointers),
    )
    for one in asked:
        try:
            yield from one
        except StructureRefused:
            continue
