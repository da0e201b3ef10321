# SPDX-License-Identifier: GPL-2.0-or-later
"""What reaches every command beside its command line: variables and files, as the manual and the settings tell them."""

from __future__ import annotations

from typing import NamedTuple

from linesmith.analyzer.cli.settings import CACHE_DIRECTORY, variable


class Told(NamedTuple):
    """A variable or a file by its ``name`` or names, and what it is for."""

    name: str
    meaning: str


# Variables that are not options, because no file may set them or because others read them too.
ALONE = ("LINESMITH_SOURCE_SCAN", "NO_COLOR", "TMPDIR")
VARIABLES = (
    Told(
        f"{variable('command', 'option')}, {variable('option')}",
        "An option, for one command or for every one that has it, such as `LINESMITH_SLAB_CPUS`; `linesmith config`"
        " lists which can be set so, and the page of each command names its own.",
    ),
    Told(
        variable(CACHE_DIRECTORY),
        "Where layouts, access maps and scans are kept; `cache-dir` in your file.",
    ),
    Told(ALONE[0], "The program that parses sources, instead of the installed one."),
    Told("XDG_CONFIG_HOME, XDG_CACHE_HOME", "Where your file is, and the cache where nothing says otherwise."),
    Told(ALONE[1], "No colour in the terminal."),
    Told(ALONE[2], "Where temporary directories are made."),
    Told("SOURCE_DATE_EPOCH", "The date that man pages bear."),
)
FILES = (
    Told(
        "$XDG_CONFIG_HOME/linesmith/config.toml",
        "Your own settings; `~/.config/linesmith/config.toml` where the variable is not set.",
    ),
    Told(
        "linesmith.toml",
        "In the root of a source tree: what its layouts are wanted to be, and in its table `[defaults]` the machines"
        " that it is for.",
    ),
    Told(
        "$XDG_CACHE_HOME/linesmith",
        "The cache; `~/.cache/linesmith` where neither variable is set. It may be deleted at any time.",
    ),
)
