# SPDX-License-Identifier: GPL-2.0-or-later
"""The option of all commands that read or compile sources: how long that may take, and what is told past it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TypeVar

import click

from linesmith.analyzer.errors import DeadlinePassed

_OPTION = click.option(
    "--deadline",
    metavar="SECONDS",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    help="Stop reading and compiling the sources after this long; exit with 1 where not all was judged.",
)
_SCHEMA_VERSION = 1
_Status = TypeVar("_Status", int, None)


def given(command: Callable[..., _Status]) -> Callable[..., _Status]:
    """Add ``--deadline`` to a command, which gets a ``Deadline`` as ``deadline``.

    Where it passes before the command has a result, JSON says so in the result's place.
    """

    @wraps(command)
    def counted(*, deadline: float, **others: object) -> _Status:
        from linesmith.patches.deadline import Deadline

        try:
            return command(deadline=Deadline(deadline), **others)
        except DeadlinePassed as error:
            _deliver_as_json(error)
            raise

    return _OPTION(counted)


def _deliver_as_json(error: DeadlinePassed) -> None:
    """Write what was not judged, if the result was to be JSON."""
    import json

    from linesmith.analyzer.cli.output import deliver

    asked = click.get_current_context().params
    if asked.get("format_") != "json":
        return
    place = asked.get("output")
    file = place if isinstance(place, Path) else getattr(place, "path", None)  # JSON goes to no place that is a folder
    document = {"schema": _SCHEMA_VERSION, "unjudged": ["the sources"], "remarks": [str(error)]}
    deliver(json.dumps(document, indent=2).encode() + b"\n", file)
