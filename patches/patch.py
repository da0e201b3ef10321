# SPDX-License-Identifier: GPL-2.0-or-later
"""From a candidate and a source tree to a verified patch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.errors import EditRefused, TreeError, VerificationFailed
from linesmith.analyzer.model import Candidate, Finding, Patch, Refusal, RefusalCode, StepTable
from linesmith.patches.child import Command, run
from linesmith.patches.declaration import Declared, declaration
from linesmith.patches.edit import edit
from linesmith.patches.kbuild import Build, Progress, for_unit, is_kernel, kernel_build, planned
from linesmith.patches.located import locate
from linesmith.patches.message import Confirmation, Excerpt, message
from linesmith.patches.pieces import Origin
from linesmith.patches.plain_build import plain_build
from linesmith.patches.prefix import prefix
from linesmith.patches.probe import Compiled, Probe, compiled
from linesmith.patches.spelling import spellings
from linesmith.patches.tree import Tree as Tree
from linesmith.patches.unified import diffstat, unified_diff
from linesmith.patches.units import including_units
from linesmith.patches.verify import Verification, verify

_USER_ABI = re.compile(r"(?:^|/)include/uapi/")


@dataclass(frozen=True, slots=True)
class Draft:
    """An edit that no compiler has confirmed; ``commands`` would be run to confirm it, as far as they are known."""

    declared: Declared
    diff: bytes
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class _Confirmed:
    source: bytes
    verification: Verification
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
    with _readable(tree):
        declared = _declared(candidate, tree)
        source = _edits(candidate, declared, kernel=is_kernel_code(tree, declared))[-1]
        return Edited(declared, unified_diff(declared.source, source, declared.file))


def draft(candidate: Candidate, tree: Tree) -> Draft:
    """The edit of ``candidate``, without compiling anything.

    Raises ``TreeError``, ``DeclarationNotFound``, ``EditRefused`` or ``ToolMissing``.
    """
    with _readable(tree):
        declared = _declared(candidate, tree)
        kernel = is_kernel_code(tree, declared)
        source = _edits(candidate, declared, kernel=kernel)[0]
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
    with _readable(tree):
        declared = _declared(candidate, tree)
        sources = _edits(candidate, declared, kernel=is_kernel_code(tree, declared))
        build = _build(candidate, tree, declared, progress)
        progress(f"compiling {declared.place} as it is and as patched with {build.flags.compiler}")
        confirmed = _confirmed(candidate, declared, build, sources)
    compiler = run(Command((build.flags.compiler, "--version"), tree.root, 20)).output.partition("\n")[0]
    seen = Confirmation(confirmed.verification, compiler, build.is_kernel)
    title = declared.record.title
    return Patch(
        type=candidate.type,
        file=declared.file,
        diff=unified_diff(declared.source, confirmed.source, declared.file).decode("utf-8", "surrogateescape"),
        message=message(candidate, finding, title, prefix(tree.root, declared.file), excerpt, seen, steps),
        verified=f"compiled with {compiler}; {build.made_from}",
        candidate=number,
        exact=confirmed.verification.exact,
        notes=_notes(declared, build, confirmed.verification, candidate),
        commands=tuple(str(command) for command in (*build.commands, *confirmed.commands)),
    )


def file_text(patch: Patch) -> bytes:
    """The patch as one file for ``git apply`` and ``patch -p1``: message, diffstat, diff."""
    diff = patch.diff.encode("utf-8", "surrogateescape")
    stat = diffstat(diff, patch.file).encode("utf-8", "surrogateescape")
    return patch.message.encode("utf-8", "surrogateescape") + b"---\n" + stat + b"\n" + diff


def _declared(candidate: Candidate, tree: Tree) -> Declared:
    if not tree.root.is_dir():
        raise TreeError(
            f"{tree.root} is no directory; --tree takes the root of the sources the ELF file was built from"
        )
    declared = declaration(tree.root, candidate.type, candidate.before)
    if _USER_ABI.search(declared.file):
        reason = f"{candidate.type} is shared with user space, so its members must stay"
        raise EditRefused(Refusal(RefusalCode.USER_ABI, declared.place, reason))
    return declared


@contextmanager
def _readable(tree: Tree) -> Iterator[None]:
    """What the system refuses is said with the file it refused."""
    try:
        yield
    except OSError as error:
        place = error.filename or tree.root
        remedy = f"check the permissions of {tree.root} and of the cache directory ($LINESMITH_CACHE_DIR)"
        raise TreeError(f"{place}: {error.strerror or error}; {remedy}") from error


def is_kernel_code(tree: Tree, declared: Declared) -> bool:
    """Whether Kbuild compiles the file; the programs in a kernel tree are built in ways of their own."""
    return is_kernel(tree.root) and not declared.file.startswith(("tools/", "samples/", "scripts/"))


def _build(candidate: Candidate, tree: Tree, declared: Declared, progress: Progress) -> Build:
    if is_kernel_code(tree, declared):
        return kernel_build(tree.root, tree.build, progress)
    return plain_build(tree.root, tree.build, tree.cflags, declared.file, candidate.before.unit)


def _edits(candidate: Candidate, declared: Declared, *, kernel: bool) -> tuple[bytes, ...]:
    """The file after the edit, in each way an alignment can be spelt; one way where none is asked for."""
    origin = Origin(declared.source, declared.file)
    return tuple(
        edit(origin, declared.record, candidate, spelling).source
        for spelling in spellings(candidate.moves, kernel=kernel)
    )


def _confirmed(candidate: Candidate, declared: Declared, build: Build, sources: Sequence[bytes]) -> _Confirmed:
    """The first of ``sources`` that the compiler confirms; what it says of the last one is raised."""
    probe, original = _original(candidate, declared, build)
    before = locate(candidate, original.layouts)
    failure = VerificationFailed(f"{declared.place}: there is no edit to confirm")
    for source in sources:
        try:
            patched = compiled(for_unit(build, probe.unit), probe, source)
            verification = verify(candidate, before, locate(candidate, patched.layouts))
        except VerificationFailed as failed:
            failure = failed
            continue
        return _Confirmed(source, verification, (original.command, patched.command))
    raise failure


def _original(candidate: Candidate, declared: Declared, build: Build) -> tuple[Probe, Compiled]:
    """The tree's own file compiled alone or, when it cannot stand alone, through a unit that includes it."""
    alone = Probe(declared.file, declared.record.title)
    failures: list[str] = []
    units = including_units(build.tree, declared.file, candidate.before.unit)
    for probe in (alone, *(replace(alone, through=unit) for unit in units)):
        try:
            return probe, compiled(for_unit(build, probe.unit), probe, declared.source)
        except VerificationFailed as failure:
            failures.append(str(failure))
    through = f" (nor does it through {', '.join(units)})" if units else ""
    raise VerificationFailed(f"before any change, {failures[0]}{through}")


def _notes(declared: Declared, build: Build, seen: Verification, candidate: Candidate) -> tuple[str, ...]:
    notes = list(build.remarks)
    if not seen.exact:
        notes.append(
            f"the ELF file was built with another configuration than {build.made_from}: {seen.difference}; "
            "the patch is verified for the tree's configuration"
        )
    if (candidate.before.line, candidate.before.name) != (declared.record.line, "") and candidate.before.name:
        recorded = candidate.before.place
        if not recorded.endswith(declared.place):
            notes.append(f"{candidate.type} was found at {declared.place}; the debug information says {recorded}")
    return tuple(notes)
