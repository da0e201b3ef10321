# SPDX-License-Identifier: GPL-2.0-or-later
"""``budget-exceeded``: soft limits of size, lines and objects per slab."""

from __future__ import annotations

from hand_made import held, scalar, struct
from rule_cases import alone, before_and_now, broken, figure

from linesmith.analyzer.model import Layout, Severity, SizeBudget, TypeIntent, Violation


def sized(count: int, name: str = "any") -> Layout:
    return struct(name, *(scalar(f"word{number}") for number in range(count)))


def intent(record: str = "any", **budget: int) -> tuple[TypeIntent, ...]:
    return (TypeIntent(record, "three lines", budget=SizeBudget(**budget), place="linesmith.toml:4"),)


def judged(layout: Layout, wanted: tuple[TypeIntent, ...]) -> list[Violation]:
    return broken("budget-exceeded", alone(layout, tuned="has intents", intents=wanted))


def test_more_bytes_than_allowed() -> None:
    (one,) = judged(sized(25), intent(bytes=192))
    assert one.message == "has 200 bytes where the budget is 192 (linesmith.toml:4)"
    assert one.advice == "make room, or raise the budget and say why; its reason: three lines"
    assert (one.severity, one.subject) == (Severity.WARNING, "bytes")


def test_a_budget_that_is_kept_is_silent() -> None:
    assert judged(sized(24), intent(bytes=192, lines=3)) == []
    assert judged(sized(24), intent()) == []


def test_more_lines_than_allowed() -> None:
    (one,) = judged(sized(25), intent(lines=3))
    assert one.message.startswith("has 4 cache lines where the budget is 3")


def test_fewer_objects_than_wanted_in_the_cache_of_the_record() -> None:
    (one,) = judged(sized(9, "vmap_area"), intent("vmap_area", objects_per_slab=64))
    assert one.message.startswith("fits 56 times into a slab of vmap_area where the budget is 64 at least")
    assert figure(one, "objects per slab") == (None, 56)
    assert [each.unit for each in one.figures] == ["objects"]
    assert judged(sized(9, "vmap_area"), intent("vmap_area", objects_per_slab=56)) == []


def test_a_record_without_a_cache_is_counted_where_it_is_held() -> None:
    inner = sized(1)
    outer = struct("vmap_area", *(scalar(f"word{number}") for number in range(8)), held("part", inner))
    subject = alone(inner, outer, tuned="has intents", intents=intent(objects_per_slab=64))
    (one,) = broken("budget-exceeded", subject)
    assert one.message.startswith("fits 56 times into a slab of vmap_area, as vmap_area.part,")


def test_where_a_record_has_a_cache_those_that_hold_it_do_not_count() -> None:
    """A slab holds 56 of it, and 27 of what holds it."""
    inner = sized(9, "vmap_area")
    outer = struct("taskstats", *(scalar(f"word{number}") for number in range(64)), held("part", inner))
    wanted = intent("vmap_area", objects_per_slab=56)
    assert broken("budget-exceeded", alone(inner, outer, tuned="has intents", intents=wanted)) == []


def test_kmalloc_is_said_to_be_assumed() -> None:
    (one,) = judged(sized(9), intent(objects_per_slab=64))
    assert "a slab of kmalloc-96, if kmalloc() allocates it, where" in one.message


def test_what_the_base_exceeded_as_much_is_a_note() -> None:
    wanted = intent(bytes=64)
    (one,) = broken("budget-exceeded", before_and_now((sized(10),), (sized(9),), "has intents", wanted))
    assert (one.severity, one.message.endswith(", as before")) == (Severity.NOTE, True)


def test_what_is_worse_than_the_base_is_a_warning_with_what_grew() -> None:
    wanted = intent(bytes=64)
    (one,) = broken("budget-exceeded", before_and_now((sized(9),), (sized(10),), "has intents", wanted))
    assert one.severity is Severity.WARNING
    assert "; what grew: word9 (8 bytes); " in one.advice
    assert figure(one, "bytes") == (72, 80)


def test_a_cache_of_its_own_is_not_taken_for_kmalloc() -> None:
    """``mm_struct`` is larger in its cache than declared, by masks of CPUs, but it has one."""
    (one,) = judged(sized(168, "mm_struct"), intent("mm_struct", objects_per_slab=28))
    assert one.message.startswith("fits 24 times into a slab of mm_struct where the budget is 28 at least")
