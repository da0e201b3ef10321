# SPDX-License-Identifier: GPL-2.0-or-later
"""The example program compiles without a warning and is free of data races."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from linesmith.analyzer.demo import program
from linesmith.analyzer.errors import ToolMissing, VerificationFailed


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3"])
def test_no_compiler_warns(tmp_path: Path, compiler: str, level: str) -> None:
    sources = program.unpack(tmp_path / "program")
    subprocess.run([*program.compile_command(compiler), level, "-Werror"], cwd=sources, check=True)


def test_no_data_race_is_found(tmp_path: Path) -> None:
    sources = program.unpack(tmp_path / "program")
    subprocess.run([*program.compile_command("clang-19"), "-fsanitize=thread"], cwd=sources, check=True)
    done = subprocess.run([sources / "bench", "200", "0", "0"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_prints_both_rates(tmp_path: Path) -> None:
    executable = program.build(program.unpack(tmp_path / "program"), program.find_compiler())
    done = subprocess.run([executable, "50", "0", "0"], capture_output=True, text=True, check=True)
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == ["lookups_per_second", "renewals_per_second"]


def test_without_a_compiler_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="install the package gcc"):
        program.find_compiler()


def test_a_source_that_does_not_compile_is_reported_with_the_place(tmp_path: Path) -> None:
    sources = program.unpack(tmp_path / "program")
    (sources / program.HEADER).write_text("struct session_index { nonsense root; };\n")
    with pytest.raises(VerificationFailed, match=r"session_index\.h:1:.*nonsense"):
        program.build(sources, "gcc")
