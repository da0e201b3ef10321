# SPDX-License-Identifier: GPL-2.0-or-later
"""What is hot in a profile, on one screen: a table of records, the next command, and a paragraph on the first of them.

With them the same as JSON. The lines themselves are in ``hot_lines``.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from linesmith.analyzer.attribution.by_object import lines_apart, object_totals
from linesmith.analyzer.base.cxx_names import with_cxx_names
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import ElfIdentity, Finding, LineMember, LineObject, TriageKind
from linesmith.analyzer.report.findings import ProfileSection, count_range
from linesmith.analyzer.report.json_text import Json, fields_of, hexadecimal, json_text
from linesmith.analyzer.report.prose import WIDTH, counted, cut, prose
from linesmith.analyzer.sharing.accounts import accounts
from linesmith.analyzer.sharing.records import RecordContention, RecordPair, functions_of

MOST_ROWS = 12
# Shares that do not add up to all by so much are of lines that a text leaves out.
LEAST_LEFT_OUT = 0.005
# In JSON, of a record.
MOST_PAIRS = 12
MOST_REMARKS = 2
# Lines of a cell, characters of a remark, rows of the paragraph.
MOST_CELL, MOST_REMARK, MOST_PARAGRAPH = 3, 180, 8
# Members that wait for one, groups of such in a row, functions, memory that nobody could name.
MOST_VICTIMS, MOST_GROUPS, MOST_FUNCTIONS, MOST_PLACES, MOST_OTHERS = 3, 2, 3, 4, 2
# A recording with fewer misses in all, or with fewer for each access, has no contention.
QUIET_MISSES, QUIET_RATE = 100, 1e-4
# Of the width that share and removable leave, the parts of the other columns.
_PARTS = (0.26, 0.36, 0.38)
_HEAD = ("record: its memory", "members that meet, writers", "kind: what to do")
_FIGURES = "{:>6} {:>9}  "
_INDEX = re.compile(r"\[\d+\]")
_COUNTER = re.compile(r"count|refs?\b|usage|users|nr_|num|total|bytes|stat|cum_|hits|packets|_cnt")
_OF_OTHER = " of "
_REMEDIES = {
    TriageKind.LOCK_CONTENTION: "shard {}",
    TriageKind.TRUE_SHARING: "nothing in the layout",
    TriageKind.SEVERAL_OBJECTS: "align each to a line of its own",
    TriageKind.ADJACENT_LINE: "align to 128 bytes",
    TriageKind.STRADDLE: "move it off the boundary of two lines",
    TriageKind.NO_WRITER: "sample stores, too",
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
    if sentence := quiet(records, shown):
        return f"{prose(sentence, columns=columns)}\n"
    blocks.append("\n".join(_table(records, shown, columns, most)))
    helped = next((one for one in records if one.movable), None)
    if helped and suggest:
        words = [shlex.quote(word) for word in (*suggest, "--type", helped.type)]
        one_line = f"next: {' '.join(words)}"
        broken = " \\\n        ".join((" ".join(words[:3]), words[3], " ".join(words[4:])))
        blocks.append(one_line if len(one_line) <= columns else f"next: {broken}")
    if first := helped or next((one for one in records if one.name and one.kinds and not one.apart), None):
        rows = prose(_paragraph(first, shown), columns=columns).splitlines()
        blocks.append("\n".join(rows[:MOST_PARAGRAPH]))
    return "\n\n".join(blocks) + "\n"


def quiet(records: Sequence[RecordContention], shown: ProfileSection) -> str:
    """One sentence where nobody waits; ``""`` for a profile with contention, and for a text that people paste."""
    contended = sum(one.contended for one in records)
    if (recording := shown.profile.recording) is not None:
        accesses = dict(recording.counts).get("accesses", 0)
        if (contended >= QUIET_MISSES and contended >= QUIET_RATE * accesses) or contended >= 0.01 * accesses:
            return ""
        of = f"of {accesses:,} accesses " if accesses else ""
        return f"quiet: {contended:,.0f} {of}were misses after stores by other CPUs; nothing to do"
    sampling = shown.profile.sampling
    if sampling is None or contended >= QUIET_MISSES or contended >= 0.01 * sampling.samples:
        return ""
    return f"quiet: {contended:,.0f} of {sampling.samples:,} samples were contended loads; nothing to do"


def _head(records: Sequence[RecordContention], elf: ElfIdentity, shown: ProfileSection, columns: int) -> Iterator[str]:
    profile = shown.profile
    known = sum(one.share for one in records if one.name or one.apart)
    contended = f"{sum(one.contended for one in records):,.0f} {unit(shown)}"
    which = f", report {shown.section} of {shown.sections} (--section takes another)" if shown.sections > 1 else ""
    title = f" ({profile.title})" if profile.title else ""
    build = f", build-id {elf.build_id[:12]}" if elf.build_id else ""
    of = f"{Path(profile.source).name}{which}{title} on {Path(elf.path).name}{build}"
    yield prose(f"{of}: {known:.1%} of {contended} explained", then="  ", columns=columns)
    if recording := profile.recording:
        nodes = counted(len(set(recording.nodes)) or 1, "node")
        machine = f"{counted(len(recording.nodes), 'CPU')} on {nodes}"
        yield prose(f"recorded on {recording.on}, {machine}: counts are exact, not sampled", columns=columns)
    for one in profile.remarks[:MOST_REMARKS]:
        yield prose(cut(one.text, MOST_REMARK), "remark: ", "  ", columns)
    more = len(profile.remarks) - MOST_REMARKS
    yield from [f"and {counted(more, 'more remark')}: --full"] if more > 0 else []


def unit(shown: ProfileSection) -> str:
    """What is counted as contention."""
    return "misses after stores by other CPUs" if shown.profile.recording else "contended loads"


def _table(records: Sequence[RecordContention], shown: ProfileSection, columns: int, most: int) -> Iterator[str]:
    """The table; rows without members go on below their last cell."""
    widths = [int((columns - len(_FIGURES.format("", "")) - 4) * part) for part in _PARTS]
    if any(one.name and not one.apart for one in records):
        yield from _row("share", "removable", _HEAD, widths)
    lines = MOST_CELL if len(records) >= MOST_ROWS // 2 else 2 * MOST_CELL
    for share, removable, record, members, advice in record_rows(records, shown, most):
        if members or advice:
            yield from _row(share, removable, (record, members, advice), widths, lines)
        else:
            figures = _FIGURES.format(share, removable)
            yield prose(record, figures, " " * len(figures), columns)


def record_rows(
    records: Sequence[RecordContention], shown: ProfileSection, most: int = MOST_ROWS
) -> Iterator[tuple[str, str, str, str, str]]:
    """Share, what a layout can remove, record, members and advice: ``most`` records, and the others in a row each.

    Others are further records, what is not known, and what emulation makes hot; they have no members.
    """
    named = [one for one in records if one.name and not one.apart]
    for one in named[:most]:
        members = members_that_meet(one)
        yield f"{one.share:.1%}", _removable(one), _record(one, shown), members, what_to_do(one)
    unknown, apart = [one for one in records if not one.name and not one.apart], [one for one in records if one.apart]
    owners = ", ".join(f"{one.apart} {one.share:.1%}" for one in apart)
    for group, what in (
        (named[most:], f"and {counted(len(named) - most, 'more record')}"),
        (unknown, f"not known{_memory(unknown)}"),
        (apart, f"set apart, hotter under emulation than on hardware: {owners}"),
    ):
        if group:
            yield f"{sum(one.share for one in group):.1%}", "", what, "", ""
    left_out = 1 - sum(one.share for one in records)
    if left_out >= LEAST_LEFT_OUT:
        yield f"{left_out:.1%}", "", "on lines that the profile leaves out", "", ""


def _row(
    share: str, removable: str, cells: Sequence[str], widths: Sequence[int], most: int = MOST_CELL
) -> Iterator[str]:
    columns = [_cell(cell, width, most) for cell, width in zip(cells, widths, strict=True)]
    for at in range(max(map(len, columns))):
        parts = (column[at] if at < len(column) else "" for column in columns)
        figures = _FIGURES.format(share, removable) if not at else _FIGURES.format("", "")
        yield (figures + "  ".join(f"{part:<{width}}" for part, width in zip(parts, widths, strict=True))).rstrip()


def _cell(text: str, width: int, most: int) -> list[str]:
    return textwrap.wrap(with_cxx_names(text), width, max_lines=most, placeholder=" …", break_on_hyphens=False) or [""]


def _memory(unknown: Sequence[RecordContention]) -> str:
    """What memory is known of that which holds no known object."""
    known = [f"{one.places[0]} {one.share:.1%}" for one in unknown if one.places]
    lines = counted(sum(one.lines for one in unknown), "line")
    unseen = sum(one.lines - len(one.findings) for one in unknown)
    lines = f"{lines}, {unseen:,} of them not looked at" if unseen else lines
    reasons = (one.objects[0].reason for record in unknown for one in record.findings if one.objects)
    words = [listed(known, MOST_PLACES), next(filter(None, reasons), "")]
    return f" ({lines}): {'; '.join(filter(None, words))}" if any(words) else f" ({lines})"


def _record(one: RecordContention, shown: ProfileSection) -> str:
    """What it is called, where it lies, and on how many lines."""
    recording = shown.profile.recording
    heap = "heap" if recording and recording.ring == "user" else ""
    kind, _, name = one.places[0].partition(" ") if one.places else (heap, "", "")
    where = (
        "memory map" if (kind, name) == ("struct", "page") else kind if name == one.name else f"{kind} {name}".strip()
    )
    lines = counted(one.lines, "line")
    return f"{one.name}: {where}, {lines}" if where else f"{one.name}: {lines}"


def _removable(one: RecordContention) -> str:
    """What a layout can remove, of the profile."""
    if not one.findings and not one.removable.most:
        return "-"
    least, most = f"{one.removable.least:.1%}", f"{one.removable.most:.1%}"
    return most if least == most else f"≤ {most}"


def members_that_meet(one: RecordContention) -> str:
    """Who waits for stores to whom, and which function makes them: the heaviest groups."""
    groups: dict[tuple[str, bool], list[RecordPair]] = {}
    for pair in one.pairs:
        writer = _INDEX.sub("[]", pair.writer)
        groups.setdefault((writer, _INDEX.sub("[]", pair.victim) == writer), []).append(pair)
    ordered = sorted(groups.items(), key=lambda item: -sum(pair.contended.most for pair in item[1]))
    words = []
    named: set[str] = set()
    for (writer, itself), pairs in ordered[:MOST_GROUPS]:
        function = next((f", written in {pair.function}" for pair in pairs if pair.function), "")
        victims = dict.fromkeys(_INDEX.sub("[]", pair.victim) for pair in pairs)
        who = ", ".join(list(victims)[:MOST_VICTIMS])
        verb = "waits" if len(victims) == 1 else "wait"
        words.append(f"{who} {verb} for {'itself' if itself else writer}{'' if writer in named else function}")
        named.add(writer)
    return "; ".join(words) or (_touched(one) if one.findings else "not looked at")


def _touched(one: RecordContention) -> str:
    """The members that are accessed where no writer is known."""
    counts: Counter[str] = Counter()
    for member in (
        member for finding in one.findings for member in finding.members if member.object_offset is not None
    ):
        counts[member.top] += sum(function.contended for function in member.functions)
    return listed([name for name, count in counts.most_common() if count], MOST_VICTIMS) or "not known"


def what_to_do(one: RecordContention) -> str:
    """What is wrong, and what can help."""
    remedies = ((kind, _remedy(one, kind)) for kind in one.kinds)
    return "; ".join(f"{kind.value}: {remedy}" if remedy else kind.value for kind, remedy in remedies)


def _remedy(one: RecordContention, kind: TriageKind) -> str:
    own = next((pair.writer for pair in one.pairs if pair.victim == pair.writer), "")
    match kind:
        case TriageKind.FALSE_SHARING:
            return _separate(one)
        case TriageKind.TRUE_SHARING if own:
            return f"count {own} per CPU" if _COUNTER.search(own) else f"write {own} less often"
    return _REMEDIES.get(kind, "").format(own or "the lock")


def _separate(one: RecordContention) -> str:
    """Which member to move away from which: the one that most meet."""
    met: Counter[str] = Counter()
    pairs = [pair for pair in one.pairs if pair.victim != pair.writer and _OF_OTHER not in pair.victim + pair.writer]
    for pair in pairs:
        met.update({pair.writer: round(4 * pair.contended.most), pair.victim: round(3 * pair.contended.most)})
    if not met:
        return "no order of the members helps"
    hub = max(met, key=lambda name: met[name])
    others = [pair.victim if pair.writer == hub else pair.writer for pair in pairs if hub in (pair.victim, pair.writer)]
    if one.fixed:
        return f"no order helps, all of it is one line; write {hub} less often"
    array = _INDEX.sub("", hub)
    if all(_INDEX.sub("", other) == array for other in others):
        return f"align the elements of {array} to a line each"
    return f"move {hub} away from {listed(dict.fromkeys(others), MOST_OTHERS)}"


def _paragraph(one: RecordContention, shown: ProfileSection) -> str:
    """Who waits for whom on the record, who writes, and from where."""
    sentences = []
    for pair in one.pairs[:MOST_GROUPS]:
        whom = "itself" if pair.victim == pair.writer else f"stores to {pair.writer}"
        readers, writers = _functions(one, pair.victim, writes=False), _functions(one, pair.writer, writes=True)
        by = f", written in {writers}" if writers else ""
        used = f" (in {readers})" if readers and whom != "itself" else ""
        sentences.append(f"{pair.victim}{used} waits for {whom}{by}: {count_range(pair.contended)} {unit(shown)}.")
    came = _callers(one)
    sentences += [f"They are called from {came}."] if came else []
    lock = next((finding.lock for finding in one.findings if finding.lock), None)
    if lock and lock.holders:
        sentences.append(f"The lock {lock.name} is held in {listed(lock.holders, MOST_FUNCTIONS)}.")
    if one.removable.most:
        sentences.append(
            f"Another order of the members removes {_removable(one).replace('≤', 'at most')} of the contention."
        )
    return f"{one.name}: {' '.join(sentences)}"


def _functions(one: RecordContention, name: str, writes: bool) -> str:
    return listed(functions_of(one.findings, name, writes), MOST_FUNCTIONS)


def _callers(one: RecordContention) -> str:
    """Who calls the functions that meet on the heaviest pairs, where the profile has callers."""
    names = {_INDEX.sub("", name) for pair in one.pairs[:MOST_GROUPS] for name in (pair.victim, pair.writer)}
    counts: Counter[str] = Counter()
    for member in (member for finding in one.findings for member in finding.members if member.top in names):
        direct = {function.name for function in member.functions}
        counts.update({path.functions[0]: path.count for path in member.callers if path.functions[0] not in direct})
    return listed([name for name, _ in counts.most_common()], MOST_FUNCTIONS)


# The same as JSON (docs/json.md): offsets, sizes, starts and phases in bytes; shares and confidences run from 0
# to 1; counts are samples.

SCHEMA_VERSION = 2


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
            "totals": object_totals(profile) if profile.areas else (),
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
