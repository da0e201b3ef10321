# SPDX-License-Identifier: GPL-2.0-or-later
"""The options that say how a candidate is written in C, beside the order of its members."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from linesmith.analyzer.model import Candidate, Finding, SourceFact
    from linesmith.patches.remarks import Remarks

_GROUP = re.compile(r"(\w+)=(\w+(?:,\w+)*)")


def _groups(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Each as its name and its members."""
    found = [_GROUP.fullmatch(one) for one in given]
    for one, text in zip(found, given, strict=True):
        if one is None:
            raise click.BadParameter(f"{text!r} is no group; write NAME=MEMBER,MEMBER")
    return tuple((one[1], *one[2].split(",")) for one in found if one)


_OPTIONS = (
    click.option("--comment/--no-comment", default=True, help="Say above the member why it stands there (default)."),
    click.option("--padding", is_flag=True, help="Write a padding where an alignment to a line would be."),
    click.option(
        "--group",
        "groups",
        metavar="NAME=MEMBER,…",
        multiple=True,
        callback=_groups,
        help="Mark members that stand together as a cacheline group, with its assertions. Can be repeated.",
    ),
)


@dataclass(frozen=True, slots=True)
class Dressing:
    """Whether a ``comment`` and a ``padding`` are written; ``groups`` have a name and members each."""

    comment: bool
    padding: bool
    groups: tuple[tuple[str, ...], ...]

    def dressed(self, candidate: Candidate, facts: Sequence[SourceFact]) -> Candidate:
        """The candidate written so, where ``facts`` of its record allow it; raises ``EditRefused``."""
        from linesmith.patches.dressing import check_positions, grouped, padded

        written = padded(candidate) if self.padding else candidate
        for name, *members in self.groups:
            written = grouped(written, name, members)
        check_positions(candidate, written, facts)
        return written

    def remarks(self, candidate: Candidate, finding: Finding) -> Remarks | None:
        """Why the members stand where they do then, for the next who reads the source."""
        from linesmith.patches.why import why

        return why(candidate, finding) if self.comment else None


def given(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them together as ``dressing``."""

    @wraps(command)
    def gathered(*, comment: bool, padding: bool, groups: tuple[tuple[str, ...], ...], **others: object) -> None:
        command(dressing=Dressing(comment, padding, groups), **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered
