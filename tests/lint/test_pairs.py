# SPDX-License-Identifier: GPL-2.0-or-later
"""Which records of two builds are worth a look."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from c_source import compiled
from hand_made import scalar, struct, table
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.diff import changes, paired
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.errors import TypeNotFound
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint import of_one, of_two
from linesmith.analyzer.model import Layout
from linesmith.analyzer.selection import select_both

BOTH = "struct same { int a; long b; } s; struct other { char c; } o;"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))


def builds(folder: Path, old: str, new: str) -> tuple[Layouts, Layouts]:
    before, after = compiled(folder, old, name="old"), compiled(folder, new, name="new")
    return read_layouts(before).layouts, read_layouts(after).layouts


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        (BOTH, BOTH, []),
        (BOTH, "\n\n\n" + BOTH.replace("struct other", "\nstruct other"), []),
        (BOTH, BOTH.replace("int a; long b;", "long b; int a;"), ["same"]),
        ("struct s { struct { int a; int b; }; } s;", "struct s { struct { int b; int a; }; } s;", ["s"]),
        (
            "struct in { int a; int b; }; struct out { struct in in; } s;",
            "struct in { int b; int a; }; struct out { struct in in; } s;",
            ["in"],
        ),
        (
            "typedef struct { int a; long b; } named; named n;",
            "typedef struct { long b; int a; } named; named n;",
            ["named"],
        ),
    ],
    ids=["equal", "other lines", "moved", "in a part without a name", "in a named record", "of a typedef alone"],
)
def test_records_that_changed_are_looked_at(tmp_path: Path, old: str, new: str, changed: list[str]) -> None:
    pairs = of_two(*builds(tmp_path, old, new), ()).pairs
    assert [layout.name for pair in pairs for layout in pair[1:] if layout] == changed


def test_one_build_and_two_count_the_same_records(tmp_path: Path) -> None:
    old, new = builds(tmp_path, BOTH, BOTH + "typedef struct { int a; } named; named n;")
    assert (of_one(new, ()).compared, of_two(old, new, ()).compared) == (3, 3)


def test_a_new_record_has_no_partner(tmp_path: Path) -> None:
    found = of_two(*builds(tmp_path, BOTH, BOTH + "struct fresh { int a; } f;"), ())
    assert [(before, after.name) for before, after in found.pairs if after] == [(None, "fresh")]
    assert (found.compared, found.changed) == (3, 0)


def test_types_that_are_asked_for_are_looked_at_and_no_others(tmp_path: Path) -> None:
    old, new = builds(tmp_path, BOTH, "struct same { long b; } s; struct other { long c; } o;")
    assert sorted(after.name for _, after in of_one(old, ()).pairs if after) == ["other", "same"]
    found = of_two(old, old, (), asked_for=("other",))
    assert [(before.name, after.name) for before, after in found.pairs if before and after] == [("other", "other")]
    assert [after.name for _, after in of_two(old, new, ("other",)).pairs if after] == ["other"]
    with pytest.raises(TypeNotFound, match="othr"):
        of_two(old, new, ("othr",))


MEMBERS = st.lists(st.sampled_from(("char", "int", "long", "short")), min_size=1, max_size=6)


@settings(max_examples=15)
@given(old=MEMBERS, new=MEMBERS)
def test_digests_differ_if_and_only_if_the_comparison_finds_a_change(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("pair")

    def source(types: list[str]) -> str:
        return "struct s { " + " ".join(f"{one} m{at};" for at, one in enumerate(types)) + " } s;"

    before, after = builds(folder, source(old), source(new))
    found = changes(before, after, paired(*select_both(before, after, ())))
    assert bool(of_two(before, after, ()).changed) == bool(found)


def of_c(layout: Layout) -> Layout:
    return replace(layout, file="counter.h", line=1)


def test_what_rust_restates_of_a_record_of_c_is_judged_once() -> None:
    counter = struct("counter", scalar("hits"), scalar("misses"))
    grown = struct("counter", scalar("hits"), scalar("misses"), scalar("lost"))
    old = table(of_c(counter), struct("bindings::raw::counter", *counter.members))
    new = table(of_c(grown), struct("bindings::raw::counter", *grown.members))
    assert [after.name for _, after in of_two(old, new, ()).pairs if after] == ["counter"]
    assert [after.name for _, after in of_one(new, ()).pairs if after] == ["counter"]
    assert of_one(new, ("bindings::raw::counter",)).pairs != ()


def test_a_part_without_a_name_is_restated_with_its_record() -> None:
    counter = of_c(struct("counter", scalar("hits"), scalar("misses")))
    both = table(counter, struct("bindings::counter__bindgen_ty_1", scalar("hits")))
    assert [after.name for _, after in of_one(both, ()).pairs if after] == ["counter"]


def test_a_record_of_rust_that_c_does_not_know_is_judged() -> None:
    alike = struct("queue::counter", scalar("hits"))
    both = table(of_c(struct("counter", scalar("hits"), scalar("misses"))), alike)
    assert [after.name for _, after in of_one(both, ()).pairs if after] == ["counter", "queue::counter"]


def test_a_class_in_a_namespace_is_judged_beside_a_record_of_its_name() -> None:
    counter = struct("counter", scalar("hits"))
    both = table(of_c(counter), of_c(struct("queue::counter", *counter.members)))
    assert [after.name for _, after in of_one(both, ()).pairs if after] == ["counter", "queue::counter"]
