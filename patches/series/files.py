# SPDX-License-Identifier: GPL-2.0-or-later
"""A series as the files that a person sends or applies: mails where the tree is a repository, plain diffs elsewhere.

At the end of a message stand the lines that only a person can give: where it was discussed, which commit it mends. Of
the files, the tree's own ``scripts/checkpatch.pl --strict`` says what it dislikes, but for the sign-off.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from linesmith.analyzer.base.child import Command, run
from linesmith.analyzer.base.errors import EditRefused, LinesmithError, TreeError, VerificationFailed
from linesmith.analyzer.base.text import paragraph, visible
from linesmith.analyzer.model import Candidate, CommitMessage, FileChange, Patch, PatchSeries, SeriesStep
from linesmith.patches.build.confinement import Confinement
from linesmith.patches.build.kbuild import for_unit
from linesmith.patches.build.overlay import scratch
from linesmith.patches.build.preparation import Progress
from linesmith.patches.build.probe import compiled
from linesmith.patches.edit.patch import Confirmed, edits
from linesmith.patches.edit.unified import files_diff, files_stat
from linesmith.patches.edit.verify import Located, locate, measure, starts_of
from linesmith.patches.message.message import subject
from linesmith.patches.message.paragraphs import moves_text, starts_text, style
from linesmith.patches.series.mails import NOBODY, PatchFile, Recipients, mails, repository
from linesmith.patches.source.tree import Tree, visible_files

_SCRIPT = Path("scripts") / "checkpatch.pl"
_OPTIONS = ("--strict", "--terse", "--no-summary", "--show-types", "--emacs")
_SECONDS = 120
_SIGN_OFF = re.compile(r"(ERROR|WARNING):(MISSING_SIGN_OFF|NO_AUTHOR_SIGN_OFF)\b")
# The name is that of the patch, which may have any character.
_COMPLAINT = re.compile(r".*?:(\d+): ((?:ERROR|WARNING|CHECK):.*)")
_ABBREVIATED = 12
_COMPLETE = re.compile(r'([0-9a-f]{12,40}) \("(.+)"\)')
# Lines at which programs that apply a mail would end its message.
_ENDS_A_MESSAGE = re.compile(r"^(?=---|diff -|Index: |From )", re.MULTILINE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._]+")
_LONGEST_NAME = 52


def complaints(tree: Path, files: Sequence[PatchFile], whole: str = "") -> tuple[str, ...]:
    """What is said of each patch, as ``name:line: text``; nothing where the tree has no such script, or no perl.

    The line is that of the patch. Where the patches are written one behind the other, with an empty line between, name
    and line are those of that text, which is called ``whole``.
    """
    if not (tree / _SCRIPT).is_file() or shutil.which("perl") is None:
        return ()
    ahead = (0, *accumulate(file.content.count(b"\n") + 1 for file in files))
    places = [(whole, lines) if whole else (file.name, 0) for file, lines in zip(files, ahead, strict=False)]
    patches = [(file, place) for file, place in zip(files, places, strict=True) if b"\n+++ " in file.content]
    return tuple(
        f"{name}:{before + line}: {text}"
        for file, (name, before) in patches
        for line, text in _said(tree.resolve(), file)
    )


def _said(tree: Path, file: PatchFile) -> Iterator[tuple[int, str]]:
    """The script keeps notes where it runs, so it runs in a folder that is gone afterwards."""
    with scratch("linesmith-checkpatch-") as folder:
        (folder / file.name).write_bytes(file.content)
        argv = ("perl", str(tree / _SCRIPT), f"--root={tree}", *_OPTIONS, file.name)
        try:
            ended = run(Command(argv, folder, _SECONDS, Confinement(visible_files(tree), (folder,))))
        except LinesmithError as error:
            yield 1, str(error)
            return
        found = [_COMPLAINT.fullmatch(line) for line in ended.output.splitlines() if not _SIGN_OFF.search(line)]
        yield from ((int(one[1]), one[2]) for one in found if one)


@dataclass(frozen=True, slots=True)
class Trailers:
    """``links`` go under every patch of a series, ``fixes`` (commits with their subjects) under the last one."""

    links: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()

    def under(self, *, last: bool) -> str:
        """The lines for one patch, in the order in which they are usual; empty where there are none."""
        fixes = [f"Fixes: {one}" for one in self.fixes] if last else []
        return "\n".join((*fixes, *(f"Link: {one}" for one in self.links)))


NO_TRAILERS = Trailers()


def trailers(tree: Path, links: Sequence[str], fixes: Sequence[str]) -> Trailers:
    """The trailers as a kernel's maintainer expects them; each of ``fixes`` names a commit of the tree's history.

    Raises ``TreeError`` for a commit that the tree does not have. What is written out as ``HASH ("subject")`` is taken
    as it is, for a tree without history.
    """
    return Trailers(tuple(links), tuple(_named(tree, one) for one in fixes))


def _named(tree: Path, commit: str) -> str:
    if complete := _COMPLETE.fullmatch(commit.strip()):
        return f'{complete[1][:_ABBREVIATED]} ("{complete[2]}")'
    known = repository(tree)
    asked = ("log", "-1", "--no-show-signature", f"--abbrev={_ABBREVIATED}", '--format=%h ("%s")', "--end-of-options")
    found = known.answer(*asked, commit, "--") if known else ""
    if not found:
        raise TreeError(f'{tree} has no commit {commit!r}; --fixes needs a commit of its history, or HASH ("subject")')
    return found


def patch_files(
    series: PatchSeries, tree: Path, trailers: Trailers = NO_TRAILERS, recipients: Recipients = NOBODY
) -> tuple[PatchFile, ...]:
    """The files in the order in which they apply, the cover letter first where there is one.

    The tree and its repository are only read. Raises ``TreeError`` where the tree is not as the series expects it, or
    where git fails.
    """
    _check(series.steps, tree)
    steps = []
    for step in series.steps:
        body = visible(_ENDS_A_MESSAGE.sub(" ", step.message).strip("\n"))
        under = visible(trailers.under(last=step is series.steps[-1]))
        message, below = f"{body}\n\n{under}\n" if under else f"{body}\n", visible(_ENDS_A_MESSAGE.sub(" ", step.below))
        steps.append(replace(step, message=message, below=below))
    complete = replace(series, steps=tuple(steps), cover=visible(_ENDS_A_MESSAGE.sub(" ", series.cover)))
    known = repository(tree)
    # Of a folder in a repository, names from the root would not apply in the tree, others not with `git am`.
    if known and not known.folder:
        return mails(complete, known, recipients)
    letter = complete.cover.rstrip("\n") + "\n"
    cover = [PatchFile("0000-cover-letter.txt", _bytes(letter))] if complete.cover else []
    return (*cover, *(_plain_file(number, step) for number, step in enumerate(complete.steps, start=1)))


def _check(steps: Sequence[SeriesStep], tree: Path) -> None:
    """Raise ``TreeError`` where a step does not begin with what the one before it, or the tree, has."""
    if not steps or not all(step.changes for step in steps):
        raise TreeError(f"nothing to change in {tree}")
    known: dict[str, bytes | None] = {}
    for change in (change for step in steps for change in step.changes):
        if change.file not in known:
            path = tree / change.file
            known[change.file] = path.read_bytes() if path.is_file() else None
        if known[change.file] != change.before:
            raise TreeError(f"{tree / change.file} has changed meanwhile; run the command again")
        known[change.file] = change.after


def _plain_file(number: int, step: SeriesStep) -> PatchFile:
    """Message, diffstat, diff: what ``git apply`` and ``patch -p1`` take."""
    subject = step.message.partition("\n")[0]
    short = _NOT_IN_A_NAME.sub("-", subject)[:_LONGEST_NAME].strip("-.")
    below = f"{step.below}\n\n" if step.below else ""
    stat = _bytes(visible(f"---\n{below}{files_stat(step.changes)}\n"))
    content = _bytes(step.message) + stat + files_diff(step.changes)
    return PatchFile(f"{number:04}-{short}.patch", content)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# A confirmed candidate as a series: one patch, or one for each of its moves, each of which compiles.


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
        starts=starts_text(residuals, (objects[0].step, objects[1].step), title),
        compiled=paragraph(f"{compiled_by} the last one has the evidence for all."),
    )
    return SeriesStep(str(message), (_change(confirmed, before, after),))
