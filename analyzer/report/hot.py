# SPDX-License-Identifier: GPL-2.0-or-later
"""What is hot in a profile, on one screen: a table of records, the next command, and a paragraph on its record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from linesmith.analyzer.base.text import listed, with_cxx_names
from linesmith.analyzer.model import ElfIdentity
from linesmith.analyzer.report.findings import ProfileSection
from linesmith.analyzer.report.prose import WIDTH, counted, cut, in_columns, prose, shell_rows, wrapped
from linesmith.analyzer.report.record_words import (
    MOST_FUNCTIONS,
    UNKNOWN,
    by_layout,
    in_doubt,
    is_inner,
    is_laid_out_otherwise,
    members_that_meet,
    met_sentences,
    what_to_do,
)
from linesmith.analyzer.sharing.findings import recorded_from
from linesmith.analyzer.sharing.records import RecordContention, quiet

# Records that have a row at most, and the least share of one; the others are counted in one row.
MOST_ROWS, LEAST_ROW = 12, 0.01
# What shares lack that a text leaves out.
LEAST_LEFT_OUT = 0.005
UNATTRIBUTED = "not attributed"
_SUGGEST = (
    "suggest tries moves and says what they save, how surely, and what they cost in size and memory. Here no layout was"
    " tried and no source read: nothing is ready to be sent"
)
_ASKED = "what to do, and what it saves, is what suggest found for this profile"
# Lines of a row, of one among many, of all records together and of the paragraph; characters of a remark and of a
# command; remarks; kinds of memory that holds no known record.
MOST_CELL, LEAST_CELL, MOST_TABLE, MOST_PARAGRAPH = 6, 4, 36, 8
MOST_REMARK, MOST_COMMAND, MOST_REMARKS, MOST_PLACES = 180, 60, 2, 4
# What a narrow cell leaves out: functions, then remedies that no layout is.
_LEFT_OUT = re.compile(r", in [^;]+"), re.compile(r"(?<=true sharing|k contention): [^;]+(?=; )")
# Columns of the figures, and of the width that they leave the parts of the other columns.
_FIGURES, _PARTS = 16, (0.25, 0.36, 0.39)
_HEAD_FIGURES = (" share     false", "of all   sharing")
_HEAD_SUGGESTED = (" share   suggest", "of all     saves")
_HEAD = ("record, and where it lives", "members that meet, writers", "kind: what to do")
_PLACES = {
    "pages free page": "free pages",
    "pages anonymous memory": "anonymous memory",
    "pages": "other pages",
    "struct page": "struct page array",
}


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A row of the table; what is no record has neither ``members`` nor ``advice``."""

    share: str
    removable: str
    record: str
    members: str = ""
    advice: str = ""


def render_table(
    records: Sequence[RecordContention],
    elf: ElfIdentity,
    shown: ProfileSection,
    suggest: Sequence[str] = (),
    columns: int = WIDTH,
    *,
    full: bool = False,
) -> str:
    """The records by their share, ``full`` for all of them; ``suggest`` is the next command but for ``--type``.

    That is named where the answer is known not to be that there is nothing to do, or where there is no other record.
    """
    columns = min(columns, WIDTH)
    if sentence := quiet(records, shown.profile):
        return f"{prose(sentence, columns=columns)}\n"
    blocks = ["\n".join(_head(records, elf, shown, columns)), "\n".join(_table(records, shown, columns, full))]
    asked, helped = _asked(records), _helped(records)
    named = [one for one in records if one.name and not one.apart]
    if suggest:
        only = sum(one.share >= LEAST_ROW for one in named) <= 1
        narrowed = ("--type", helped.name) if helped and (asked or only) else ()
        command = shell_rows("next:", (*suggest, *narrowed), columns) if helped or not asked else ()
        blocks.append("\n".join([prose(_summary(helped, shown, asked=asked), then="  ", columns=columns), *command]))
    if first := helped or next((one for one in named if one.kinds), None):
        most = f"with the {'largest saving' if asked else 'most false sharing'}"
        most = "whose change suggest explains" if asked and _column(first, asked=asked) == UNKNOWN else most
        which = most if helped else "the first that is explained"
        why = f", {which} (--type {named[0].name} shows row 1)" if first is not named[0] else ""
        blocks.append(_paragraph(first, f"{first.name}{why}", unit(shown), columns))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _asked(records: Sequence[RecordContention]) -> bool:
    return any(one.suggested for one in records)


def _summary(helped: RecordContention | None, shown: ProfileSection, *, asked: bool) -> str:
    """The largest saving that `suggest` found; before it was asked, the record with the most misses for nothing."""
    if helped is None:
        return f"{_ASKED}: no change" if asked else f"no gain by moving members is sure; {_SUGGEST}"
    most = _column(helped, asked=asked).replace("≤", "at most")
    if asked and most == UNKNOWN:
        return f"{_ASKED}: a change of {helped.name}, its saving is not known"
    unknown = f"between nothing and all of its {helped.share:.1%}"
    first = f"{helped.name}, {unknown if most == UNKNOWN else f'{most} of all {unit(shown)}'}"
    return f"{_ASKED}; the largest saving: {first}" if asked else f"most false sharing: {first}; {_SUGGEST}"


def _column(one: RecordContention, *, asked: bool) -> str:
    """What `suggest` says that its change of the record saves, ``-`` without one; else the misses for nothing."""
    if not asked:
        return by_layout(one)
    found = one.suggested
    return "" if found is None else "-" if found.saves is None else found.saves or UNKNOWN


def _head(records: Sequence[RecordContention], elf: ElfIdentity, shown: ProfileSection, columns: int) -> Iterator[str]:
    profile = shown.profile
    known = sum(one.share for one in records if one.name and not one.apart)
    # A text may leave lines out: its shares are of all that was counted.
    whole = sum(one.contended for one in records) / (sum(one.share for one in records) or 1)
    contended = f"{whole:,.0f} {unit(shown)}"
    title = f" ({'; '.join(filter(None, (profile.title, shown.which)))})" if profile.title or shown.which else ""
    build = f", build-id {elf.build_id[:12]}" if elf.build_id else ""
    of = f"{Path(profile.source).name}{title} on {Path(elf.path).name}{build}"
    yield prose(f"{of}: {known:.1%} of {contended} attributed to records", then="  ", columns=columns)
    if recording := profile.recording:
        nodes = counted(len(set(recording.nodes)) or 1, "node")
        command = cut(recorded_from(profile)[1], MOST_COMMAND)
        machine = f"{counted(len(recording.nodes), 'CPU')} on {nodes}{f', running {command}' if command else ''}"
        counting = "accesses counted in simulated caches, not sampled on hardware"
        yield prose(f"recorded on {recording.on}, {machine}: {counting}", then="  ", columns=columns)
    yield from (prose(cut(one.text, MOST_REMARK), "remark: ", "  ", columns) for one in profile.remarks[:MOST_REMARKS])
    if (more := len(profile.remarks) - MOST_REMARKS) > 0:
        yield f"and {counted(more, 'more remark')}: --full"


def _helped(records: Sequence[RecordContention]) -> RecordContention | None:
    """The record of the change that `suggest` explains, where it was asked; else of the most false sharing.

    A record whose members may be others has neither.
    """
    if _asked(records):
        return next((one for one in records if one.suggested and one.suggested.first), None)
    sure = (one for one in records if one.movable and not in_doubt(one))
    return max(sure, key=lambda one: one.removable.most, default=None)


def unit(shown: ProfileSection) -> str:
    """What the profile counts, as a noun."""
    return "misses after stores by other CPUs" if shown.profile.recording else "contended loads"


def _table(records: Sequence[RecordContention], shown: ProfileSection, columns: int, full: bool) -> Iterator[str]:
    """A row for each record, of as many lines as all of them have room for; then the others, each in a sentence.

    The records with the least shares have no rows of their own where the rows would be too short to say what to do.
    """
    widths = [int((columns - _FIGURES - 6) * part) for part in _PARTS]
    count, most = MOST_ROWS, MOST_CELL
    while True:
        rows = tuple(record_rows(records, shown, count, full=full))
        named = [one for one in rows if one.members or one.advice]
        cells = ((one.record, one.members, one.advice) for one in named)
        held = sum(max(len(_cell(*pair, most)) for pair in zip(row, widths, strict=True)) for row in cells)
        if full or held <= MOST_TABLE or not count:
            break
        count, most = (len(named) - 1, most) if most <= LEAST_CELL else (count, most - 1)
    if named:
        yield from _lines(_HEAD_SUGGESTED if _asked(records) else _HEAD_FIGURES, _HEAD, widths, 2)
    for one in rows:
        figures = f"{one.share:>6} {one.removable:>9}"
        if one in named:
            yield from _lines((figures,), (one.record, one.members, one.advice), widths, most)
        else:
            yield prose(one.record, f"{figures}  ", " " * (_FIGURES + 2), columns)


def _lines(figures: Sequence[str], cells: Sequence[str], widths: Sequence[int], most: int) -> Iterator[str]:
    wrapped = [figures, *(_cell(cell, width, most) for cell, width in zip(cells, widths, strict=True))]
    return (in_columns(parts, [_FIGURES, *widths]).rstrip() for parts in zip_longest(*wrapped, fillvalue=""))


def _cell(text: str, width: int, most: int) -> list[str]:
    """The text in at most so many lines: without what can be left out, then the first parts, each whole."""
    text, end = with_cxx_names(text), ""
    for left_out in _LEFT_OUT:
        text = left_out.sub("", text) if len(wrapped(text, width)) > most else text
    while len(wrapped(f"{text}{end}", width)) > most and "; " in text:
        text, end = text.rpartition("; ")[0], "; …"
    return wrapped(f"{text}{end}", width, most)


def record_rows(
    records: Sequence[RecordContention], shown: ProfileSection, count: int = MOST_ROWS, *, full: bool = False
) -> Iterator[RecordRow]:
    """A row for ``count`` records that are worth one, or for ``full`` for each, and the others in a row each.

    The record that a layout helps most has a row. Others are further records, what is not known, and what emulation
    makes hot.
    """
    named, recording = [one for one in records if one.name and not one.apart], shown.profile.recording
    asked = _asked(records)
    most = len(named) if full else min(count, max(1, sum(one.share >= LEAST_ROW for one in named)))
    if (helped := _helped(records)) and helped not in named[:most]:
        named.remove(helped)
        named.insert(most - 1, helped)
    for one in named[:most]:
        place = one.places[0] if one.places else "heap" if recording and recording.ring == "user" else ""
        kind, _, name = place.partition(" ")
        where = _PLACES.get(place, kind if name == one.name else place)
        whose = " in an unknown struct" * is_inner(one) or " in another layout" * is_laid_out_otherwise(one)
        record = ": ".join((f"{one.name}{whose}", ", ".join(filter(None, (where, counted(one.lines, "line"))))))
        saves = _column(one, asked=asked)
        yield RecordRow(f"{one.share:.1%}", saves, record, members_that_meet(one), what_to_do(one))
    unknown, apart = [one for one in records if not one.name and not one.apart], [one for one in records if one.apart]
    owners = ", ".join(f"{one.apart} {one.share:.1%}" for one in apart)
    lines, memory = memory_of(unknown)
    for group, what in (
        (named[most:], f"and {counted(len(named) - most, 'more record')}"),
        (unknown, f"{UNATTRIBUTED} to a record ({lines}){': ' * bool(memory)}{memory}"),
        (apart, f"excluded, hotter under emulation: {owners}"),
    ):
        if group:
            yield RecordRow(f"{sum(one.share for one in group):.1%}", "", what)
    left_out = 1 - sum(one.share for one in records)
    if left_out >= LEAST_LEFT_OUT:
        yield RecordRow(f"{left_out:.1%}", "", "on lines that the profile leaves out")


def memory_of(unknown: Sequence[RecordContention]) -> tuple[str, str]:
    """How many lines hold no object that is known, and what memory that is: ``9 lines``, ``stack 1.2%``."""
    known = [f"{_PLACES.get(one.places[0], one.places[0])} {one.share:.1%}" for one in unknown if one.places]
    count = sum(one.lines for one in unknown)
    reasons = (one.objects[0].reason for record in unknown for one in record.findings if one.objects)
    reason = next(filter(None, reasons), "")
    if reason and count > 1:
        reason = f"the hottest, because {reason}"
    words = [listed(known, MOST_PLACES), reason]
    return counted(count, "line"), "; ".join(filter(None, words))


def _paragraph(one: RecordContention, title: str, unit: str, columns: int) -> str:
    """Who misses on the record, who writes, and from where, in whole sentences; ``unit`` is what the profile counts."""
    sentences = list(met_sentences(one, unit))
    lock = next((finding.lock for finding in one.findings if finding.lock), None)
    if lock and lock.holders:
        sentences.append(f"The lock {lock.name} is held in {listed(lock.holders, MOST_FUNCTIONS)}.")
    texts = (f"{title}: {' '.join(sentences[:count])}" for count in range(len(sentences), 0, -1))
    shown = [prose(text, columns=columns) for text in texts]
    return next((text for text in shown if len(text.splitlines()) <= MOST_PARAGRAPH), "".join(shown[-1:]))
