# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of C++ variables, mangled as g++ mangles them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from linesmith.plugins.machines.symbols import data_symbols
from linesmith.plugins.recorders.scoped_names import scoped_name


def test_variables_get_the_names_that_the_source_gives_them(tmp_path: Path) -> None:
    (tmp_path / "unit.cc").write_text(
        "int plain; static int own; namespace app { int jobs; static int L3; namespace inner { int twelve_chars; } }\n"
        "namespace { int hidden; }\n"
        "struct pool { static int size; }; int pool::size;\n"
        "int *all[] = {&own, &app::L3, &hidden};\n"
    )
    subprocess.run(["g++", "-c", "unit.cc"], cwd=tmp_path, check=True)
    names = {scoped_name(one.name) for one in data_symbols(tmp_path / "unit.o") if one.size}
    assert names == {
        "plain",
        "own",
        "app::jobs",
        "app::L3",
        "app::inner::twelve_chars",
        "pool::size",
        "all",
        "(anonymous namespace)::hidden",
    }


@pytest.mark.parametrize(
    "symbol",
    [
        *("_ZN3app5queueIlE4headE", "_ZZ4mainE3loc", "_ZN9", "_ZN3appE1", "_ZL", "_ZN12x"),
        *("_ZN0E", "_ZL0", "_ZL\N{ARABIC-INDIC DIGIT THREE}abc", "_ZN" + "9" * 5000),
    ],
)
def test_what_is_no_plain_name_is_left_as_it_is(symbol: str) -> None:
    assert scoped_name(symbol) == symbol
