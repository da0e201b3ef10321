# SPDX-License-Identifier: GPL-2.0-or-later
"""A change in words: the first of an answer in at most thirty lines, and what a candidate gains and costs in rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from linesmith.analyzer.base.text import listed, with_span
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import containment_of
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Bounds,
    Candidate,
    Finding,
    Judgement,
    Sharded,
    StructuralAdvice,
    StructureKind,
)
from linesmith.analyzer.report.candidate import Numbered, Proposed, Saving, Suggested, change, saved, short_change
from linesmith.analyzer.report.findings import line_facts
from linesmith.analyzer.report.hot import is_inner, met_sentences, shown_name, users_in, what_to_do
from linesmith.analyzer.report.prose import WIDTH, counted, label_rows, labelled, prose, shell_rows
from linesmith.analyzer.report.record_changes import (
    RecordAnswer,
    RecordChange,
    holder_rows,
    memory_rows,
    reason_of,
    unchanged,
)
from linesmith.analyzer.report.structure import copies_words, tables
from linesmith.analyzer.sharing.changed_lines import KEY, MOST_LINES, RecordSide, changed_lines, worse
from linesmith.analyzer.sharing.parts import INDEX, own_members
from linesmith.analyzer.sharing.records import WORTH_CHANGING, RecordContention, RecordPair

LABEL = 10
# A change with so many lines of text has room for all of its cache lines.
ROOMY = 36
MOST_WHY, MOST_FUNCTIONS = 2, 2
MOST_NEIGHBOURS = 4
MOST_ROWS, MOST_REASONS, MOST_ACCESSORS = 2, 3, 4
# Files that a reader has to give, or gave none of.
PLAN = "PLAN.toml: see docs/tuning.md"
_NOT_YET = "not yet: only when `then`, on hardware, has shown the gain"
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
    rows += label_rows(_not_changed(suggested, first, line, unit), LABEL, columns)
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
    first, *others = answer.changes
    shown = MOST_LINES if most >= ROOMY else MOST_LINES // 2
    layout = layout_rows(first.numbered, suggested, columns, shown) if first.numbered else None
    rows = [*(layout or _structure_rows(first, answer, suggested))]
    refused = next((one for one in answer.lines if one.declined or one.refusal), None)
    rows += [("moves", f"none: {reason_of(refused)}")] if refused and not layout else []
    saves = (f", which saves {one.saves}" if one.saves else "" for one in others)
    also = (
        one.advice.sentence if one.advice and one.advice.kind is StructureKind.SHARD else one.what for one in others
    )
    rows += [("also", f"{what}{gain}") for what, gain in zip(also, saves, strict=True)][:MOST_ROWS]
    name = f", candidate {first.numbered.name}" if first.numbered else ""
    title = prose(f"{answer.rank}  {answer.title}: {first.what}{name}", then="   ", columns=columns)
    block, commands = title.splitlines(), [*_commands(first, answer, suggested, columns)] if suggested.given else []
    for row in rows:
        lines = label_rows([row], LABEL, columns)[0].splitlines()
        if len(block) + len(lines) + len(commands) > most:
            break
        block += lines
    return [*block, *commands]


# A change of the layout.


def layout_rows(
    one: Numbered, suggested: Suggested, columns: int = WIDTH, most: int = MOST_LINES
) -> Iterator[Labelled]:
    """What a reviewer asks of a candidate, with at most so many cache lines; a row without a label continues another.

    Where there is no room for all, the last ones can be left out.
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
    yield from labelled("worse", worse(found, lambda one, other: _code(one, other, known, loads=False)))
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
    churn = candidate.churn
    moved = f"{counted(churn.members, 'member')} {'moves' if churn.members == 1 else 'move'}"
    yield "size", f"{_size(candidate)}; {moved}, a diff of {counted(churn.lines, 'line')}"
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
    yield from labelled("why", _why(candidate, record, known))


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


def saved_words(saving: Saving | None, counted_as: str, whole: str) -> str:
    """``0.65% of the misses of the profile (80% interval 0.61% to 0.68%): 1,553 of 240,711``, net of what is added."""
    if saving is None:
        return "nothing is known"
    share, interval = with_span(saving.share, saving.interval.low, saving.interval.high)
    record = f"the record's {saving.before:,.0f} and of " * (round(saving.before) != round(saving.whole))
    counts = f"{saving.before - saving.after:,.0f} of {record}{'all ' * bool(record)}{saving.whole:,.0f}"
    if saving.limit:
        return f"at most {share} of the {counted_as} of the {whole}: {counts}"
    return f"{share} of the {counted_as} of the {whole} (80% interval {interval}): {counts}"


def _size(candidate: Candidate) -> str:
    """``192 -> 256 bytes, 3 -> 4 lines``."""
    before, after = candidate.before, candidate.after
    if before.size == after.size:
        return f"{after.size:,} bytes, {counted(candidate.lines, 'line')} (unchanged)"
    return f"{before.size:,} -> {after.size:,} bytes, {lines(before)} -> {counted(candidate.lines, 'line')}"


def _why(candidate: Candidate, findings: Sequence[Finding], known: RecordContention) -> Iterator[str]:
    """The pairs of members that wait less for each other, with who stores and who loads, and the others as one."""
    counts = candidate.judgement.by_pair
    better = [pair for pair, (before, after) in counts.items() if before > after]
    for victim, writer in (shown := better[:MOST_WHY]):
        before, after = counts[victim, writer]
        yield _pair(victim, writer, f"{before:,.0f} -> {after:,.0f} misses", known)
    met = [one for finding in findings for one in finding.triage.pairs]
    rest = [sum(counts[pair][when] for pair in shown) for when in (0, 1)]
    judged = candidate.judgement
    if better and abs(judged.saved - rest[0] + rest[1]) >= 1:
        yield f"all other misses on the record, net: {judged.before - rest[0]:,.0f} -> {judged.after - rest[1]:,.0f}"
    for pair in met[: 0 if better else MOST_WHY]:
        yield _pair(pair.reader, pair.writer, f"{pair.weight:,.0f} {findings[0].unit}", known)


def _pair(victim: str, writer: str, counts: str, known: RecordContention) -> str:
    """Who waits for whom, and where in the code."""
    stored = "itself" if victim == writer else writer
    return f"{victim} misses after stores to {stored}{_code(victim, writer, known)}: {counts}"


def _code(victim: str, writer: str, known: RecordContention, *, loads: bool = True) -> str:
    """Who stores, who loads, and who called them, in parentheses."""
    met = [one for one in known.pairs if (one.victim, one.writer) == (victim, writer)]
    met = met or [RecordPair(victim, writer, "", Bounds())]
    most, sides = 1 if known.callers else MOST_FUNCTIONS, (("stores", True), ("loads", False))[: 1 + loads]
    texts = [f"{verb} by {who}" for verb, writes in sides if (who := users_in(known, met, most, writes=writes))]
    return f" ({'; '.join(texts)})" if texts else ""


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
    for label, rows in tables(advice):
        yield from labelled(labels.get(label, label), rows[: most.get(label, 0)])
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


# All there is on a candidate.


def notes_of(one: Numbered) -> tuple[str, ...]:
    """What else to know of the candidate, without what has a row of its own: what it rests on, then what binds it."""
    candidate = one.candidate
    notes = (note for note in candidate.notes[:-1] if note != candidate.doubt)
    return (*notes, *(f"{constraint}." for constraint in candidate.constraints))


def of_contended(finding: Finding) -> str:
    """``of 1,036 contended loads``; a recording counts more accesses than those that found the line modified."""
    count = max(finding.contended, finding.cost.contended)
    return f"of {count:,} {finding.unit}"


def judged_rows(found: Judgement) -> Iterator[str]:
    """What the net consists of: lines, pairs, the whole profile; how much was replayed, then what to doubt."""
    if found.refusal:
        yield found.refusal
        return
    if found.runs:
        yield f"all lines of the record: {found.before:,.0f} -> {found.after:,.0f}"
    for line in found.lines:
        yield f"line of {listed(line.members, MOST_NEIGHBOURS)}: {line.before:,.0f} -> {line.after:,.0f}"
    for pair in found.pairs:
        sharing = "true" if pair.true_sharing else "false"
        yield f"{pair.victim} by stores to {pair.writer} ({sharing} sharing): {pair.before:,.0f} -> {pair.after:,.0f}"
    phases = [f"mean of {found.phases} phases"] * (found.phases > 1)
    phases += [f"lines of {found.line_bytes} bytes"] * (found.line_bytes != CACHE_LINE_BYTES)
    yield from ([", ".join(phases)] if found.runs and phases else [])
    yield from (f"but {remark}" for remark in found.remarks)


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
