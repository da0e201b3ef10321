# SPDX-License-Identifier: GPL-2.0-or-later
"""Random structs of a real kernel with a member pulled in, pushed out or shrunk are laid out as gcc does it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from legality.compiled import compiled, says

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.errors import StructureRefused
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, StructuralAdvice
from linesmith.tuner.structure.embedding import Pulling
from linesmith.tuner.structure.memory import Allocation
from linesmith.tuner.structure.pull_in import pulled_in
from linesmith.tuner.structure.push_out import put_apart
from linesmith.tuner.structure.shrink import made_smaller

SAMPLE = 100


@pytest.mark.real
def test_changed_records_compile_to_what_they_say(vmlinux: Path, tmp_path: Path) -> None:
    layouts, random = read_layouts(vmlinux).layouts, Random(5)  # noqa: S311 - reproducible, not secret
    known = [one for one in layouts if one.name and len(one.members) > 1 and 0 < one.size < 20_000]
    chosen = random.sample(known, SAMPLE)
    after = [one.after[0] for layout in chosen for one in changed(layout, layouts, random)]
    assert len(after) > SAMPLE
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
