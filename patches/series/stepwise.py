# SPDX-License-Identifier: GPL-2.0-or-later
"""A confirmed candidate as a series: one patch, or one for each of its moves, each of which compiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from linesmith.analyzer.base.errors import EditRefused, VerificationFailed
from linesmith.analyzer.base.text import paragraph
from linesmith.analyzer.model import Candidate, CommitMessage, FileChange, Patch, PatchSeries, SeriesStep
from linesmith.patches.build.kbuild import for_unit
from linesmith.patches.build.preparation import Progress
from linesmith.patches.build.probe import compiled
from linesmith.patches.edit.patch import Confirmed, edits
from linesmith.patches.edit.verify import Located, locate, measure, starts_of
from linesmith.patches.message.message import subject
from linesmith.patches.message.paragraphs import moves_text, starts_text, style
from linesmith.patches.source.tree import Tree


@dataclass(frozen=True, slots=True)
class _State:
    """The file after some of the moves, and the record as the compiler places it then."""

    done: int
    source: bytes
    located: Located


def whole(patch: Patch, confirmed: Confirmed) -> PatchSeries:
    """The change as one patch."""
    step = SeriesStep(str(patch.message), (confirmed.change,), patch.message.below)
    return PatchSeries((step,), notes=patch.notes)


def stepwise(candidate: Candidate, patch: Patch, confirmed: Confirmed, tree: Tree, progress: Progress) -> PatchSeries:
    """The change as one patch for each move; a move after which the tree does not compile is joined with the next.

    The last patch has the evidence, the others say what they do and what they leave. ``confirmed`` and ``patch`` are
    of all moves together.
    """
    states = list(_states(candidate, confirmed, progress))
    if len(states) < 2:
        return whole(patch, confirmed)
    before = _State(0, confirmed.original.declared.source, confirmed.verification.before)
    pairs = list(zip((before, *states), states, strict=False))
    steps = [_step(candidate, confirmed, tree, pair, len(states)) for pair in pairs[:-1]]
    note = paragraph(f"The last of {len(states)} patches; what follows is about all of them together.")
    message = replace(patch.message, series=note)
    last = SeriesStep(str(message), (_change(confirmed, *pairs[-1]),), message.below)
    count = paragraph(f"{len(states)} patches, each of which compiles.")
    cover = CommitMessage(message.subject, trouble=message.trouble, change=count)
    return PatchSeries((*steps, last), str(cover), notes=patch.notes)


def _states(candidate: Candidate, confirmed: Confirmed, progress: Progress) -> Iterator[_State]:
    """What the compiler confirms of each move in turn; the last state is that of ``confirmed``."""
    count = len(candidate.moves)
    for done in range(1, count):
        progress(f"compiling {confirmed.change.file} after {done} of {count} moves")
        if (state := _state(candidate, confirmed, done)) is not None:
            yield state
    yield _State(count, confirmed.change.after or b"", confirmed.verification.after)


def _state(candidate: Candidate, confirmed: Confirmed, done: int) -> _State | None:
    """The file after the first moves, ``None`` where it cannot be edited so far or does not compile."""
    original = confirmed.original
    # The order that all moves together give is not that of the first ones.
    part = replace(candidate, moves=candidate.moves[:done], after=replace(candidate.after, members=()))
    moved = {name for move in part.moves for name in (move.member, move.partner, *move.members)}
    remarks = {name: sentence for name, sentence in (confirmed.remarks or {}).items() if name in moved}
    kernel = original.build.is_kernel
    try:
        for source in edits(part, original.declared, original.build.sources, kernel=kernel, remarks=remarks):
            built = compiled(
                for_unit(original.build, original.probe.unit), original.probe, {original.declared.file: source}
            )
            return _State(done, source, locate(candidate, built.layouts))
    except (EditRefused, VerificationFailed):
        return None
    return None


def _change(confirmed: Confirmed, before: _State, after: _State) -> FileChange:
    return FileChange(confirmed.change.file, before.source, after.source)


def _step(
    candidate: Candidate, confirmed: Confirmed, tree: Tree, states: tuple[_State, _State], count: int
) -> SeriesStep:
    """One patch before the last: what it moves, and in which starts the members meet before and after it."""
    before, after = states
    part = replace(candidate, moves=candidate.moves[before.done : after.done], residuals=())
    objects = starts_of(candidate, before.located, after.located)
    residuals = tuple(measure(one, before.located, after.located, objects) for one in candidate.residuals)
    title = confirmed.original.declared.record.title
    sizes = before.located.outer.size, after.located.outer.size
    size = (
        f"The size stays {sizes[1]} bytes." if sizes[0] == sizes[1] else f"The size is {sizes[0]} -> {sizes[1]} bytes."
    )
    compiled_by = f"Compiled with {confirmed.compiler} after this step, which is one of {count};"
    message = CommitMessage(
        subject(part, title, style(tree.root, confirmed.change.file)),
        change=paragraph(f"{moves_text(part.moves)} {size}"),
        starts=starts_text(residuals, (objects[0].step, objects[1].step)),
        compiled=paragraph(f"{compiled_by} the last one has the evidence for all."),
    )
    return SeriesStep(str(message), (_change(confirmed, before, after),))
