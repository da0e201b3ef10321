# SPDX-License-Identifier: GPL-2.0-or-later
"""What is hot in a profile, on one screen: a table of records, the next command, and a paragraph on its record.

With them the same as JSON. The words of a record are in ``hot_words``, the lines themselves in ``hot_lines``.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from linesmith.analyzer.attribution.variables import lines_apart
from linesmith.analyzer.base.cxx_names import with_cxx_names
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import ElfIdentity, Finding, LineMember, LineObject
from linesmith.analyzer.report.findings import ProfileSection
from linesmith.analyzer.report.hot_words import members_that_meet, paragraph, what_to_do
from linesmith.analyzer.report.json_text import Json, fields_of, hexadecimal, json_text
from linesmith.analyzer.report.prose import WIDTH, counted, cut, prose
from linesmith.analyzer.sharing.accounts import accounts
from linesmith.analyzer.sharing.records import RecordContention, quiet

# Records with a smaller share are counted in one row.
MOST_ROWS, LEAST_ROW = 12, 0.01
# Shares that do not add up to all by so much are of lines that a text leaves out.
LEAST_LEFT_OUT = 0.005
# In JSON, of a record.
MOST_PAIRS = 12
MOST_REMARKS = 2
# Lines of a row and of all rows together; characters of a remark, rows of the paragraph.
MOST_CELL, MOST_TABLE, MOST_REMARK, MOST_PARAGRAPH = 6, 44, 180, 8
# Memory that holds no known record.
MOST_PLACES = 4
# Of the width that the figures leave, the parts of the other columns.
_PARTS = (0.25, 0.36, 0.39)
_HEAD = ("record: its memory", "members that meet, writers", "kind: what to do")
_FIGURES = "{:>6} {:>9}  "
_PLACES = {
    "pages free page": "free pages",
    "pages anonymous memory": "anonymous memory",
    "pages": "other pages",
    "struct page": "struct page array",
}


def render_table(
    records: Sequence[RecordContention],
    elf: ElfIdentity,
    shown: ProfileSection,
    suggest: Sequence[str] = (),
    columns: int = WIDTH,
    most: int = MOST_ROWS,
) -> str:
    """The records by their share; ``suggest`` are the words of the next command, to which ``--type`` is added."""
    columns = min(columns, WIDTH)
    blocks = ["\n".join(_head(records, elf, shown, columns))]
    if sentence := quiet(records, shown.profile):
        return f"{prose(sentence, columns=columns)}\n"
    blocks.append("\n".join(_table(records, shown, columns, most)))
    helped = max((one for one in records if one.movable), key=lambda one: one.removable.most, default=None)
    if helped and suggest:
        gained = by_layout(helped).replace("≤", "at most")
        gain = f"largest gain by layout: {helped.name}, {gained} of all {unit(shown)}"
        words = [shlex.quote(word) for word in (*suggest, "--type", helped.type)]
        one_line = f"next: {' '.join(words)}"
        broken = " \\\n        ".join((" ".join(words[:3]), words[3], " ".join(words[4:])))
        command = one_line if len(one_line) <= columns else f"next: {broken}"
        blocks.append(f"{prose(gain, then='  ', columns=columns)}\n{command}")
    if first := helped or next((one for one in records if one.name and one.kinds and not one.apart), None):
        blocks.append(paragraph(first, unit(shown), columns, MOST_PARAGRAPH))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _head(records: Sequence[RecordContention], elf: ElfIdentity, shown: ProfileSection, columns: int) -> Iterator[str]:
    profile = shown.profile
    known = sum(one.share for one in records if one.name or one.apart)
    contended = f"{sum(one.contended for one in records):,.0f} {unit(shown)}"
    which = f", report {shown.section} of {shown.sections} (--section takes another)" if shown.sections > 1 else ""
    title = f" ({profile.title})" if profile.title else ""
    build = f", build-id {elf.build_id[:12]}" if elf.build_id else ""
    of = f"{Path(profile.source).name}{which}{title} on {Path(elf.path).name}{build}"
    yield prose(f"{of}: {known:.1%} of {contended} attributed to records", then="  ", columns=columns)
    if recording := profile.recording:
        nodes = counted(len(set(recording.nodes)) or 1, "node")
        machine = f"{counted(len(recording.nodes), 'CPU')} on {nodes}"
        counting = "accesses counted in simulated caches, not sampled on hardware"
        yield prose(f"recorded on {recording.on}, {machine}: {counting}", then="  ", columns=columns)
    for one in profile.remarks[:MOST_REMARKS]:
        yield prose(cut(one.text, MOST_REMARK), "remark: ", "  ", columns)
    more = len(profile.remarks) - MOST_REMARKS
    yield from [f"and {counted(more, 'more remark')}: --full"] if more > 0 else []


def unit(shown: ProfileSection) -> str:
    """What is counted as contention."""
    return "misses after stores by other CPUs" if shown.profile.recording else "contended loads"


def _table(records: Sequence[RecordContention], shown: ProfileSection, columns: int, most: int) -> Iterator[str]:
    """The table: as many records as there is room for with the advice and the first writer whole, then the others."""
    widths = [int((columns - len(_FIGURES.format("", "")) - 4) * part) for part in _PARTS]
    if any(one.name and not one.apart for one in records):
        first, *more = _row("share", "removable", _HEAD, widths, 2)
        below = _FIGURES.format("", "by layout")
        yield from (first, f"{below}{''.join(more)[len(below) :]}".rstrip())
    room = MOST_TABLE - 2 if most <= MOST_ROWS else MOST_CELL * len(records) * 2
    for count in range(most, 0, -1):
        rows = tuple(record_rows(records, shown, count))
        of_records = [row for row in rows if any(row[3:])]
        others = [_other(*row[:3], columns) for row in rows[len(of_records) :]]
        left = room - sum(len(one.splitlines()) for one in others)
        least = [_height((record, _first(members), advice), widths) for _, _, record, members, advice in of_records]
        if sum(least) <= left:
            break
    for at, (share, removable, *cells) in enumerate(of_records):
        whole = _height(cells, widths)
        if sum(least) - least[at] + whole <= left:
            least[at] = whole
        yield from _row(share, removable, cells, widths, least[at])
    yield from others


def _other(share: str, removable: str, what: str, columns: int) -> str:
    figures = _FIGURES.format(share, removable)
    return prose(what, figures, " " * len(figures), columns)


def _height(cells: Sequence[str], widths: Sequence[int]) -> int:
    """The lines that a row needs, as far as it may have them."""
    columns = (
        textwrap.wrap(with_cxx_names(cell), width, break_on_hyphens=False)
        for cell, width in zip(cells, widths, strict=True)
    )
    return min(MOST_CELL, max(map(len, columns)))


def _first(text: str) -> str:
    first, more, _ = text.partition("; ")
    return f"{first}; …" if more else first


def record_rows(
    records: Sequence[RecordContention], shown: ProfileSection, most: int = MOST_ROWS
) -> Iterator[tuple[str, str, str, str, str]]:
    """Share, what a layout can remove, record, members and advice: ``most`` records, and the others in a row each.

    Others are further records, what is not known, and what emulation makes hot; they have no members. Up to
    ``MOST_ROWS`` records have a row if their share is worth one.
    """
    named = [one for one in records if one.name and not one.apart]
    if most <= MOST_ROWS:
        most = min(most, max(1, sum(one.share >= LEAST_ROW for one in named)))
    for one in named[:most]:
        yield f"{one.share:.1%}", by_layout(one), _record(one, shown), members_that_meet(one), what_to_do(one)
    unknown, apart = [one for one in records if not one.name and not one.apart], [one for one in records if one.apart]
    owners = ", ".join(f"{one.apart} {one.share:.1%}" for one in apart)
    for group, what in (
        (named[most:], f"and {counted(len(named) - most, 'more record')}"),
        (unknown, f"not attributed to a record{_memory(unknown)}"),
        (apart, f"excluded, hotter under emulation: {owners}"),
    ):
        if group:
            yield f"{sum(one.share for one in group):.1%}", "", what, "", ""
    left_out = 1 - sum(one.share for one in records)
    if left_out >= LEAST_LEFT_OUT:
        yield f"{left_out:.1%}", "", "on lines that the profile leaves out", "", ""


def _row(share: str, removable: str, cells: Sequence[str], widths: Sequence[int], most: int) -> Iterator[str]:
    columns = [_cell(cell, width, most) for cell, width in zip(cells, widths, strict=True)]
    for at in range(max(map(len, columns))):
        parts = (column[at] if at < len(column) else "" for column in columns)
        figures = _FIGURES.format(share, removable) if not at else _FIGURES.format("", "")
        yield (figures + "  ".join(f"{part:<{width}}" for part, width in zip(parts, widths, strict=True))).rstrip()


def _cell(text: str, width: int, most: int) -> list[str]:
    """The text in at most so many lines: of one that is longer the first parts, each whole."""
    text, end = with_cxx_names(text), ""
    while len(textwrap.wrap(f"{text}{end}", width, break_on_hyphens=False)) > most and "; " in text:
        text, end = text.rpartition("; ")[0], "; …"
    wrapped = textwrap.wrap(f"{text}{end}", width, max_lines=most, placeholder=" …", break_on_hyphens=False)
    return wrapped or [""]


def _memory(unknown: Sequence[RecordContention]) -> str:
    """What memory is known of that which holds no known object."""
    known = [f"{_PLACES.get(one.places[0], one.places[0])} {one.share:.1%}" for one in unknown if one.places]
    count = sum(one.lines for one in unknown)
    reasons = (one.objects[0].reason for record in unknown for one in record.findings if one.objects)
    reason = next(filter(None, reasons), "")
    lines = counted(count, "line")
    words = [listed(known, MOST_PLACES), f"one of them: {reason}" if reason and count > 1 else reason]
    return f" ({lines}): {'; '.join(filter(None, words))}" if any(words) else f" ({lines})"


def _record(one: RecordContention, shown: ProfileSection) -> str:
    """What it is called, where it lies, and on how many lines."""
    recording = shown.profile.recording
    place = one.places[0] if one.places else "heap" if recording and recording.ring == "user" else ""
    kind, _, name = place.partition(" ")
    where = _PLACES.get(place, kind if name == one.name else place)
    lines = counted(one.lines, "line")
    return f"{one.name}: {where}, {lines}" if where else f"{one.name}: {lines}"


def by_layout(one: RecordContention) -> str:
    """What another order or alignment of the members can remove, of the profile; ``-`` for nothing."""
    least, most = f"{one.removable.least:.1%}", f"{one.removable.most:.1%}"
    if most == "0.0%":
        return "-"
    return most if least == most else f"≤ {most}"


# The same as JSON (docs/json.md): offsets, sizes, starts and phases in bytes; shares and confidences run from 0
# to 1; counts are samples.

SCHEMA_VERSION = 3


def render_json(
    records: Sequence[RecordContention], found: Sequence[Finding], elf: ElfIdentity, shown: ProfileSection
) -> str:
    """The findings as one JSON document, indented, with a newline at the end.

    ``left_out`` are lines that were not looked at: below the hottest, or set ``apart`` with the owner. The outcomes of
    the ``accounts`` add up to all samples (accesses of a recording).
    """
    profile = shown.profile
    ended, apart = accounts(profile, found, shown.left_out), lines_apart(profile)
    left_out = [
        {
            **fields_of(one, "rank", "contended"),
            "address": hexadecimal(one.address),
            "apart": "" if one.address is None else apart.get(one.address, ""),
        }
        for one in shown.left_out
    ]
    return json_text(
        {
            "schema": SCHEMA_VERSION,
            "elf": elf,
            **fields_of(profile, "source", "title"),
            **fields_of(shown, "section", "sections"),
            "lines": [_line_json(finding) for finding in found],
            **fields_of(profile, "remarks", "recording"),
            "left_out": left_out,
            "accounts": {"samples": ended.samples, "outcomes": dict(ended.outcomes)},
            "records": [_record_json(one) for one in records],
        }
    )


def _record_json(one: RecordContention) -> Json:
    """A row of the table; ``explained`` are the ranks of its lines that are in ``lines``."""
    return {
        **fields_of(one, "name", "apart", "places", "lines", "contended", "share", "removable", "kinds"),
        "pairs": one.pairs[:MOST_PAIRS],
        "advice": what_to_do(one),
        **fields_of(one, "movable"),
        "explained": [finding.rank for finding in one.findings],
    }


def _line_json(finding: Finding) -> Json:
    """One cache line; ``outcomes`` counts its accesses and adds up to all of them, and so does ``agreements``.

    These tell whether address and instruction name the same; they are empty for a profile of another build.
    """
    triage = finding.triage
    return {
        "rank": finding.rank,
        "address": hexadecimal(finding.address),
        **fields_of(finding, "bytes", "share", "contended", "stores"),
        "objects": [_object_json(one, finding) for one in finding.objects],
        "members": [_member_json(one) for one in finding.members],
        "triage": {"kind": triage.kinds[0], **fields_of(triage, "kinds", "pairs", "sentence", "reasons")},
        "outcomes": dict(finding.outcomes),
        "agreements": dict(finding.agreements),
        "cost": finding.cost,
        "samples": dict(finding.samples),
        "lock": finding.lock,
    }


def _object_json(one: LineObject, finding: Finding) -> Json:
    """An object; ``start`` counts from the line's first byte, ``confidence`` is against the runner-up.

    ``layout`` is ``other`` where the report is of a build that lays the type out otherwise, or may do so; then
    ``places`` has, by the offset in the line, that in the type as the ELF file lays it out, as far as it is sure.
    """
    rival = one.runner_up
    own = (member for member in finding.members if member.begin == one.start and not member.doubted)
    places = {hex(member.offset): member.object_offset for member in own}
    return {
        **fields_of(one, "type", "phase", "start", "outcome"),
        "confidence": one.margin,
        "score": one.score,
        "runner_up": fields_of(rival, "type", "phase", "start", "score") if rival else None,
        **fields_of(one, "containers", "reason", "origin", "variable"),
        "layout": "other" if one.ways else "this",
        "places": places if one.ways else {},
    }


def _member_json(member: LineMember) -> Json:
    """A member; ``offset`` is the line's, ``object_offset`` the object's; counts that no column has are ``None``."""
    samples = [fields_of(one, "name", "contended", "stores", "records", "cpus", "source") for one in member.functions]
    return {
        **fields_of(member, "path", "offset", "object_offset", "size", "reads", "writes", "write_inferred", "lock"),
        "doubted": member.doubted,
        "functions": [one.name for one in member.functions],
        "samples": samples,
        "instructions": member.instructions,
        "callers": [fields_of(one, "functions", "count") for one in member.callers],
    }
