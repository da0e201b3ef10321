# SPDX-License-Identifier: GPL-2.0-or-later
"""A change in words: the first of an answer in at most thirty lines, and what a candidate gains and costs in rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import containment_of
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.model import Bounds, Candidate, Finding, Sharded, StructuralAdvice, StructureKind
from linesmith.analyzer.report.candidate import (
    MOST_NEIGHBOURS,
    Numbered,
    Proposed,
    Suggested,
    change,
    judged_rows,
    saved,
    saved_words,
    short_change,
)
from linesmith.analyzer.report.findings import line_facts
from linesmith.analyzer.report.prose import WIDTH, counted, label_rows, labelled, prose, shell_rows
from linesmith.analyzer.report.record_changes import (
    RecordAnswer,
    RecordChange,
    holder_rows,
    memory_rows,
    reason_of,
    unchanged,
)
from linesmith.analyzer.report.record_words import is_inner, met_sentences, shown_name, users_in, what_to_do
from linesmith.analyzer.report.structure import copies_words, tables
from linesmith.analyzer.sharing.changed_lines import (
    KEY,
    MOST_LINES,
    MOST_WORSE,
    RecordSide,
    changed_lines,
    risen,
    worse,
)
from linesmith.analyzer.sharing.parts import INDEX, OF_OTHER, own_members
from linesmith.analyzer.sharing.records import WORTH_CHANGING, RecordContention, RecordPair

LABEL = 10
# A change with so many lines of text has room for all of its cache lines.
ROOMY = 38
MOST_WHY, MOST_FUNCTIONS = 2, 2
# Rows that are left out where there is no room for all, one after the other.
GOES_FIRST = ("lines", "also", "interval", "replayed", "remains")
MOST_ROWS, MOST_REASONS, MOST_ACCESSORS = 2, 3, 4
# Files that a reader has to give, or gave none of.
PLAN = "PLAN.toml: see docs/tuning.md"
_NOT_YET = "not yet: only when `linesmith bench`, on hardware, has shown the gain"
_OWN_FILE = (
    "give the ELF file of the build that was profiled; or a perf.data and a `linesmith snapshot` of the same boot,"
    " which names objects by address"
)
_UNREAD = "the source, which was not read; "
# Words of other chapters: of the note on what was checked, of a diagnosis.
_OF_LINE = re.compile(r" \((\d+(?:\.\d+)?%) of the line\)")
# How a note begins on what an alignment asks of the allocation of objects.
_ONLY_WHERE = "Holds only where "

Labelled = tuple[str, str]


def nothing_to_change(suggested: Suggested, answers: Sequence[RecordAnswer], columns: int) -> list[str]:
    """That nothing is to change, and why; what can be done instead, and the command that looks at the next record."""
    unit = next((one.unit for one in suggested.findings), "contended loads")
    if not answers or (answers[0].share < WORTH_CHANGING and len(answers) > 1):
        return [f"Nothing to change here: no record has {WORTH_CHANGING:.0%} of the {unit}."]
    first = next((one for one in answers if one.record and one.lines), answers[0])
    line = unchanged(first.lines)
    why, where = reason_of(line) if line else first.reason, f" in {first.record}" if first.record else ""
    share = f"{first.share:.1%} of the {unit}"
    rows = prose(f"Nothing to change{where}, with {share}: {why}.", columns=columns).splitlines()
    rows += label_rows(_told_once(_not_changed(suggested, first, line, unit)), LABEL, columns)
    spread = next((one.record for one in answers if one.record and not one.lines and one.share >= WORTH_CHANGING), "")
    if spread and suggested.given:
        words = ("linesmith", "suggest", *suggested.given, "--type", spread)
        rows += shell_rows(f"  {'next':<{LABEL - 1}}", words, columns)
    elif first.record and suggested.given and not suggested.narrowed_to:
        rows += _commands(RecordChange("", None), first, suggested, columns)
    return rows


def _not_changed(suggested: Suggested, answer: RecordAnswer, line: Proposed | None, unit: str) -> Iterator[Labelled]:
    """What there is to know of a record of which no change is recommended: who meets, what was tried, what is left."""
    record = next((one for one in suggested.records if one.name == answer.record), None)
    yield from labelled("who", list(met_sentences(record, unit))[:MOST_ROWS] if record else ())
    tried = sorted(line.candidates if line else (), key=lambda one: one.judgement.change)
    if tried and not suggested.narrowed_to and (gain := saved(tried[0].judgement)):
        of = f"{gain} of all {unit}, with {_size(tried[0])}"
        yield "tried", f"{counted(len(tried), 'candidate')}; the best, {change(tried[0])}, saves {of}"
    _, _, instead = line.refusal.partition("Instead: ") if line else ("", "", "")
    _, _, more = line.refusal.partition("To find out: ") if line else ("", "", "")
    advised = what_to_do(record).split("; ") if record and answer.record else ()
    layouts = (": try to separate ", ": align ", ": move ", ": little of it")
    instead = instead or "; ".join(one for one in advised if ": " in one and not any(word in one for word in layouts))
    yield from [("instead", instead)] if instead and not more else []
    sampled = line is None or not line.finding.simulated
    more = more or _OWN_FILE * (sampled and (not answer.record or (record is not None and is_inner(record))))
    yield from [("find out", more)] if more else []
    facts = line_facts(line.finding) if line else ()
    wanted = ("evidence",) if answer.record else ("object", "evidence")
    yield from labelled("object", (text for label, text in facts if label in wanted))
    yield "unchecked", f"{_UNREAD if '--tree' not in suggested.given else ''}other workloads and machines"
    yield "send", "nothing: there is no patch, and size and memory stay as they are"


def change_block(suggested: Suggested, answer: RecordAnswer, columns: int, most: int) -> list[str]:
    """The first change of the record in at most ``most`` lines; the others are named."""
    first = answer.changes[0]
    name = f", candidate {first.numbered.name}" if first.numbered else ""
    title = prose(f"{answer.rank}  {answer.title}: {first.what}{name}", then="   ", columns=columns)
    commands = "\n".join(_commands(first, answer, suggested, columns) if suggested.given else ()).splitlines()
    block = title.splitlines()
    room, lines_of = most - len(block) - len(commands), list[tuple[str, list[str]]]()
    # Pairs for which there is no room are in the sum of what is not listed; one says why before lines are drawn.
    drawn = MOST_LINES if most >= ROOMY else MOST_LINES // 2
    sizes = [*((drawn, pairs) for pairs in range(MOST_WHY, 0, -1)), (1, 1)] if first.numbered else [(drawn, 0)]
    for lines_drawn, pairs in sizes:
        rows = _block_rows(answer, suggested, columns, lines_drawn, pairs)
        lines_of = [(row[0], label_rows([row], LABEL, columns)[0].splitlines()) for row in rows]
        if sum(len(shown) for _, shown in lines_of) <= room:
            break
    for label in GOES_FIRST:
        if sum(len(shown) for _, shown in lines_of) > room:
            lines_of = [one for one, of in zip(lines_of, _labels(lines_of), strict=True) if of != label]
    for _, shown in lines_of:
        room -= len(shown)
        if room < 0:
            break
        block += shown
    return [*block, *commands]


def _labels(rows: Iterable[tuple[str, object]]) -> Iterator[str]:
    """The label of each row: one without continues the row before."""
    label = ""
    for own, _ in rows:
        label = own or label
        yield label


def _told_once(rows: Iterable[Labelled]) -> Iterator[Labelled]:
    """The rows, of which only the first that says so says that callers were not recorded."""
    met = count()
    for label, text in rows:
        yield label, re.sub("[,;] callers not recorded", lambda one: "" if next(met) else one[0], text)


def _block_rows(answer: RecordAnswer, suggested: Suggested, columns: int, most: int, pairs: int) -> Iterator[Labelled]:
    """The rows of the first change, with so many cache lines and ``pairs``; then what else there is."""
    first, *others = answer.changes
    layout = [*layout_rows(first.numbered, suggested, columns, most, pairs)] if first.numbered else []
    yield from layout or _structure_rows(first, answer, suggested)
    refused = next((one for one in answer.lines if one.declined or one.refusal), None)
    yield from [("moves", f"none: {reason_of(refused)}")] if refused and not layout else []
    for one in others[:MOST_ROWS]:
        shard = one.advice and one.advice.kind is StructureKind.SHARD
        what = one.advice.sentence if one.advice and shard else one.what
        yield "also", f"{what}{f', which saves {one.saves}' if one.saves else ''}"


# A change of the layout.


def layout_rows(
    one: Numbered, suggested: Suggested, columns: int = WIDTH, most: int = MOST_LINES, pairs: int = MOST_WHY
) -> Iterator[Labelled]:
    """What a reviewer asks of a candidate, with at most so many cache lines, and of the ``pairs`` that miss less.

    A row without a label continues another. Where there is no room for all, the last ones can be left out.
    """
    candidate, finding = one.candidate, one.line.finding
    record = [it for it in suggested.findings if it.objects and it.objects[0].layout == finding.objects[0].layout]
    if change(candidate) != short_change(candidate):
        yield "change", change(candidate)
    yield from _line_rows(candidate, finding, record, suggested.layouts, columns, most)
    # What a judgement counts: misses that were replayed, or what the profile has.
    counted_as = "misses" if candidate.judgement.runs == 1 else finding.unit
    saves = saved_words(saved(candidate.judgement), counted_as, finding.whole)
    yield "saves", candidate.judgement.refusal or saves
    if (found := candidate.judgement).runs:
        yield "interval", _covered(traced=found.runs == 1)
    alone = RecordContention("", (), 0, 0.0, 0.0, Bounds(), findings=tuple(record))
    known = next((one for one in suggested.records if finding.rank in {of.rank for of in one.findings}), alone)
    yield from _told_once(_gains_and_losses(candidate, record, known, pairs))
    if found.runs:
        of, whole = f"accesses to {counted(found.objects, 'object')}", f"{found.before:,.0f} {counted_as}"
        if found.runs == 1:
            # What `hot` counts are objects as they began in the recording, on lines that it names by them.
            differ = " (one pair may differ from `hot`)" * (found.objects > 1 or found.phases > 1)
            at = f" at {found.phases} offsets in a line" * (found.phases > 1)
            made = f"{found.accesses:,} recorded {of}{at}, scaled to the record's {whole}{differ}"
        else:
            made = f"{found.runs} runs reconstructed from the samples, {found.accesses:,} {of}. Misses are loads and"
            made += f" stores that fetch the line from another CPU, scaled to add up to the record's {whole}"
            made += "; `hot` counts loads alone" * (not finding.simulated)
        yield "replayed", f"{made}. No time is measured"
    # Clauses of a diagnosis that say what no layout removes.
    removes = "does not remove", "no layout removes"
    clauses = finding.triage.sentence.split("; ")
    stays = [part.rpartition(", which")[0] for part in clauses if part.endswith(removes)]
    if stays and found.runs:
        # The share of the line is a limit of the profile, and so of another whole than what the change saves.
        left = f"{found.after:,.0f} of the record's {found.before:,.0f} {counted_as}"
        part = "; ".join(stays)
        yield "remains", f"{left}; no order removes those of them that are {_OF_LINE.sub('', part)}"
    elif stays:
        yield "remains", f"{'; '.join(stays)}; no order helps"
    moving = candidate.churn.members
    moved = f"{counted(moving, 'member')} {'moves' if moving == 1 else 'move'}"
    yield "size", f"{_size(candidate)}; {moved}"
    notes = (note for note in candidate.notes if note.startswith(_ONLY_WHERE))
    yield from (("needs", note.removeprefix(_ONLY_WHERE)) for note in notes)
    yield from labelled("memory", memory_rows(*candidate.memory))
    yield from labelled("grows too", holder_rows(candidate.holders))
    if candidate.loose:
        aligned = max(candidate.after.natural_alignment, candidate.after.alignment or 1)
        caches = listed(candidate.loose, MOST_NEIGHBOURS)
        yield "but", f"{caches} do not align objects to {aligned} bytes; the saving is what is left with that"
    yield from (("doubt", one) for one in [candidate.doubt] if one)
    yield from (_checked(note, scanned="--tree" in suggested.given) for note in candidate.notes[-1:])


def _covered(*, traced: bool) -> str:
    """What the interval of a saving covers, and what it does not."""
    spread = "over the recorded time" if traced else "of the runs and their model's error"
    return f"covers the spread {spread}, not another workload or machine"


def _checked(note: str, *, scanned: bool) -> Labelled:
    """What is not known of the source, with what looks at it; else what was checked."""
    front, unchecked, rest = note.partition(" checked: ")
    if not (unchecked and front.startswith("Only ")):
        return "checked", f"{note} Not checked: other configurations (`patch --matrix` compiles them)"
    if scanned:
        searched = "only the text of the tree was searched for code that relies on the order"
        return "unchecked", f"{searched}; build the tree to have it parsed"
    unseen = rest.removesuffix(" are in the source.")
    return "unchecked", f"{unseen}: `patch --tree DIR` checks these (DIR is the source tree)"


def _size(candidate: Candidate) -> str:
    """``192 -> 256 bytes, 3 -> 4 lines``."""
    before, after = candidate.before, candidate.after
    if before.size == after.size:
        return f"{after.size:,} bytes, {counted(candidate.lines, 'line')} (unchanged)"
    return f"{before.size:,} -> {after.size:,} bytes, {lines(before)} -> {counted(candidate.lines, 'line')}"


def _gains_and_losses(
    candidate: Candidate, findings: Sequence[Finding], known: RecordContention, most: int
) -> Iterator[Labelled]:
    """The pairs that miss less, and those that miss more, each with who loads; the others as one net; who stores.

    The counts add up to what is saved. Who stores to a member is named with its first pair.
    """
    judged, told = candidate.judgement, set[str]()
    counts, better = judged.by_pair, [pair for pair, (before, after) in judged.by_pair.items() if before > after]

    def code(victim: str, writer: str, *, loads: bool = False) -> str:
        texts = [*_code(victim, writer, known, stores=writer not in told, loads=loads)]
        texts += ["callers not recorded"] if texts and not known.calls_known else []
        told.add(writer)
        return f" ({'; '.join(texts)})" if texts else ""

    shown = [(*pair, " -> ".join(f"{count:,.0f}" for count in counts[pair]) + " misses") for pair in better[:most]]
    if not better:
        met = [one for finding in findings for one in finding.triage.pairs][:most]
        shown = [(one.reader, one.writer, f"{one.weight:,.0f} {findings[0].unit}") for one in met]
    for at, (victim, writer, misses) in enumerate(shown):
        stored = f"{'itself' if victim == writer else writer}{code(victim, writer, loads=True)}"
        yield "" if at else "why", f"{victim} misses after stores to {stored}: {misses}"
    yield from labelled("worse", worse(judged, code))
    listed_ = (*better[:most], *risen(judged)[:MOST_WORSE])
    rest = [sum(counts[pair][when] for pair in listed_) for when in (0, 1)]
    gained = judged.saved - rest[0] + rest[1]
    if listed_ and abs(gained) >= 1:
        change = f"{abs(gained):,.0f} {'fewer' if gained > 0 else 'more'}"
        yield "others", f"all misses on the record that are not listed, net: {change}"


def _code(victim: str, writer: str, known: RecordContention, *, stores: bool, loads: bool) -> Iterator[str]:
    """Who stores to the one member, and who loads the other, with who called them."""
    there = [one for one in known.pairs if writer in (one.writer, one.writer.partition(OF_OTHER)[0])]
    met = [one for one in there if victim in (one.victim, one.victim.partition(OF_OTHER)[0])]
    most = 1 if known.callers else MOST_FUNCTIONS
    for wanted, verb, pairs in ((stores, "stores", there), (loads, "loads", met)):
        who = users_in(known, pairs or [RecordPair(victim, writer, "", Bounds())], most, writes=verb == "stores")
        yield from [f"{verb} by {who}"] if wanted and who else []


def _line_rows(
    candidate: Candidate, finding: Finding, record: Sequence[Finding], layouts: Layouts, columns: int, most: int
) -> Iterator[Labelled]:
    """The cache lines that the change touches, before and after."""
    held, outer = containment_of(layouts).places(candidate.before.id), finding.objects[0].layout
    inside = next((place.offset for place in held if place.container == outer), 0)
    before, after = (
        RecordSide(layout, inside, step)
        for layout, step in zip((candidate.before, candidate.after), candidate.steps, strict=True)
    )
    members = [member for one in record for member in own_members(one)]
    where, rows = changed_lines(candidate, (before, after), finding, members, min(columns, WIDTH) - LABEL - 2, most)
    if rows:
        yield "lines", KEY.format(finding.unit)
        width = max(len(when) for when, _ in rows)
        yield from (("", f"{when:>{width}}: {what}") for when, what in rows)
        yield from (("", f"(lines {one})") for one in [where] if one)


# A change of the structure.


def _structure_rows(one: RecordChange, answer: RecordAnswer, suggested: Suggested) -> Iterator[Labelled]:
    advice = one.advice
    if advice is None:
        return
    program = suggested.machine is None
    yield "change", _per_thread(advice.sentence) if program else advice.sentence
    most = {"because": MOST_REASONS, "reached by": MOST_ACCESSORS, "memory": MOST_ROWS * 2}
    labels = {"because": "why", "reached by": "who"}
    record = next((one for one in suggested.records if one.name == answer.record), None)
    for label, rows in tables(advice):
        unknown = label == "reached by" and record is not None and not record.calls_known
        yield from labelled(
            labels.get(label, label), [*rows[: most.get(label, 0)], *["callers not recorded"] * unknown]
        )
    yield "saves", _gained(one, advice, answer, suggested)
    yield from [("interval", _covered(traced=bool(suggested.trace)))] if one.saves and not one.saves.limit else []
    size = sum(one.size for layout in advice.before[:1] for one in layout.members if one.name in advice.members)
    cpus = suggested.machine.cpus if suggested.machine else 0
    each = f"CPU and {answer.record}, {counted(size * cpus, 'byte')} with {cpus} CPUs" if cpus else "thread"
    costs = [f"{counted(size, 'byte')} for each {each}"] if size and "per CPU" in advice.sentence else []
    notes = map(_per_thread, advice.notes) if program else advice.notes
    yield from labelled("costs", [*notes, *costs][:MOST_REASONS])
    yield "unchecked", f"{_UNREAD if '--tree' not in suggested.given else ''}what else relies on these members"
    yield "then", "change the source by hand (there is no patch for this) and save the diff as FILE.patch;"
    yield "", f"linesmith bench PLAN.toml FILE.patch  # {PLAN}"
    yield "send", _NOT_YET


def _per_thread(text: str) -> str:
    """Advice in the words of programs, which have no data per CPU."""
    return text.replace("per CPU", "per thread").replace("every CPU's", "every thread's").replace("the CPUs", "threads")


def _gained(one: RecordChange, advice: StructuralAdvice, answer: RecordAnswer, suggested: Suggested) -> str:
    """What replay says of the change with its most copies; else what the profile has after stores to the members."""
    if one.saves:
        gain = advice.gains[-1]
        copies = f"; with {copies_words(gain)}" if gain.ways > 1 else ""
        return f"{saved_words(one.saves, 'misses', 'profile')}{copies}, {gain.basis}"
    record = next((one for one in suggested.records if one.name == answer.record), None)
    parts, names = [0.0, 0.0], dict[str, None]()
    for pair in record.pairs if record else ():
        if INDEX.sub("", pair.writer) in advice.members:
            next_to = INDEX.sub("", pair.victim) not in advice.members
            parts[next_to] += pair.contended.most
            names |= {shown_name(record, pair.victim): None} if record and next_to else {}
    known = record if record and record.contended else None
    own, near = (min(part / known.contended, 1) * known.share if known else 0.0 for part in parts)
    said, said_near = (f"{part:.0%}" if part >= WORTH_CHANGING else f"{part:.2%}" for part in (own, near))
    limit = f"; at most the {said} that wait on {listed(advice.members, MOST_NEIGHBOURS)}" if own else ""
    shown = near >= WORTH_CHANGING or 0 < own < near
    around = f" and the {said_near} that wait on {listed(names, MOST_NEIGHBOURS)} next to it" * shown
    return f"not estimated: nothing was replayed{limit}{around}"


# What to run next.


def _commands(one: RecordChange, answer: RecordAnswer, suggested: Suggested, columns: int) -> Iterator[str]:
    given = (*suggested.given, "--type", one.candidate.type if one.candidate else answer.record)
    if one.numbered:
        tree = () if "--tree" in given else ("--tree", "DIR")
        name = one.numbered.name
        words = ("linesmith", "patch", *given, "--candidate", name, *tree, "-o", f"{name}.patch")
        yield from shell_rows(f"  {'patch':<{LABEL - 1}}", words, columns)
        measured = f"linesmith bench PLAN.toml {name}.patch  # {PLAN}"
        yield from label_rows([("then", measured), ("send", _NOT_YET)], LABEL, columns)
    shown = ("--candidate", one.numbered.name) if one.numbered else ("--full",)
    yield from shell_rows(f"  {'more':<{LABEL - 1}}", ("linesmith", "suggest", *given, *shown), columns)


# Several copies of members.


def sharded_rows(sharded: Sharded, columns: int) -> Iterator[str]:
    """What is split, what that saves at best, and what has to be true for it."""
    what = f"shard {', '.join(sharded.members)} of {sharded.type}: {sharded.ways} copies, chosen by {sharded.by}"
    yield prose(what, then="  ", columns=columns)
    found = sharded.judgement
    rows = [("saves", found.refusal or saved_words(saved(found), "misses", "profile"))]
    rows += labelled("replayed", judged_rows(found)) if not found.refusal else ()
    yield from label_rows(rows, LABEL, columns)
    best = "The best case: every access goes to one copy; what walks all of them, or finds another's, costs more."
    yield prose(best, "  - ", "    ", columns)
