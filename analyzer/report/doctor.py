# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine can do, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from linesmith.analyzer.model import Check, Readiness
from linesmith.analyzer.report.prose import WIDTH, json_text, prose

SCHEMA_VERSION = 1


def lacking(checks: Sequence[Check], commands: Sequence[str]) -> tuple[str, ...]:
    """The names of the checks that one of these commands does not work without and that found nothing."""
    return tuple(
        one.name for one in checks if one.readiness is Readiness.MISSING and not set(commands).isdisjoint(one.needed_by)
    )


def render_json(checks: Sequence[Check], commands: Sequence[str]) -> str:
    """Every check, and the names of the missing parts that ``commands`` need."""
    return json_text({"schema": SCHEMA_VERSION, "checks": checks, "lacking": lacking(checks, commands)})


def render_text(checks: Sequence[Check], commands: Sequence[str], columns: int = WIDTH, *, full: bool = False) -> str:
    """What is missing or limited by area, the names of what is ready, and last an answer for each of ``commands``.

    In ``full`` all parts are listed by area.
    """
    amiss = [one for one in checks if one.readiness is not Readiness.READY]
    ready = [one.name for one in checks if one.readiness is Readiness.READY]
    lines = _areas(checks if full else amiss, columns)
    if ready and not full:
        lines += [prose(f"ready: {'; '.join(ready)} (`linesmith doctor --all` tells of each)", "", "  ", columns), ""]
    answers = (line for command in dict.fromkeys(commands) for line in _answers(checks, command))
    return "\n".join((*lines, *answers)).rstrip("\n") + "\n"


def _areas(checks: Sequence[Check], columns: int) -> list[str]:
    """A block for each area: state, part, what was found and what it is for, and below it what would mend it."""
    width = max((len(one.name) for one in checks), default=0)
    lines = []
    for area, ones in groupby(checks, key=lambda one: one.area):
        lines += [f"{area}:", *(line for one in ones for line in _lines(one, width, columns)), ""]
    return lines


def _answers(checks: Sequence[Check], command: str) -> Iterator[str]:
    """Whether all is here that the command does not work without."""
    missing = lacking(checks, (command,))
    yield from (f"{command}: {name} is missing" for name in missing)
    if not missing:
        places = (one.name for one in checks if one.readiness is Readiness.MISSING and command in one.worked_on_by)
        absent = " and no ".join(places)
        of = f" of this machine is here; to work on, no {absent} was found" if absent else " is here"
        yield f"{command}: all it needs{of}"


def _lines(check: Check, width: int, columns: int) -> Iterator[str]:
    column = " " * (len("  missing    ") + width)
    yield prose(check.found, f"  {check.readiness.value:<8} {check.name:<{width}}  ", column, columns)
    yield prose(check.purpose, f"{column}for: ", f"{column}     ", columns)
    if check.remedy:
        yield f"{column}fix: {check.remedy}"
