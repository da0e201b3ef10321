# SPDX-License-Identifier: GPL-2.0-or-later
"""Suggestions as text: an overview, then each line with its answer, then the lines about which nothing can be done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from linesmith.analyzer.report.overview import overview_rows
from linesmith.analyzer.report.prose import WIDTH, prose
from linesmith.analyzer.report.simulation import sharded_rows
from linesmith.analyzer.report.suggested import Numbered, Proposed, Suggested
from linesmith.analyzer.report.suggested_line import told_as_advice, told_in_a_table, told_in_full

MOST_REFUSALS = 8
# Lines refused for one reason that are named.
MOST_LINES = 4


def render_text(suggested: Suggested, columns: int = WIDTH) -> str:
    """Every line's answer; numbers and names of candidates are those of ``linesmith patch --candidate``.

    A line's candidates come in the order in which the simulations have them.
    """
    blocks = [_head(suggested), *_block(overview_rows(suggested, columns))]
    candidates = _by_line(suggested)
    for line in suggested.lines:
        blocks += _told(line, candidates.get(line.finding.rank, []), suggested, columns)
    refused = _refusals([one for one in suggested.lines if not one.candidates and not one.advice])
    blocks += _block([prose(one, then="  ", columns=columns) for one in refused])
    split = sharded_rows(suggested.sharded) if suggested.sharded else ()
    blocks += _block([prose(one, then="    ", columns=columns) for one in split])
    return "\n\n".join(blocks) + "\n"


def render_candidate(suggested: Suggested, number: int, columns: int = WIDTH) -> str:
    """The candidate with this number, which there is, in full, whether it is recommended or not."""
    lines = _by_line(suggested).values()
    ones, shown = next((ones, one) for ones in lines for one in ones if one.number == number)
    return "\n\n".join([_head(suggested), *told_in_full(ones, shown, suggested, columns)]) + "\n"


def _block(rows: Sequence[str]) -> list[str]:
    return ["\n".join(rows)] if rows else []


def _by_line(suggested: Suggested) -> dict[int, list[Numbered]]:
    """The candidates of each line by its rank, in the order in which to show them."""
    places = {number: place for place, number in enumerate(suggested.simulations)}
    return {
        rank: sorted(group, key=lambda one: places.get(one.number, one.number))
        for rank, group in groupby(suggested.numbered(), lambda one: one.line.finding.rank)
    }


def _told(line: Proposed, ones: Sequence[Numbered], suggested: Suggested, columns: int) -> Iterator[str]:
    """The recommended candidate in full, or the first where nobody says which is; else what there is to say."""
    recommended = [one for one in ones if one.candidate.recommended]
    if recommended or (ones and not line.declined):
        yield from told_in_full(ones, (recommended or ones)[0], suggested, columns)
    elif ones:
        yield from told_in_a_table(ones, suggested, columns)
    elif line.advice:
        yield from told_as_advice(line, suggested, columns)


def _head(suggested: Suggested) -> str:
    """The files, and the machine whose slabs hold the objects."""
    elf, machine = suggested.elf, suggested.machine
    rows = [suggested.source, f"{elf.path}{f' build-id {elf.build_id}' if elf.build_id else ''}"]
    if machine:
        release = ".".join(map(str, machine.release))
        rows.append(f"slabs of Linux {release}, {machine.cpus} CPUs, pages of {machine.page_bytes} bytes")
    return "\n".join(rows)


def _refusals(lines: Sequence[Proposed]) -> list[str]:
    """Why nothing can be done about the lines, those with one reason together; a recording has many of them."""
    grouped: dict[str, list[int]] = {}
    for line in lines:
        grouped.setdefault(line.refusal.removeprefix(f"Line {line.finding.rank}: "), []).append(line.finding.rank)
    rows = [_refusal(reason, ranks) for reason, ranks in grouped.items()]
    more = len(rows) - MOST_REFUSALS
    if more > 1:
        rows[MOST_REFUSALS:] = [f"{more} more reasons are in --format json."]
    return rows


def _refusal(reason: str, ranks: Sequence[int]) -> str:
    """The reason with the lines it is of."""
    if len(ranks) == 1:
        return f"Line {ranks[0]}: {reason}"
    more = f" and {len(ranks) - MOST_LINES} more" if len(ranks) > MOST_LINES else ""
    return f"Lines {', '.join(map(str, ranks[:MOST_LINES]))}{more}: {reason}"
