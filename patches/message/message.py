# SPDX-License-Identifier: GPL-2.0-or-later
"""The commit message: what meets, what changes, what was verified; every number comes from the pipeline.

``CommitMessage`` is the message in parts, in the order in which they stand in it; here each part is worked out. Above
the ``---`` is what a maintainer reads, in at most 45 lines; details of the checks stand below it.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

from linesmith.analyzer.base.text import paragraph, visible
from linesmith.analyzer.layouts.containment import holders_of
from linesmith.analyzer.model import Candidate, CommitMessage, Finding, MoveKind
from linesmith.patches.edit.verify import Verification
from linesmith.patches.message import paragraphs
from linesmith.patches.message.trouble import INDENT, NO_ORIGIN, ProfileOrigin, lines_text, remains, separated, trouble

_SUBJECT_WIDTH = 75
_MOST_LINES = 45
# Rows of members with their functions, and cache lines before and after: as many as there is room for.
_ROOM = ((5, 4), (4, 3), (4, 2), (3, 2), (2, 2), (2, 1))

# How the paragraphs begin between which stands what was measured, and how the last one ends before that.
_COMPILED = "Compiled with"
_NOT_CHECKED = "Not checked:"
_NOT_MEASURED = "No benchmark has been run."
# Below the ---, for whoever sends it.
_TO_SEND = (
    "Before sending: measure it on hardware with `linesmith bench PLAN.toml THIS.patch`; PLAN.toml names the tree, its"
    " build and the benchmark."
)
_MATRIX = "`linesmith patch --matrix` compiles other configurations."


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the message says about the compile: the compiler's version line, and what else was checked.

    ``profiled`` is where the profile is from; ``flags`` are those of a plain tree, in words.
    """

    verification: Verification
    compiler: str
    is_kernel: bool
    further: paragraphs.FurtherChecks = paragraphs.NO_FURTHER_CHECKS
    profiled: ProfileOrigin = NO_ORIGIN
    flags: str = "the flags of compile_commands.json"


def commit_message(
    candidate: Candidate, finding: Finding, title: str, usual: paragraphs.SubjectStyle, seen: Confirmation
) -> CommitMessage:
    """The whole message; ``title`` is the type as C names it, ``usual`` how subjects begin."""
    check, further = seen.verification, seen.further
    holders = [one.title for one in holders_of(check.after.layouts, candidate.type)]
    sentences = (
        paragraphs.moves_text(candidate.moves),
        paragraphs.saving(candidate.judgement, finding, exact=check.exact),
        remains(candidate, finding),
    )
    to_send = _TO_SEND if further.configurations else f"{_TO_SEND} {_MATRIX}"
    # The command that was profiled, where the text above has only its beginning.
    origin = seen.profiled
    workload = f"Workload:\n{INDENT}{origin.command}" if origin.command not in origin.machine else ""
    builds = further.builds_left or ("other configurations and architectures" if seen.is_kernel else "other builds")
    missed = f"{_NOT_CHECKED} {builds}, and {further.code_left or paragraphs.CODE}."
    parts = {
        "change": paragraph(" ".join(filter(None, sentences))),
        "starts": paragraphs.starts_text(check.residuals, check.granules, title, holders),
        "cost": paragraphs.cost_text(candidate, check),
        "compiled": _compiled(candidate, seen),
        "unchecked": paragraph(" ".join(filter(None, (missed, candidate.doubt, _NOT_MEASURED)))),
        "below": "\n\n".join(filter(None, (workload, further.details, paragraph(to_send)))),
    }
    found = CommitMessage(subject(candidate, title, usual), **parts)
    for members, lines in _ROOM:
        layout = lines_text(candidate, finding, check, seen.profiled.members, lines)
        found = replace(found, trouble=trouble(candidate, finding, title, seen.profiled, members), layout=layout)
        if str(found).count("\n") <= _MOST_LINES:
            break
    return CommitMessage(*map(visible, astuple(found)))


def subject(candidate: Candidate, title: str, usual: paragraphs.SubjectStyle) -> str:
    """The first line: imperative, at most 75 characters where the names allow it."""
    apart = [it for it in separated(candidate.residuals) if not it.after or candidate.moved & {it.first, it.second}]
    move = candidate.moves[0]
    if move.kind is MoveKind.ALIGN:
        choices = [f"align {move.member} in {title}", f"align members of {title}"]
    elif apart:
        choices = [f"separate {apart[0].first} from {apart[0].second} in {title}", f"move {move.member} in {title}"]
    else:
        choices = [f"move {move.member} in {title}"] if len(candidate.moves) == 1 else []
    lines = [usual.subject(choice) for choice in (*choices, f"reorder {title}")]
    return next((line for line in lines if len(line) <= _SUBJECT_WIDTH), lines[-1])


def _compiled(candidate: Candidate, seen: Confirmation) -> str:
    """By what the layout is confirmed, and what else was compiled and searched."""
    flags = "the Kbuild flags of the tree's .config" if seen.is_kernel else seen.flags
    check = seen.verification
    result = "The layouts are those of the rebuilt debug information."
    if not check.exact:
        sizes = f"{candidate.before.size} bytes there, {check.before.moved.size} here"
        other = f"The ELF file of the profile has another configuration ({check.difference}; {sizes})."
        result = f"The order is that of the rebuilt debug information. {other}"
    text = f"{_COMPILED} {seen.compiler} and {flags}. {result}"
    return paragraph(" ".join(filter(None, (text, seen.further.configurations, seen.further.code))))


def with_evidence(text: str, evidence: str) -> str:
    """The message ``text`` with what was measured, ``evidence``, in the place of what was known of that before.

    A run measures patches as the files that they are, whoever has edited them since, so this message is text. One that
    is none of ours is left as it is.
    """
    blocks = text.rstrip("\n").split("\n\n")
    numbers = range(len(blocks))
    compiled = next((at for at in numbers if blocks[at].startswith(_COMPILED)), len(blocks))
    unchecked = next((at for at in numbers[compiled:] if blocks[at].startswith(_NOT_CHECKED)), None)
    if unchecked is None:
        return text
    rest = paragraph(" ".join(blocks[unchecked].split()).removesuffix(_NOT_MEASURED).rstrip())
    return "\n\n".join((*blocks[: compiled + 1], evidence.strip("\n"), rest, *blocks[unchecked + 1 :])) + "\n"
