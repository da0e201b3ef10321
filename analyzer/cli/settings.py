# SPDX-License-Identifier: GPL-2.0-or-later
"""Which options may be set once, by a variable or a file, instead of with each command.

No option is here that names what a command reads or writes, that decides what is done, or that keeps a result: those
are said where the command is given.
"""

from __future__ import annotations

from typing import NamedTuple

import click

PREFIX = "LINESMITH"


class Setting(NamedTuple):
    """An option that may be set, by its long name; ``commands`` limits it to some, empty to all that have it.

    ``in_tree`` tells that the file in a source tree may set it: a fact of the machines that the tree is for. A tree
    may be anybody's, so no path, no command and nothing that decides what is reported is among these.
    """

    name: str
    in_tree: bool = False
    commands: tuple[str, ...] = ()

    def of(self, command: str) -> bool:
        """Whether the command's option of that name is this setting."""
        return not self.commands or command in self.commands


_CHANGING = ("patch", "encapsulate", "inline")
# `layout` is not among these: whether it scans sources, for a minute or more, is said where it is called.
_OF_A_TREE = (*_CHANGING, "suggest", "report", "lint", "intent", "diff", "doctor")
_SLABS = ("slab", "suggest", "patch", "lint", "intent", "report")
_RUNS = ("bench", "tune")
SETTINGS = (
    Setting("format"),
    Setting("cpus", in_tree=True, commands=_SLABS),
    Setting("page-size", in_tree=True, commands=_SLABS),
    Setting("kernel", in_tree=True, commands=_SLABS),
    Setting("slabinfo", commands=_SLABS),
    Setting("top"),
    Setting("limit"),
    Setting("fail-on"),
    Setting("tree", commands=_OF_A_TREE),
    Setting("build", commands=_OF_A_TREE),
    Setting("cflags", commands=_OF_A_TREE),
    Setting("compile-users", commands=_CHANGING),
    Setting("deadline"),
    Setting("on", commands=("record",)),
    Setting("smp", commands=("record",)),
    Setting("memory", commands=("record",)),
    Setting("timeout", commands=("record",)),
    Setting("executor", commands=_RUNS),
    Setting("scheduler", commands=_RUNS),
    Setting("machines", commands=_RUNS),
    Setting("workers", commands=_RUNS),
    Setting("minutes", commands=_RUNS),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}
# Where the cache is; it belongs to no command.
CACHE_DIRECTORY = "cache-dir"


def setting_of(command: str, param: click.Parameter) -> Setting | None:
    """The setting that this parameter of the command is; ``None`` where it has to be given each time."""
    if not isinstance(param, click.Option):
        return None
    found = _BY_NAME.get(max(param.opts, key=len).removeprefix("--"))
    return found if found and found.of(command) else None


def variables(command: str, setting: Setting) -> list[str]:
    """The variables that set it, the one for this command alone first."""
    return [variable(command, setting.name), variable(setting.name)]


def variable(*words: str) -> str:
    """The name of a variable of ours."""
    return "_".join((PREFIX, *words)).upper().replace("-", "_")
