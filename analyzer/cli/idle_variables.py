# SPDX-License-Identifier: GPL-2.0-or-later
"""Variables of ours that are set and change nothing: misspelled, empty, or of options that a command does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import click

from linesmith.analyzer.cli.environment import ALONE
from linesmith.analyzer.cli.settings import CACHE_DIRECTORY, PREFIX, setting_of, variable, variables
from linesmith.analyzer.cli.usage import nearest


def idle_variables(root: click.Context, command: str, environment: Mapping[str, str]) -> Iterator[str]:
    """A sentence on each variable that sets nothing of ``command``, or of any where that is empty, with what to do.

    A variable that another command alone has is none of these: it is set for that one.
    """
    ours = sorted(name for name in environment if name.startswith(f"{PREFIX}_"))
    takers = _takers(root) if ours else {}
    for name in ours:
        of = takers.get(name)
        if of is None:
            yield f"{name} is set and names no option that can be; {_meant(name, takers)}"
        elif not environment[name]:
            yield f"{name} is empty and so sets nothing; give it a value, or unset it"
        elif command and len(of) > 1 and command not in of:
            yield f"{name} is set and {command} does not take it; those that do are {', '.join(of)}"


def _meant(name: str, known: Iterable[str]) -> str:
    """What to do about a name; its likeness to others is judged without the beginning that all of them have."""
    begin = f"{PREFIX}_"
    near = nearest(name.removeprefix(begin), (one.removeprefix(begin) for one in known if one.startswith(begin)))
    return near.replace("mean ", f"mean {begin}") or "`linesmith config` lists the options that can be set"


def _takers(root: click.Context) -> dict[str, list[str]]:
    """Every variable that is looked at, with the commands that take an option from it; none: it is no option."""
    found: dict[str, list[str]] = {variable(CACHE_DIRECTORY): [], **{name: [] for name in ALONE}}
    group = root.command
    names = group.list_commands(root) if isinstance(group, click.Group) else []
    for name in names:
        command = group.get_command(root, name) if isinstance(group, click.Group) else None
        for param in command.params if command else ():
            if setting := setting_of(name, param):
                for one in variables(name, setting):
                    found.setdefault(one, []).append(name)
    return found
