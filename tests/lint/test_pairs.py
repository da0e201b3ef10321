# SPDX-License-Identifier: GPL-2.0-or-later
"""Which records of two builds are worth a look."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from c_source import compiled
from hand_made import scalar, struct, table
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.base.errors import TypeNotFound
from linesmith.analyzer.layouts.collection import Layouts, select_both
from linesmith.analyzer.layouts.diff import changes, paired
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.lint.pairs import of_one, of_two
from linesmith.analyzer.model import Layout

BOTH = "struct same { int a; long b; } s; struct other { char c; } o;"
INNER = "struct in { int a; int b; }; struct out { struct in in; } s;"
NAMED = "typedef struct { int a; long b; } named; named n;"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))


def builds(folder: Path, old: str, new: str) -> tuple[Layouts, Layouts]:
    before, after = compiled(folder, old, name="old"), compiled(folder, new, name="new")
    return read_layouts(before).layouts, read_layouts(after).layouts


def names(pairs: Iterable[tuple[Layout | None, Layout | None]]) -> list[str]:
    """The records of the newer build that are looked at."""
    return [after.name for _, after in pairs if after]


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        (BOTH, BOTH, []),
        (BOTH, "\n\n\n" + BOTH.replace("struct other", "\nstruct other"), []),
        (BOTH, BOTH.replace("int a; long b;", "long b; int a;"), ["same"]),
        ("struct s { struct { int a; int b; }; } s;", "struct s { struct { int b; int a; }; } s;", ["s"]),
        (INNER, INNER.replace("int a; int b;", "int b; int a;"), ["in"]),
        (NAMED, NAMED.replace("int a; long b;", "long b; int a;"), ["named"]),
    ],
    ids=["equal", "other lines", "moved", "in a part without a name", "in a named record", "of a typedef alone"],
)
def test_records_that_changed_are_looked_at(tmp_path: Path, old: str, new: str, changed: list[str]) -> None:
    before, after = builds(tmp_path, old, new)
    assert [layout.name for pair in of_two(before, after, ()).pairs for layout in pair[1:] if layout] == changed
    assert of_one(after, ()).compared == of_two(before, after, ()).compared, "both count the same records"


def test_a_new_record_has_no_partner(tmp_path: Path) -> None:
    found = of_two(*builds(tmp_path, BOTH, BOTH + "struct fresh { int a; } f;"), ())
    assert [(before, after.name) for before, after in found.pairs if after] == [(None, "fresh")]
    assert (found.compared, found.changed) == (3, 0)


def test_types_that_are_asked_for_are_looked_at_and_no_others(tmp_path: Path) -> None:
    old, new = builds(tmp_path, BOTH, "struct same { long b; } s; struct other { long c; } o;")
    assert sorted(names(of_one(old, ()).pairs)) == ["other", "same"]
    found = of_two(old, old, (), asked_for=("other",))
    assert [(before.name, after.name) for before, after in found.pairs if before and after] == [("other", "other")]
    assert names(of_two(old, new, ("other",)).pairs) == ["other"]
    with pytest.raises(TypeNotFound, match="othr"):
        of_two(old, new, ("othr",))


MEMBERS = st.lists(st.sampled_from(("char", "int", "long", "short")), min_size=1, max_size=6)


@settings(max_examples=15)
@given(old=MEMBERS, new=MEMBERS)
def test_digests_differ_if_and_only_if_the_comparison_finds_a_change(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    members = (" ".join(f"{one} m{at};" for at, one in enumerate(types)) for types in (old, new))
    before, after = builds(tmp_path_factory.mktemp("pair"), *(f"struct s {{ {one} }} s;" for one in members))
    found = changes(before, after, paired(*select_both(before, after, ())))
    assert bool(of_two(before, after, ()).changed) == bool(found)


def of_c(layout: Layout) -> Layout:
    return replace(layout, file="counter.h", line=1)


COUNTER = of_c(struct("counter", scalar("hits"), scalar("misses")))


def test_what_rust_restates_of_a_record_of_c_is_judged_once() -> None:
    grown = of_c(struct("counter", *COUNTER.members, scalar("lost")))
    old, new = (table(one, struct("bindings::raw::counter", *one.members)) for one in (COUNTER, grown))
    assert names(of_two(old, new, ()).pairs) == names(of_one(new, ()).pairs) == ["counter"]
    assert of_one(new, ("bindings::raw::counter",)).pairs != ()


@pytest.mark.parametrize(
    ("beside", "judged"),
    [
        # A part without a name is restated with its record.
        (struct("bindings::counter__bindgen_ty_1", scalar("hits")), False),
        # C does not know this one of Rust.
        (struct("queue::counter", scalar("hits")), True),
        # A class in a namespace has a file.
        (of_c(struct("queue::counter", *COUNTER.members)), True),
    ],
)
def test_a_record_beside_one_of_its_name_is_judged_unless_rust_restates_it(beside: Layout, judged: bool) -> None:
    assert names(of_one(table(COUNTER, beside), ()).pairs) == ["counter", *([beside.name] if judged else [])]
