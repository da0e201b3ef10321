# SPDX-License-Identifier: GPL-2.0-or-later
"""A ``.config`` is data: what make or a shell would execute is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from patch_cases import write_files

from linesmith.analyzer.errors import ToolMissing, TreeError
from linesmith.patches.kbuild import kernel_build, planned
from linesmith.patches.kconfig import architecture, read_configuration
from linesmith.patches.toolchain import toolchain

HEAD = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 6.1.0 Kernel Configuration\n#\n"
TREE = {"Kbuild": "", "Makefile": "VERSION = 6\n", "scripts/Makefile.build": "", "arch/x86/Makefile": ""}


def configured(tmp_path: Path, lines: str) -> Path:
    return write_files(tmp_path, {**TREE, ".config": HEAD + lines})


def test_symbols_are_read(tmp_path: Path) -> None:
    lines = 'CONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\nCONFIG_D=-7\nCONFIG_E=0xff\nCONFIG_F="a \\"b\\""\n'
    configuration = read_configuration(configured(tmp_path, lines) / ".config")
    assert configuration.has("A")
    assert not configuration.has("C")
    assert configuration.values["D"] == "-7"
    assert architecture(configuration, tmp_path) == "x86"


@pytest.mark.parametrize(
    "line",
    [
        'CONFIG_LOCALVERSION="a" ; touch ran',
        "CONFIG_LOCALVERSION=$(shell touch ran)",
        "include evil.mk",
        "all:; touch ran",
        "export CONFIG_A=y",
    ],
)
def test_a_line_that_could_run_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    tree = configured(tmp_path, f"CONFIG_A=y\n{line}\n")
    with pytest.raises(TreeError, match=r"\.config:6 is no line that kconfig writes"):
        kernel_build(tree, None, lambda _: None)
    assert not (tree / "ran").exists()


def test_a_tree_without_configuration_names_the_remedy(tmp_path: Path) -> None:
    tree = write_files(tmp_path, TREE)
    with pytest.raises(TreeError, match=r"has no \.config; run make defconfig"):
        planned(tree, None)


def test_a_configuration_of_no_known_architecture_is_refused(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {**TREE, ".config": "# Linux/vax 6.1.0 Kernel Configuration\nCONFIG_A=y\n"})
    with pytest.raises(TreeError, match="does not say for which architecture"):
        planned(tree, None)


def test_a_missing_compiler_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = configured(tmp_path, 'CONFIG_CC_VERSION_TEXT="gcc (Debian 12.2.0) 12.2.0"\n')
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="install gcc"):
        toolchain(read_configuration(tree / ".config"), "x86")


def test_a_foreign_architecture_takes_its_cross_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = configured(tmp_path, 'CONFIG_CC_VERSION_TEXT="aarch64-linux-gnu-gcc (Debian 12.2.0) 12.2.0"\n')
    program = tmp_path / "aarch64-linux-gnu-gcc"
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = toolchain(read_configuration(tree / ".config"), "arm64")
    assert tools.variables == ("CROSS_COMPILE=aarch64-linux-gnu-", "CC=aarch64-linux-gnu-gcc")


def test_a_version_text_is_no_way_to_name_another_program(tmp_path: Path) -> None:
    tree = configured(tmp_path, 'CONFIG_CC_VERSION_TEXT="./evil --now"\n')
    assert toolchain(read_configuration(tree / ".config"), "x86").compiler == "gcc"
