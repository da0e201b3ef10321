# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a profile, or from a run of ``tune``, to the intent of a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from linesmith.analyzer.cli.analysis import analyse, with_offsets
from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.cli.proposing import offered
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.intent.entry import Grounds, entry
from linesmith.analyzer.intent.parting import parted_between, parted_by
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    Candidate,
    Finding,
    Layout,
    MemberGroup,
    MoveKind,
    TriageKind,
    TypeIntent,
)
from linesmith.analyzer.report.figures import interval, scale, signed
from linesmith.analyzer.selection import select
from linesmith.patches.message import said
from linesmith.tuner.tuning.winner import Winner, winner

if TYPE_CHECKING:
    from linesmith.analyzer.cli.analysis import Analysis
    from linesmith.analyzer.cli.premises import Given

_MOST_FIGURES = 3


@dataclass(frozen=True, slots=True)
class Origin:
    """What ``--from`` names, and how it is read: with the options that ``hot`` and ``suggest`` have, too."""

    path: Path
    section: int = 1
    snapshot: Path | None = None
    trust: str | None = None


def intended(elf: Path, type_: str, origin: Origin, given: Given) -> TypeIntent:
    """The intent of the record called ``type_`` as ``elf`` has it.

    Raises ``NothingToSuggest`` where the profile does not show it or the run confirmed nothing, and what reading these
    raises.
    """
    if origin.path.is_dir():
        return _from_run(elf, type_, winner(origin.path), given)
    found = with_offsets(analyse(elf, origin.path, origin.section, type_, None, origin.snapshot, origin.trust))
    return _from_profile(found, given)


def _from_profile(found: Analysis, given: Given) -> TypeIntent:
    """The recommended candidates say what to part."""
    premises = given.premises(Path(found.reading.identity.path), found.reading)
    layout, lines = _held(found)
    answers = offered(found, premises, None).answers
    taken = [one for answer in answers for one in answer.candidates[:1] if one.recommended]
    grounds = replace(
        _grounds(found, lines, layout),
        parted=tuple(one for line in lines for each in taken for one in parted_by(each, line.triage.pairs, _of(line))),
        groups=tuple(_groups(taken)),
        change=_change([said(move) for one in taken for move in one.moves]),
        kernel=premises.kernel,
    )
    return entry(grounds, largest=max((one.after.size for one in taken if one.before.id == layout.id), default=0))


def _from_run(elf: Path, type_: str, best: Winner, given: Given) -> TypeIntent:
    """The best variant says what to part; the profile is of the baseline's build."""
    found = with_offsets(analyse(best.before, best.profile, best.section, type_))
    before, lines = _held(found)
    changed, reading = load(best.after), load(elf)
    after, here = select(changed.layouts, (before.title,))[0], select(reading.layouts, (before.title,))[0]
    sides = (before, found.reading.layouts), (after, changed.layouts)
    grounds = Grounds(
        here,
        reading.layouts,
        lines,
        f"{best.profile.name} of the run on {best.title.partition(':')[0]}",
        tuple(one for line in lines for one in parted_between(*sides, line.triage.pairs, _of(line))),
        change=_change(best.moves, _measured(best)),
        kernel=given.premises(elf, reading).kernel,
        nominal=_nominal(found),
    )
    return entry(grounds, largest=after.size)


def _held(found: Analysis) -> tuple[Layout, tuple[Finding, ...]]:
    """The layout of the record on the hottest line, and all lines that hold it; raises ``NothingToSuggest``."""
    layouts = [one.objects[0].layout for one in found.findings if one.objects and one.objects[0].layout is not None]
    if not layouts:
        raise NothingToSuggest(f"{found.profile.source} names no layout of that type; see `linesmith hot`")
    lines = tuple(one for one in found.findings if one.objects and one.objects[0].layout == layouts[0])
    return found.reading.layouts.by_id(layouts[0]), lines


def _grounds(found: Analysis, lines: Sequence[Finding], layout: Layout) -> Grounds:
    return Grounds(layout, found.reading.layouts, lines, Path(found.profile.source).name, nominal=_nominal(found))


def _nominal(found: Analysis) -> bool:
    return any(line.nominal for line in found.profile.lines)


def _of(line: Finding) -> int:
    """The bytes of the lines on which members of the finding meet: pairs of lines where only these meet."""
    return ADJACENT_LINE_BYTES if line.triage.kinds[0] is TriageKind.ADJACENT_LINE else CACHE_LINE_BYTES


def _groups(candidates: Iterable[Candidate]) -> Iterable[MemberGroup]:
    """The groups that candidates mark."""
    moves = (move for one in candidates for move in one.moves if move.kind is MoveKind.GROUP and move.members)
    return (MemberGroup(move.member, move.members) for move in moves)


def _change(moves: Sequence[str], measured: str = "") -> str:
    return f"kept apart by: {', '.join(moves)}{measured}" if moves else ""


def _measured(best: Winner) -> str:
    """What the run confirmed: ``; measured: exec-storm execs/s, 8 threads: +5.00% (+4.02% to +6.10%)``."""
    told = [
        f"{one.benchmark} {one.metric.name}, {scale(one)}: {signed(one.ratio - 1)} ({interval(one)})"
        for one in best.confirmed[:_MOST_FIGURES]
    ]
    more = len(best.confirmed) - len(told)
    return f"; measured: {', '.join(told)}{f' and {more} more' if more else ''}" if told else ""
