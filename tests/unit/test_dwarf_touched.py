# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that functions can reach by their variables, inlined code included."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from unit.c_records import Bench, Producer

from linesmith.analyzer import _native
from linesmith.analyzer.model import Touched

TEXT = Path(__file__).with_name("sources").joinpath("touched.c").read_text()


def touched(path: Path, functions: Sequence[str], prefixes: Sequence[str] = ()) -> list[Touched]:
    return msgspec.json.decode(_native.read_touched(str(path), functions, prefixes, 2), type=list[Touched])


@pytest.fixture(scope="module")
def plain(producer: Producer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Bench(tmp_path_factory.mktemp("plain"), producer).object(TEXT, "-O0")


@pytest.fixture(scope="module")
def optimised(producer: Producer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Bench(tmp_path_factory.mktemp("optimised"), producer).object(TEXT, "-O2")


def test_parameters_variables_inner_blocks_and_results(plain: Path) -> None:
    found = [each for each in touched(plain, ["walk", "other"]) if not each.inlined_from]
    assert {(each.function, each.record, each.variable, each.via) for each in found} == {
        ("walk", "owner", "owner", "parameter"),
        ("walk", "owner", "all", "parameter"),
        ("walk", "counter", "count", "parameter"),
        ("walk", "local", "value", "variable"),
        ("walk", "tree", "inner", "variable"),
        ("other", "owner", "", "return"),
    }
    assert {each.variable for each in found if each.by_value} == {"value"}


def test_variables_of_inlined_functions_name_their_function(optimised: Path) -> None:
    inlined = [each for each in touched(optimised, ["glance"]) if each.inlined_from == "peek"]
    assert [(each.record, each.variable, each.read_only) for each in inlined] == [("tree", "tree", True)]


@pytest.mark.parametrize(
    ("functions", "prefixes", "found"),
    [
        pytest.param(["walk.isra.0"], [], {"walk.isra.0"}, id="the suffix of a clone is no part of the name"),
        pytest.param([], ["wal", "oth"], {"walk", "other"}, id="prefixes find whole names"),
        pytest.param(["absent"], [], set(), id="nothing"),
    ],
)
def test_functions_are_found_by_name(plain: Path, functions: list[str], prefixes: list[str], found: set[str]) -> None:
    assert {each.function for each in touched(plain, functions, prefixes)} == found


def test_the_result_does_not_depend_on_the_number_of_threads(optimised: Path) -> None:
    results = {_native.read_touched(str(optimised), ["walk", "other"], [], threads) for threads in (1, 2, 4)}
    assert len(results) == 1
