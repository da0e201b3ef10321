# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile shows of records, said to the lint as an intent would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.cli.linting import Wanted
from linesmith.analyzer.cli.remarks import remark
from linesmith.analyzer.model import Finding, TypeIntent


def profiled(wanted: Wanted, elf: Path, profile: Path | None) -> Wanted:
    """The same with the members that ``profile``, of the build ``elf``, shows hot, read or written.

    A record that ``linesmith.toml`` says such things of is left as it is there. Raises what reading the profile does.
    """
    if profile is None:
        return wanted
    said = {one.record for one in wanted.intent.types if one.hot or one.read_mostly or one.write_hot}
    shown = tuple(_shown(elf, profile))
    if not shown:
        remark(
            f"{profile.name} shows no member of a record in {elf.name} and so guards nothing; is it of another program?"
        )
    added = tuple(one for one in shown if one.record not in said)
    return replace(wanted, intent=replace(wanted.intent, types=(*wanted.intent.types, *added)))


def _shown(elf: Path, profile: Path) -> Iterator[TypeIntent]:
    from linesmith.analyzer.cli.analysis import analyse, with_offsets  # imports numpy, which builds do without
    from linesmith.analyzer.intent.usage import usage

    found = with_offsets(analyse(elf, profile, 1))
    layouts = found.reading.layouts
    for number, lines in _lines(found.findings).items():
        layout = layouts.by_id(number)
        seen = usage(lines, layout, layouts)
        if layout.name and seen.hot:
            yield TypeIntent(
                layout.name,
                f"{profile.name} shows {seen.samples:,} accesses",
                hot=seen.hot,
                read_mostly=seen.read_mostly,
                write_hot=seen.write_hot,
                place=profile.name,
            )


def _lines(findings: tuple[Finding, ...]) -> dict[int, list[Finding]]:
    """The lines of each record, by the id of its layout."""
    lines: dict[int, list[Finding]] = {}
    for one in findings:
        layout = one.objects[0].layout if one.objects else None
        if layout is not None:
            lines.setdefault(layout, []).append(one)
    return lines
