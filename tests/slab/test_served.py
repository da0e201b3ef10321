# SPDX-License-Identifier: GPL-2.0-or-later
"""Which records slab caches serve, and what these hold."""

from __future__ import annotations

from hand_made import held, scalar, struct, table

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import Layout, SlabBasis, SlabCache, SlabGeometry
from linesmith.analyzer.slab import Kernel, Served, has_slabs, own_cache, slab_places
from linesmith.analyzer.slab.places import TypeSlabs, together

PART = struct("part", scalar("first"), scalar("second"))
DENTRY = struct("dentry", scalar("d_flags"), held("d_part", PART))
STRANGER = struct("stranger", held("part", PART))
LAYOUTS = table(PART, DENTRY, STRANGER)


def walked(kernel: Kernel) -> list[str]:
    return [layout.name for layout in Served(LAYOUTS, kernel)]


def places(layout: Layout, kernel: Kernel) -> list[tuple[str, str]]:
    found = slab_places(layout, Containment(Served(LAYOUTS, kernel)), kernel)
    return [(place.outer, place.path) for place in found]


def test_records_of_known_caches_and_their_parts_are_walked() -> None:
    assert walked(Kernel()) == ["dentry", "part"]


def test_a_measured_cache_serves_the_record_of_its_name() -> None:
    measured = SlabCache("stranger", SlabGeometry(16, 8, 16, 0, 256), SlabBasis.MEASURED)
    assert "stranger" in walked(Kernel(measured={"stranger": measured}))


def test_the_places_of_a_record_are_those_that_all_layouts_tell() -> None:
    everywhere = [(one.outer, one.path) for one in slab_places(PART, Containment(LAYOUTS), Kernel())]
    assert places(PART, Kernel()) == everywhere == [("dentry", "d_part")]


def test_costs_add_up_where_each_type_has_objects_of_its_own() -> None:
    dentry, stranger = (TypeSlabs(one, slab_places(one, Containment(LAYOUTS), Kernel())) for one in (DENTRY, STRANGER))
    part = TypeSlabs(PART, slab_places(PART, Containment(LAYOUTS), Kernel()))
    assert [place.outer for place in together([dentry, stranger])] == ["dentry", "stranger"]
    assert together([dentry]) == ()
    assert together([dentry, part]) == ()


def test_what_is_not_walked_can_still_be_asked_for() -> None:
    assert Served(LAYOUTS, Kernel()).by_id(STRANGER.id) == STRANGER


def test_a_program_has_no_slabs() -> None:
    assert not has_slabs(LAYOUTS)
    assert has_slabs(table(struct("task_struct", scalar("flags"))))


def test_a_record_without_bytes_has_no_cache_of_its_own() -> None:
    """Damaged debug information, or a record that a configuration leaves empty."""
    assert own_cache(struct("dentry"), Kernel()) is None
    assert own_cache(struct("dentry", scalar("byte", 1)), Kernel()) is not None
