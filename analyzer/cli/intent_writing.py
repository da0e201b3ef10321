# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a profile, or from a run of ``tune``, to the intent of a record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.cli.analysis import Running, analyse, load, with_offsets
from linesmith.analyzer.cli.linting import root_of, side
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    Candidate,
    Finding,
    Intent,
    Layout,
    MemberGroup,
    MoveKind,
    TriageKind,
    TypeIntent,
)

if TYPE_CHECKING:
    from linesmith.analyzer.cli.analysis import Analysis
    from linesmith.analyzer.cli.premises import Given
    from linesmith.analyzer.intent.entry import Grounds
    from linesmith.analyzer.intent.file import Rewrite
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.tuner.run.result import Winner


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
    from linesmith.tuner.run.result import winner

    if origin.path.is_dir():
        return _from_run(elf, type_, winner(origin.path), given)
    found = with_offsets(analyse(elf, origin.path, origin.section, type_, None, origin.snapshot, origin.trust))
    return _from_profile(found, given)


def _from_profile(found: Analysis, given: Given) -> TypeIntent:
    """The recommended candidates say what to part."""
    from linesmith.analyzer.cli.suggest import offered
    from linesmith.analyzer.intent.entry import entry, separated_by
    from linesmith.patches.message.message import said

    premises = given.premises(Path(found.reading.identity.path), found.reading)
    layout, lines = _held(found)
    answers = offered(found, premises, None).answers
    taken = [one for answer in answers for one in answer.candidates[:1] if one.recommended]
    grounds = replace(
        _grounds(found, lines, layout),
        separated=tuple(
            one for line in lines for each in taken for one in separated_by(each, line.triage.pairs, _of(line))
        ),
        groups=tuple(_groups(taken)),
        change=_change([said(move) for one in taken for move in one.moves]),
        kernel=premises.kernel,
    )
    return entry(grounds, largest=max((one.after.size for one in taken if one.before.id == layout.id), default=0))


def _from_run(elf: Path, type_: str, best: Winner, given: Given) -> TypeIntent:
    """The best variant says what to part; the profile is of the baseline's build."""
    from linesmith.analyzer.intent.entry import Grounds, entry, separated_between
    from linesmith.analyzer.layouts.collection import select

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
        tuple(one for line in lines for one in separated_between(*sides, line.triage.pairs, _of(line))),
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
    from linesmith.analyzer.intent.entry import Grounds

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
    from linesmith.analyzer.report.figures import interval, scale, signed

    told = [
        f"{one.benchmark} {one.metric.name}, {scale(one)}: {signed(one.ratio - 1)} ({interval(one)})"
        for one in best.confirmed[:_MOST_FIGURES]
    ]
    more = len(best.confirmed) - len(told)
    return f"; measured: {', '.join(told)}{f' and {more} more' if more else ''}" if told else ""


# The way from an intent file and a build to the file as it would have to be.


@dataclass(frozen=True, slots=True)
class Wish:
    """Where the intents and the configuration are, the build before the change if any, and whether limits go down."""

    tree: Path | None = None
    file: Path | None = None
    kconfig: Path | None = None
    base: Path | None = None
    tighten: bool = False


@dataclass(frozen=True, slots=True)
class Updated:
    """The whole text as it would be, the ``diff`` that leads there, and ``remarks`` on names and on what is left."""

    text: str
    diff: str
    remarks: tuple[str, ...]


def updated(elf: Path, wish: Wish, running: Running) -> Updated:
    """The intents in the file that is named, else in the tree, else in the tree around us, as ``elf`` would have them.

    Raises ``IntentError`` where there are none, and what reading the files raises.
    """
    from linesmith.analyzer.cli.intent import build_configuration, file_of
    from linesmith.analyzer.intent.file import rewritten
    from linesmith.analyzer.intent.reading import read_intent
    from linesmith.analyzer.lint.intents import FollowedIntent, followed, stale
    from linesmith.patches.edit.unified import unified_diff

    path = file_of(wish.tree or root_of(Path.cwd()), wish.file)
    intent = read_intent(path)
    reading = load(elf)
    names = followed(intent, load(wish.base).layouts, reading.layouts) if wish.base else FollowedIntent(intent)
    symbols = build_configuration(intent, elf, wish.kconfig)
    limits = stale(names.intent, side(running, reading), symbols, tightened=wish.tighten)
    # What markers say now comes after what was only renamed.
    wanted = {one.path: one for one in (*names.rewrites, *limits)}
    before = path.read_bytes().decode()
    found = rewritten(before, wanted.values(), str(path))
    diff = unified_diff(before.encode(), found.text.encode(), path.name).decode()
    left = {one.path for one in found.left}
    by_hand = (_by_hand(names.intent if _name_of(one) not in left else intent, one) for one in found.left)
    return Updated(found.text, diff, (*names.remarks, *_gone(names.intent, reading, symbols), *by_hand))


def _gone(intent: Intent, reading: Reading, symbols: frozenset[str] | None) -> Iterator[str]:
    """Entries of records, and members in them, that the build does not have."""
    from linesmith.analyzer.intent.check import applies, unknown_members

    for one in filter(applies(symbols), intent.types):
        if not reading.layouts.variants(one.record):
            yield f"{one.place}: {one.record} is gone, and its entry stays as it is"
        for member in unknown_members(one, reading.layouts):
            yield f"{one.place}: {member.member} of {one.record} is not there, and its name stays as it is"


def _name_of(one: Rewrite) -> tuple[str | int, ...]:
    """Where the file names the record that is meant."""
    table, *rest = one.path
    return table, *rest[:1], "name" if table == "type" else "type"


def _by_hand(intent: Intent, one: Rewrite) -> str:
    """What a user has to write, and where; ``intent`` calls the record as the file will."""
    place, about = _entry(intent, one)
    value = ", ".join(one.value) if isinstance(one.value, tuple) else one.value
    keys = ".".join(part for part in one.path[1:] if isinstance(part, str))
    return f"{place}: {keys} of {about} stays as it is, for more than it would change; make it {value}"


def _entry(intent: Intent, one: Rewrite) -> tuple[str, str]:
    """Where what it changes stands, and what that is about."""
    table, *rest = one.path
    number = next((part for part in rest if isinstance(part, int)), 0)
    if table == "suppress":
        accepted = intent.suppressions[number]
        return accepted.place, f"what is accepted of {accepted.record}"
    if table == "type":
        return intent.types[number].place, intent.types[number].record
    return intent.path, f"[{table}]"
