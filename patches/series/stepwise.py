# SPDX-License-Identifier: GPL-2.0-or-later
"""A confirmed candidate as a series: one patch, or one for each of its moves, each of which compiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.base.errors import EditRefused, VerificationFailed
from linesmith.analyzer.base.text import paragraph
from linesmith.analyzer.model import Candidate, FileChange, Patch, PatchSeries, Residual, SeriesStep
from linesmith.patches.build.kbuild import for_unit
from linesmith.patches.build.preparation import Progress
from linesmith.patches.build.probe import compiled
from linesmith.patches.edit.patch import Confirmed, edits
from linesmith.patches.edit.verify import Located, locate, measure, starts_of
from linesmith.patches.message.message import change_text, listed
from linesmith.patches.message.message import subject as subject_of
from linesmith.patches.message.paragraphs import line_sizes, pair_rows, style
from linesmith.patches.source.tree import Tree


@dataclass(frozen=True, slots=True)
class _State:
    """The file after some of the moves, and the record as the compiler places it then."""

    done: int
    source: bytes
    located: Located


def whole(patch: Patch, confirmed: Confirmed) -> PatchSeries:
    """The change as one patch."""
    return PatchSeries((SeriesStep(patch.message, (confirmed.change,)),), notes=patch.notes)


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
    last = SeriesStep(_last(patch.message, len(states)), (_change(confirmed, *pairs[-1]),))
    return PatchSeries((*steps, last), _cover(patch, [*steps, last]), notes=patch.notes)


def _last(message: str, count: int) -> str:
    """The message of the whole, as that of the last patch."""
    subject, _, body = message.partition("\n\n")
    return f"{subject}\n\nThe last of {count} patches; what follows is about all of them together.\n\n{body}"


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
    first = subject_of(part, title, style(tree.root, confirmed.change.file))
    blocks = [first, change_text(part.moves, before.located.outer.size, after.located.outer.size)]
    blocks += [_remaining(residuals, (objects[0].step, objects[1].step)), _compiled(confirmed, count)]
    return SeriesStep("\n\n".join(block for block in blocks if block) + "\n", (_change(confirmed, before, after),))


def _remaining(residuals: Sequence[Residual], granules: tuple[int, int]) -> str:
    """The pairs that meet in other starts than before the step."""
    changed = [one for one in residuals if one.before != one.after]
    if not changed:
        return ""
    sizes = " and on ".join(f"{size} bytes" for size in line_sizes(changed))
    head = f"Shares of the possible starts in which members meet, before -> after, on {sizes}:"
    return paragraph(head) + "\n\n" + listed(pair_rows(changed, granules))


def _compiled(confirmed: Confirmed, count: int) -> str:
    return paragraph(
        f"The changed file compiles with {confirmed.compiler} after this step, which is one of {count}; the last one "
        "has the evidence for all."
    )


def _cover(patch: Patch, steps: Sequence[SeriesStep]) -> str:
    """A letter with the subject of the whole and its first paragraph; the last patch has the rest."""
    title, problem, *_ = patch.message.split("\n\n")
    return f"{title}\n\n{problem}\n\n" + paragraph(f"{len(steps)} patches, each of which compiles.") + "\n"
