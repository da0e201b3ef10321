# SPDX-License-Identifier: GPL-2.0-or-later
"""Every builder keeps what the protocol promises."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from builders import conformance
from builders.conformance import Bench
from builders.projects import CASES, plant

from linesmith.analyzer.model import Workplace


@pytest.fixture(params=sorted(CASES))
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Each tree in turn, with its builder; the compiler cache is the test's own."""
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    case = CASES[request.param]
    tree = plant(case.files, tmp_path / "tree")
    return Bench(case, case.recipe(tree), Workplace(tmp_path / "place/warm", tmp_path / "place/artifacts"))


def test_every_installed_builder_has_a_case() -> None:
    builders = {case.recipe(Path()).builder for case in CASES.values()}
    assert builders == set(entry_points(group="linesmith.builders").names)


def test_baseline(bench: Bench) -> None:
    conformance.check_baseline(bench)


def test_the_same_input_is_built_once(bench: Bench) -> None:
    conformance.check_reuse(bench)


def test_workers_make_the_same_bits(bench: Bench, tmp_path: Path) -> None:
    conformance.check_same_bits(bench, tmp_path / "elsewhere")


def test_a_patch_changes_the_layout_once(bench: Bench) -> None:
    conformance.check_variant(bench)


def test_a_placebo_is_another_build_with_the_same_layouts(bench: Bench) -> None:
    conformance.check_placebo(bench)


def test_a_patch_that_does_not_apply(bench: Bench) -> None:
    conformance.check_refused_patch(bench)


def test_a_compile_error_harms_no_later_build(bench: Bench) -> None:
    conformance.check_compile_error(bench)


def test_the_tree_is_only_read(bench: Bench) -> None:
    conformance.check_tree_untouched(bench)


def test_a_change_of_the_tree_is_noticed(bench: Bench) -> None:
    conformance.check_changed_tree(bench)


def test_two_workers_that_want_the_same(bench: Bench, tmp_path: Path) -> None:
    conformance.check_two_at_once(bench, tmp_path / "other")


def test_a_builder_that_is_killed(bench: Bench, tmp_path: Path) -> None:
    conformance.check_killed_builder(bench, tmp_path / "pipe.h")


def test_a_compiler_that_is_killed(bench: Bench, tmp_path: Path) -> None:
    conformance.check_killed_compiler(bench, tmp_path / "pipe.h")


def test_a_build_that_takes_too_long(bench: Bench, tmp_path: Path) -> None:
    conformance.check_time_limit(bench, tmp_path / "pipe.h")


def test_a_dry_run_shows_the_commands(bench: Bench) -> None:
    conformance.check_commands(bench)
