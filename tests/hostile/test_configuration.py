# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel configuration is data: whoever wrote it, it runs nothing, and the change under review does not choose it."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest
from lint_commits import Commits, repository
from matrix.small_kernel import FILES, HEADER, MAKEFILE
from patch_cases import write_files

from linesmith.patches.build.confinement import is_confinable
from linesmith.patches.build.kbuild import kernel_build
from linesmith.patches.build.kconfig import read_configuration

# As the kernel's own makefile: `scripts/setlocalversion` prints the string, and a recipe echoes it without quotes.
RELEASE = "\t. $(out)/.config; eval echo $$CONFIG_LOCALVERSION\n"
RUNS = MAKEFILE.replace("prepare0:\n", f"prepare0:\n{RELEASE}")
# Seen under CONFIG_PROVE_LOCKING only.
GROWN = HEADER.replace("map[4]", "map[9]")
KERNEL = {name: text for name, text in {**FILES, "Makefile": RUNS}.items() if name != ".config"}


def configuration(line: str) -> str:
    return FILES[".config"] + f"{line}\n"


@pytest.fixture
def checked_out(tmp_path: Path) -> tuple[Commits, str, Path]:
    """A checkout of a head that brings a ``.config``; the commit of its base; the file that a command would make."""
    made, ran = repository(tmp_path / "tree"), tmp_path / "ran"
    hostile = configuration(f'CONFIG_LOCALVERSION=";touch {ran};: -"') + "CONFIG_PROVE_LOCKING=y\n"
    base = made.commit(KERNEL)
    head = made.commit({**KERNEL, "include/linux/s.h": GROWN, ".config": hostile}, base)
    made.git("reset", "-q", "--hard", head)
    return made, base, ran


def test_a_committed_configuration_is_not_used(checked_out: tuple[Commits, str, Path]) -> None:
    made, base, ran = checked_out
    done = made.lint(base, "HEAD")
    assert "tree/.config was not used, because it may be part of the change" in done.stdout
    assert " 0 changed" in done.stdout
    assert not ran.exists()


def test_the_configuration_of_the_base_is_used(tmp_path: Path) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit({**KERNEL, ".config": configuration("CONFIG_PROVE_LOCKING=y")})
    head = made.commit({**KERNEL, "include/linux/s.h": GROWN, ".config": FILES[".config"]}, base)
    made.git("reset", "-q", "--hard", head)
    assert " 3 changed" in made.lint(base, head).stdout


def test_a_string_that_the_user_names_runs_nothing(checked_out: tuple[Commits, str, Path]) -> None:
    made, base, ran = checked_out
    done = made.lint(base, "HEAD", "--kconfig", made.root / ".config")
    assert " 3 changed" in done.stdout
    assert not ran.exists()


@pytest.mark.study
@pytest.mark.real
def test_no_string_of_a_real_kernel_runs(kernel_tree: Path, tmp_path: Path) -> None:
    """The strings of x86_64_defconfig get, in turns, what make or a shell of the tree would run."""
    ran, build = tmp_path / "ran", tmp_path / "build"
    values = cycle((f";touch {ran};: -", f"$(shell touch {ran})", f"`touch {ran}`", f"&&touch${{IFS}}{ran}"))
    lines = (kernel_tree / ".config").read_text().splitlines()
    hostile = [f'{line.partition("=")[0]}="{next(values)}"' if '="' in line else line for line in lines]
    write_files(build, {".config": "\n".join((*hostile, ""))})
    kernel_build(kernel_tree, build, lambda _: None)
    assert not ran.exists()


def test_make_gets_no_string_and_no_comment(tmp_path: Path) -> None:
    text = (
        '# Linux/x86 6.1.0 Kernel Configuration\n# $(shell x)\nCONFIG_A="\\"$(x)"\nCONFIG_B=y\n# CONFIG_C is not set\n'
    )
    (tmp_path / "config").write_text(text)
    made = read_configuration(tmp_path / "config").for_make
    assert made == '# Linux/x86 6.1.0 Kernel Configuration\nCONFIG_A=""\nCONFIG_B=y\n# CONFIG_C is not set\n'


@pytest.mark.skipif(not is_confinable(), reason="this kernel has no Landlock")
@pytest.mark.parametrize(
    "recipe",
    [
        "touch @OUTSIDE@",
        "cat @SECRET@ > $(out)/include/generated/stolen",
        "echo x >> $(here)Kbuild",
        "/usr/bin/python3 -c 'import socket; socket.socket()'",
    ],
)
def test_the_make_of_a_base_reaches_its_build_only(tmp_path: Path, recipe: str) -> None:
    """The base is trusted to describe its build, not with the machine: whoever merged it may have been deceived."""
    secret, outside = tmp_path / "secret", tmp_path / "outside"
    secret.write_text("ossifrage\n")
    text = recipe.replace("@OUTSIDE@", str(outside)).replace("@SECRET@", str(secret))
    makefile = MAKEFILE.replace("prepare0:\n", f"prepare0:\n\t@{text} || echo refused\n")
    tree = write_files(tmp_path / "tree", {**FILES, "Makefile": makefile})
    build = kernel_build(tree, None, lambda _: None)
    assert build.preparation is not None
    assert "refused" in (build.preparation.root / "log").read_text()
    assert not outside.exists()
    assert (tree / "Kbuild").read_text() == ""
