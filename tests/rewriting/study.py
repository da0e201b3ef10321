# SPDX-License-Identifier: GPL-2.0-or-later
"""Random legal orders written into the files of a kernel tree, compiled, read back, and taken back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

from rewriting.expected import Expected, differences
from rewriting.legal_orders import Order, declared_rigid, random_orders, rigid
from rewriting.scratch_tree import ScratchTree, Uncompiled

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.layouts import Layouts, LayoutTable
from linesmith.analyzer.model import Layout, RecordKind
from linesmith.patches.declaration import recorded_file
from linesmith.patches.permutation import Undo, permuted
from linesmith.patches.pieces import Origin
from linesmith.patches.records import Record, records_named
from linesmith.patches.units import including_units

LEAST_MEMBERS = 4
HEADERS_PER_UNIT = 20


class Outcome(StrEnum):
    """What became of a struct that was drawn."""

    CONFIRMED = "written, confirmed by the compiler, and taken back"
    REFUSED = "refused"
    WRONG = "wrong"
    RIGID = "left out: no other order is legal"
    GENERATED = "left out: a macro generates the record, the source declares none"
    UNCOMPILED = "left out: not compiled as the tree is"


@dataclass(frozen=True)
class Result:
    """``reason`` is a code of refusal, what is wrong, or why a struct was left out; ``said`` is the whole sentence."""

    name: str
    place: str
    outcome: Outcome
    reason: str = ""
    said: str = ""


@dataclass(frozen=True)
class Drawn:
    """A struct of a file; ``layout`` is what a unit makes of it, or the ELF file."""

    file: str
    layout: Layout

    def result(self, outcome: Outcome, reason: str = "", said: str = "") -> Result:
        """What became of it."""
        return Result(self.layout.name, f"{self.file}:{self.layout.line}", outcome, reason, said)


@dataclass(frozen=True)
class Edited:
    """A struct with its new orders; it is the ``ordinal``-th record of its name in the file."""

    drawn: Drawn
    ordinal: int
    orders: tuple[Order, ...]


def structs(layouts: Layouts, tree: ScratchTree) -> list[Drawn]:
    """All structs with a name and enough members that files of the tree declare, each declaration once."""
    files: dict[str | None, str | None] = {}
    found: dict[tuple[str, str, int | None], Drawn] = {}
    for layout in layouts:
        if layout.kind is not RecordKind.STRUCT or not layout.name or len(layout.members) < LEAST_MEMBERS:
            continue
        if layout.file not in files:
            files[layout.file] = recorded_file(tree.root, layout.file)
        file = files[layout.file]
        if file is not None:
            found.setdefault((file, layout.name, layout.line), Drawn(file, layout))
    return [found[key] for key in sorted(found, key=str)]


def study(tree: ScratchTree, drawn: Sequence[Drawn], random: Random) -> Iterator[Result]:
    """What becomes of each of ``drawn``: headers are compiled several at once, then alone, then through a unit."""
    by_file: dict[str, list[Drawn]] = defaultdict(list)
    for one in drawn:
        source = (tree.root / one.file).read_bytes()
        found = [record for record in records_named(source, one.layout.name) if _is_at(source, record, one.layout)]
        reason = declared_rigid(one.file, source, found[-1]) if found else None
        if found and not reason:
            by_file[one.file].append(one)
        else:
            yield one.result(Outcome.RIGID if found else Outcome.GENERATED, reason or "")
    headers = [file for file in by_file if file.endswith(".h")]
    batches = [headers[at : at + HEADERS_PER_UNIT] for at in range(0, len(headers), HEADERS_PER_UNIT)]
    for batch in (*batches, *([file] for file in by_file if file not in headers)):
        left = yield from _tried(tree, batch, [one for file in batch for one in by_file[file]], random)
        for file in dict.fromkeys(one.file for one in left):
            yield from _alone(tree, file, [one for one in left if one.file == file], random)


def _alone(tree: ScratchTree, file: str, drawn: Sequence[Drawn], random: Random) -> Iterator[Result]:
    """A file of which a unit with others did not know all: through units that include it."""
    left = list(drawn)
    recorded = dict.fromkeys(one.layout.unit for one in drawn)
    units = dict.fromkeys(unit for one in recorded for unit in including_units(tree.root, file, one)[:1])
    for unit in units:
        if left:
            left = yield from _tried(tree, [unit], left, random)
    yield from (one.result(Outcome.UNCOMPILED) for one in left)


def _tried(
    tree: ScratchTree, included: Sequence[str], drawn: Sequence[Drawn], random: Random
) -> Generator[Result, None, list[Drawn]]:
    """Judges those that a unit of the files knows and returns the others; files with errors are left out of it."""
    included, sources = list(included), {one.file: (tree.root / one.file).read_bytes() for one in drawn}
    while included:
        try:
            before = tree.compiled(included, sources)
            break
        except Uncompiled as error:
            included = [file for file in included if not error.blames(file)] if error.blames(*included) else []
    else:
        return list(drawn)
    now = {one: known for one in drawn if (known := _same(one, before)) is not None}
    edits: list[Edited] = []
    for same in now.values():
        made = _edited(tree, same, before, random)
        if isinstance(made, Result):
            yield made
        else:
            edits.append(made)
    yield from _confirmed(tree, included, before, edits, sources)
    return [one for one in drawn if one not in now]


def _same(drawn: Drawn, compiled: LayoutTable) -> Drawn | None:
    """The record among those of a unit that is declared at the same place."""
    here = [one for one in compiled.variants(drawn.layout.name) if (one.file or "").endswith(f"/{drawn.file}")]
    found = next((one for one in here if (one.line, one.kind) == (drawn.layout.line, drawn.layout.kind)), None)
    return replace(drawn, layout=found) if found else None


def _is_at(source: bytes, record: Record, layout: Layout) -> bool:
    """Whether the line that the debug information says is in the record's head."""
    return record.line <= (layout.line or 0) <= record.line + source.count(b"\n", record.start, record.opening)


def _edited(tree: ScratchTree, drawn: Drawn, layouts: LayoutTable, random: Random) -> Edited | Result:
    layout, origin = drawn.layout, Origin((tree.root / drawn.file).read_bytes(), drawn.file)
    found = records_named(origin.source, layout.name)
    ordinal = next(at for at, record in enumerate(found) if _is_at(origin.source, record, layout))
    reason = rigid(layout, layouts)
    if reason:
        return drawn.result(Outcome.RIGID, reason)
    orders = random_orders(layout, layouts, origin.source, found[ordinal], random)
    if not orders:
        return drawn.result(Outcome.RIGID, "every member stays")
    edited = Edited(drawn, ordinal, tuple(orders))
    try:
        source, undo = _written(origin, edited)
    except EditRefused as error:
        return drawn.result(Outcome.REFUSED, error.refusal.code.value, str(error))
    wrong = _damage(origin, edited, source, undo)
    return drawn.result(Outcome.WRONG, wrong) if wrong else edited


def _written(origin: Origin, edited: Edited) -> tuple[bytes, list[Undo]]:
    """The file after the orders, made one after the other; and what each had to take apart."""
    source, undo = origin.source, []
    for order in edited.orders:
        record = records_named(source, edited.drawn.layout.name)[edited.ordinal]
        made = permuted(Origin(source, origin.file), record, order.names)
        source = made.source
        undo.append(made.undo)
    return source, undo


def _damage(origin: Origin, edited: Edited, source: bytes, undo: Sequence[Undo]) -> str:
    """What is wrong with the text: bytes lost or changed, or not the old ones when the old order is asked for."""
    name = edited.drawn.layout.name
    before, after = (records_named(text, name)[edited.ordinal] for text in (origin.source, source))
    if source[after.closing :] != origin.source[before.closing :]:
        return "text behind the record changed"
    if not any(one.torn for one in undo) and sorted(source.splitlines()) != sorted(origin.source.splitlines()):
        return "lines were lost or changed"
    try:
        for order, one in zip(reversed(edited.orders), reversed(undo), strict=True):
            record = records_named(source, name)[edited.ordinal]
            source = permuted(Origin(source, origin.file), record, order.before, one).source
    except EditRefused as error:
        return f"the old order is refused: {error}"
    return "" if source == origin.source else "the old order does not give the old bytes"


def _confirmed(
    tree: ScratchTree,
    included: Sequence[str],
    before: LayoutTable,
    edits: Sequence[Edited],
    sources: Mapping[str, bytes],
) -> Iterator[Result]:
    """All edits of a unit compiled at once; in halves where that fails or gives what was not expected."""
    if not edits:
        return
    try:
        after = tree.compiled(included, {**sources, **_together(sources, edits)})
        orders = [order for edit in edits for order in edit.orders]
        found = list(differences(Expected(before, orders), before, after))
        said = f"{found[0].record}: {found[0].said}" if found else ""
        wrong = any(one.edited for one in found)
        outcome = Outcome.WRONG if wrong else Outcome.REFUSED if found else Outcome.CONFIRMED
        reason = "another order" if wrong else "verification" if found else ""
    except Uncompiled as error:
        outcome, reason, said = Outcome.REFUSED, "compiler", str(error)
    if outcome is Outcome.CONFIRMED or len(edits) == 1:
        yield from (edit.drawn.result(outcome, reason, said) for edit in edits)
        return
    middle = len(edits) // 2
    yield from _confirmed(tree, included, before, edits[:middle], sources)
    yield from _confirmed(tree, included, before, edits[middle:], sources)


def _together(sources: Mapping[str, bytes], edits: Sequence[Edited]) -> Mapping[str, bytes]:
    """The files with all edits."""
    edited: dict[str, bytes] = {}
    for edit in edits:
        file = edit.drawn.file
        edited[file] = _written(Origin(edited.get(file) or sources[file], file), edit)[0]
    return edited
