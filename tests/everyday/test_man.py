# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual: a page for each command, of the words of its help, that formatters take without a complaint."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all pages."""
    folder = tmp_path_factory.mktemp("manual") / "man1"
    done = linesmith("man", "-o", folder)
    assert done.returncode == 0, done.stderr
    return folder


def commands() -> set[str]:
    """The names in the help of the program."""
    return set(re.findall(r"^  ([a-z]+)  ", linesmith("--help").stdout.partition("look:")[2], re.MULTILINE))


def formatted(page: Path) -> str:
    """The page as a terminal shows it, on one line and without breaks in words."""
    shown = subprocess.run(
        ["man", "--no-hyphenation", "--no-justification", "-l", page],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MANWIDTH": "100", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"},
    )
    return " ".join(shown.stdout.replace("\u2010", "-").split())


def test_every_command_has_a_page(manual: Path) -> None:
    assert {page.name for page in manual.iterdir()} == {"linesmith.1", *(f"linesmith-{name}.1" for name in commands())}


@pytest.mark.skipif(shutil.which("man") is None, reason="no man to show a page with")
def test_a_page_says_what_the_help_says(manual: Path) -> None:
    shown = formatted(manual / "linesmith-slab.1")
    described = linesmith("slab", "--help").stdout.partition("\n\n")[2].partition("Options:")[0]
    assert " ".join(described.replace("`", "").split()) in shown
    assert "--cpus N Number of CPUs; the size of slabs depends on it." in shown
    assert "LINESMITH_SLAB_CPUS, LINESMITH_CPUS Sets --cpus." in shown
    # Commands to type keep their lines.
    typed = "linesmith record --kernel vmlinuz --vmlinux vmlinux -o profile -- sh -c 'ls | wc'"
    assert typed in formatted(manual / "linesmith-record.1")


@pytest.mark.parametrize(
    "formatter",
    [("groff", "-ww", "-man", "-Tutf8", "-z"), ("man", "--warnings=w", "-l"), ("mandoc", "-Tlint", "-Wstyle")],
    ids=lambda words: words[0],
)
def test_formatters_have_nothing_to_say(manual: Path, formatter: tuple[str, ...]) -> None:
    if shutil.which(formatter[0]) is None:
        pytest.skip(f"{formatter[0]} is not installed")
    pages = sorted(manual.iterdir())
    done = subprocess.run([*formatter, *pages], capture_output=True, text=True, check=True)
    assert (done.stdout if formatter[0] == "mandoc" else done.stderr) == ""


def test_the_date_of_the_pages_can_be_given(tmp_path: Path) -> None:
    assert linesmith("man", "-o", tmp_path, env={**os.environ, "SOURCE_DATE_EPOCH": "86400"}).returncode == 0
    assert '"1970-01-02"' in (tmp_path / "linesmith.1").read_text()


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = linesmith("man", "-o", tmp_path / "file" / "man1")
    assert (done.returncode, done.stderr.partition("; ")[0]) == (2, f"linesmith: {tmp_path}/file/man1: Not a directory")
