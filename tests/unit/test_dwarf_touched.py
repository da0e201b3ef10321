# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that functions can reach by their variables, inlined code included."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from unit.c_records import Bench

from linesmith.analyzer import _native
from linesmith.analyzer.model import Touched

TEXT = """
struct tree { long root; }; struct owner { struct tree tree; int n; }; struct local { int a; };
typedef struct { int c; } counter;
static inline __attribute__((always_inline)) long peek(const struct tree *tree)
{
    __asm__ volatile("" : : "r"(tree) : "memory");
    return tree->root;
}
long walk(struct owner *owner, struct owner **all, counter *count)
{
    struct local value = { owner->n };
    if (count->c) { struct tree *inner = &owner->tree; return inner->root + value.a; }
    return all[0]->n;
}
long glance(struct owner *owner) { return peek(&owner->tree) + owner->n; }
struct owner *other(int n) { return 0; }
"""


def touched(path: Path, functions: Sequence[str], prefixes: Sequence[str] = ()) -> list[Touched]:
    return msgspec.json.decode(_native.read_touched(str(path), functions, prefixes, 2), type=list[Touched])


def facts(path: Path, *functions: str) -> set[tuple[str, str, str]]:
    return {(each.record, each.variable, each.via) for each in touched(path, functions) if not each.inlined_from}


def test_parameters_variables_and_inner_blocks(bench: Bench) -> None:
    assert facts(bench.object(TEXT, "-O0"), "walk") == {
        ("owner", "owner", "parameter"),
        ("owner", "all", "parameter"),
        ("counter", "count", "parameter"),
        ("local", "value", "variable"),
        ("tree", "inner", "variable"),
    }


def test_a_record_held_by_value_is_marked(bench: Bench) -> None:
    found = touched(bench.object(TEXT, "-O0"), ["walk"])
    assert {each.variable for each in found if each.by_value} == {"value"}


def test_variables_of_inlined_functions_name_their_function(bench: Bench) -> None:
    found = touched(bench.object(TEXT, "-O2"), ["glance"])
    inlined = [each for each in found if each.inlined_from == "peek"]
    assert [(each.record, each.variable, each.read_only) for each in inlined] == [("tree", "tree", True)]


def test_a_pointer_that_is_returned(bench: Bench) -> None:
    assert facts(bench.object(TEXT), "other") == {("owner", "", "return")}


def test_suffixes_of_clones_are_no_part_of_the_name(bench: Bench) -> None:
    found = touched(bench.object(TEXT), ["walk.constprop.0.isra.0"])
    assert {each.function for each in found} == {"walk.constprop.0.isra.0"}


def test_a_prefix_finds_whole_names(bench: Bench) -> None:
    found = touched(bench.object(TEXT), [], ["wal", "oth"])
    assert {each.function for each in found} == {"walk", "other"}


def test_a_function_that_is_not_there_has_no_facts(bench: Bench) -> None:
    assert touched(bench.object(TEXT), ["absent"]) == []


def test_the_result_does_not_depend_on_the_number_of_threads(bench: Bench) -> None:
    path = str(bench.object(TEXT, "-O2"))
    results = {_native.read_touched(path, ["walk", "other"], [], threads) for threads in (1, 2, 4)}
    assert len(results) == 1
