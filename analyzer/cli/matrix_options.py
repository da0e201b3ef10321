# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of commands that check a change under other configurations and on other machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from linesmith.patches.matrix import Asked
    from linesmith.patches.tree import Tree

_OWN = ("tree",)
_Status = TypeVar("_Status", int, None)


class _CountType(click.ParamType):  # type: ignore[type-arg]
    """A number, or ``all``, which is -1."""

    name = "count"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; fails on anything else."""
        if isinstance(value, int):
            return value
        if value == "all":
            return -1
        if not str(value).isdecimal():
            self.fail(f"{value!r} is no number of objects; give one, or 'all'.", param, ctx)
        return int(str(value))


_MATRIX = click.option(
    "--matrix", "all_", is_flag=True, help="Check the change under other configurations and on other machines too."
)
ON = click.option(
    "--on",
    metavar="NAME",
    multiple=True,
    help="Check it under this one, such as 'arm64'; or under that of a .config file. Can be repeated.",
)
_USERS = click.option(
    "--compile-users",
    "users",
    metavar="N|all",
    type=_CountType(),
    default=0,
    help="Compile so many objects that see the change under each, before and after, and compare the warnings.",
)


@dataclass(frozen=True, slots=True)
class Checking:
    """What a user wants checked: ``all_`` configurations of the tree, those called ``on``; -1 ``users`` are all."""

    all_: bool
    on: tuple[str, ...]
    users: int

    def asked(self, tree: Tree, file: str, cpus: int | None = None) -> Asked | None:
        """The configurations by name for a change of ``file`` (relative to the tree); ``None`` where none are wanted.

        Raises ``TreeError`` for a name that this tree does not have.
        """
        from linesmith.patches.matrix import Asked, check_names, matrix

        names = tuple(dict.fromkeys((*(matrix(tree, file) if self.all_ else ()), *self.on)))
        if not names and not self.users:
            return None
        check_names(tree, file, names)
        users = None if self.users < 0 else self.users
        return Asked(names or _OWN, users) if cpus is None else Asked(names or _OWN, users, cpus)


def given(command: Callable[..., _Status]) -> Callable[..., _Status]:
    """Add the options to a command, which gets them together as ``checking``."""

    @wraps(command)
    def gathered(*, all_: bool, on: tuple[str, ...], users: int, **others: object) -> _Status:
        return command(checking=Checking(all_, on, users), **others)

    for option in (_USERS, ON, _MATRIX):
        gathered = option(gathered)
    return gathered
