# SPDX-License-Identifier: GPL-2.0-or-later
"""From a candidate and a source tree to a verified patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.model import Candidate, Finding, Patch, StepTable
from linesmith.patches.beyond import NOTHING_BEYOND, Beyond
from linesmith.patches.child import Command
from linesmith.patches.confirmed import Confirmed, confirm, declared_in, edits, is_kernel_code, readable
from linesmith.patches.declaration import Declared
from linesmith.patches.kbuild import Progress, planned
from linesmith.patches.message import Confirmation, Excerpt, message
from linesmith.patches.prefix import style
from linesmith.patches.remarks import Remarks
from linesmith.patches.tree import Tree as Tree
from linesmith.patches.unified import diffstat, unified_diff


@dataclass(frozen=True, slots=True)
class Draft:
    """An edit that no compiler has confirmed; ``commands`` would be run to confirm it, as far as they are known."""

    declared: Declared
    diff: bytes
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Edited:
    """A change of the source that no compiler has seen."""

    declared: Declared
    diff: bytes


def edited(candidate: Candidate, root: Path) -> Edited:
    """The change of the tree at ``root`` that makes ``candidate``, spelt so that every file of it can be compiled.

    No configuration is looked at. Raises ``TreeError``, ``DeclarationNotFound`` or ``EditRefused``.
    """
    tree = Tree(root)
    with readable(tree):
        declared = declared_in(candidate.type, candidate.before, tree)
        source = edits(candidate, declared, tree.root, kernel=is_kernel_code(tree, declared))[-1]
        return Edited(declared, unified_diff(declared.source, source, declared.file))


def draft(candidate: Candidate, tree: Tree, remarks: Remarks | None = None) -> Draft:
    """The edit of ``candidate`` with ``remarks``, without compiling anything.

    Raises ``TreeError``, ``DeclarationNotFound``, ``EditRefused`` or ``ToolMissing``.
    """
    with readable(tree):
        declared = declared_in(candidate.type, candidate.before, tree)
        kernel = is_kernel_code(tree, declared)
        source = edits(candidate, declared, tree.root, kernel=kernel, remarks=remarks)[0]
        commands = planned(tree.root, tree.build) if kernel else ()
        return Draft(declared, unified_diff(declared.source, source, declared.file), commands)


def write(
    candidate: Candidate,
    finding: Finding,
    tree: Tree,
    number: int,
    excerpt: Excerpt,
    progress: Progress,
    steps: Sequence[StepTable] = (),
) -> Patch:
    """The patch for ``candidate``, confirmed by compiling it; ``number`` is the candidate's, counted from 1.

    ``excerpt`` renders the layouts of the message, ``steps`` are its reasons; ``progress`` gets a line of text before
    anything slow. Raises what ``draft`` raises, and ``VerificationFailed`` when the compiler disagrees.
    """
    return told(candidate, finding, tree, number, excerpt, confirm(candidate, tree, progress), steps)


def told(
    candidate: Candidate,
    finding: Finding,
    tree: Tree,
    number: int,
    excerpt: Excerpt,
    confirmed: Confirmed,
    steps: Sequence[StepTable] = (),
    beyond: Beyond = NOTHING_BEYOND,
) -> Patch:
    """The patch of a confirmed edit; the other arguments are those of ``write``, ``beyond`` what else was checked."""
    declared, build = confirmed.original.declared, confirmed.original.build
    seen = Confirmation(confirmed.verification, confirmed.compiler, build.is_kernel, beyond)
    title, usual = declared.record.title, style(tree.root, declared.file)
    change = confirmed.change
    return Patch(
        type=candidate.type,
        file=declared.file,
        diff=unified_diff(change.before or b"", change.after or b"", change.file).decode("utf-8", "surrogateescape"),
        message=message(candidate, finding, title, usual, excerpt, seen, steps),
        verified=f"compiled with {confirmed.compiler}; {build.made_from}",
        candidate=number,
        exact=confirmed.verification.exact,
        notes=_notes(confirmed, candidate),
        commands=tuple(str(command) for command in confirmed.commands),
    )


def file_text(patch: Patch) -> bytes:
    """The patch as one file for ``git apply`` and ``patch -p1``: message, diffstat, diff."""
    diff = patch.diff.encode("utf-8", "surrogateescape")
    stat = visible(diffstat(diff, patch.file)).encode()
    return patch.message.encode("utf-8", "surrogateescape") + b"---\n" + stat + b"\n" + diff


def _notes(confirmed: Confirmed, candidate: Candidate) -> tuple[str, ...]:
    declared, build, seen = confirmed.original.declared, confirmed.original.build, confirmed.verification
    notes = list(build.remarks)
    if not seen.exact:
        notes.append(
            f"the ELF file was built with another configuration than {build.made_from}: {seen.difference}; "
            "the patch is verified for the tree's configuration"
        )
        if not any(one.after < one.before for one in seen.residuals):
            notes.append("under the tree's configuration the change parts no members: they meet as rarely without it")
    if (candidate.before.line, candidate.before.name) != (declared.record.line, "") and candidate.before.name:
        recorded = candidate.before.place
        if not recorded.endswith(declared.place):
            notes.append(f"{candidate.type} was found at {declared.place}; the debug information says {recorded}")
    return tuple(notes)
