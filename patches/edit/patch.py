# SPDX-License-Identifier: GPL-2.0-or-later
"""From a candidate and a source tree to a verified patch; ``held_together`` says beforehand what moves as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base.child import Command
from linesmith.analyzer.base.errors import EditRefused, LinesmithError, TreeError, VerificationFailed
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.layouts.placement import is_user_abi
from linesmith.analyzer.model import (
    Candidate,
    FactKind,
    FileChange,
    Finding,
    Layout,
    Patch,
    PatchSeries,
    Refusal,
    RefusalCode,
    SeriesStep,
    SourceFact,
)
from linesmith.patches.build import kbuild
from linesmith.patches.build.confinement import compiler_version
from linesmith.patches.build.preparation import Progress
from linesmith.patches.build.probe import CompiledProbe, Probe, compiled, first_compiled, probes
from linesmith.patches.edit.edit import check_record, edit, spellings
from linesmith.patches.edit.verify import Verification, locate, verify
from linesmith.patches.message.message import Confirmation, commit_message
from linesmith.patches.message.paragraphs import NO_FURTHER_CHECKS, FurtherChecks, style
from linesmith.patches.message.trouble import NO_ORIGIN, ProfileOrigin
from linesmith.patches.series.mails import diffstat, unified_diff
from linesmith.patches.source.atoms import AtomKind, inseparable_members, scope
from linesmith.patches.source.body import Remarks
from linesmith.patches.source.declaration import Declared, declaration
from linesmith.patches.source.pieces import SourceText
from linesmith.patches.source.tree import Tree


@dataclass(frozen=True, slots=True)
class Original:
    """The tree's own file as the build compiles it: ``probe`` says through which unit."""

    declared: Declared
    build: kbuild.TreeBuild
    probe: Probe
    compiled: CompiledProbe


@dataclass(frozen=True, slots=True)
class Confirmed:
    """An edit that the compiler confirms; ``compiler`` is its version line, ``commands`` were run."""

    original: Original
    change: FileChange
    verification: Verification
    compiler: str
    commands: tuple[Command, ...]


def confirm(candidate: Candidate, tree: Tree, progress: Progress, remarks: Remarks | None = None) -> Confirmed:
    """Edit the source, with ``remarks`` above members, and compile it; ``progress`` gets a line before slow steps.

    Raises ``TreeError``, ``DeclarationNotFound``, ``EditRefused``, ``ToolMissing``, and ``VerificationFailed`` when the
    compiler disagrees.
    """
    with declaration_in(candidate.type, candidate.before, tree) as declared:
        kernel = kbuild.is_kernel_code(tree.root, declared.file)
        sources = edits(candidate, declared, kernel=kernel, remarks=remarks)
        original = _original(declared, tree, candidate.before.unit, progress)
        progress(f"compiling {declared.place} as patched with {original.build.flags.compiler}")
        return _first_confirmed(candidate, original, sources)


def as_it_is(type_: str, layout: Layout, tree: Tree, progress: Progress) -> Original:
    """The tree's own file, compiled before any candidate is looked for: the flags at hand may not suit it.

    Raises what ``confirm`` does.
    """
    with declaration_in(type_, layout, tree) as declared:
        return _original(declared, tree, layout.unit, progress)


@contextmanager
def declaration_in(type_: str, layout: Layout, tree: Tree) -> Iterator[Declared]:
    """The declaration of the record ``type_``, whose members, or those of a struct inside it, are in ``layout``.

    What the system refuses in the block is stated with the file it refused. Raises ``TreeError``,
    ``DeclarationNotFound``, and ``EditRefused`` for one that user space shares.
    """
    try:
        if not tree.root.is_dir():
            raise TreeError(f"{tree.root} is not a directory; --tree needs the root of the sources of the ELF file")
        declared = declaration(tree.root, type_, layout)
        if is_user_abi(declared.file):
            reason = f"{type_} is shared with user space, so its members must stay"
            raise EditRefused(Refusal(RefusalCode.USER_ABI, declared.place, reason))
        yield declared
    except OSError as error:
        place = error.filename or tree.root
        remedy = f"check the permissions of {tree.root} and of the cache directory ($LINESMITH_CACHE_DIR)"
        raise TreeError(f"{place}: {error.strerror or error}; {remedy}") from error


def edits(
    candidate: Candidate, declared: Declared, *, kernel: bool, remarks: Remarks | None = None
) -> tuple[bytes, ...]:
    """The file after the edit, in each way that alignments can be spelt.

    ``remarks`` are written above the members that they are about. Raises ``EditRefused``.
    """
    origin = SourceText(declared.source, declared.file)
    ways = spellings(candidate.moves, kernel=kernel)
    return tuple(edit(origin, declared.record, candidate, spelling, remarks) for spelling in ways)


def _original(declared: Declared, tree: Tree, unit: str | None, progress: Progress) -> Original:
    """The tree's own file, compiled in the first way that there is (``probes``)."""
    if kbuild.is_kernel_code(tree.root, declared.file):
        build = kbuild.kernel_build(tree.root, tree.build, progress)
    else:
        build = kbuild.plain_build(tree, kbuild.seen_by_compilers(tree), declared.file, unit)
    progress(f"compiling {declared.place} as it is with {build.flags.compiler}")
    tried = probes(build, declared.file, declared.record.title, unit)
    try:
        probe, found = first_compiled(build, tried, {declared.file: declared.source})
    except VerificationFailed as failure:
        step = "give what its build has: options with --cflags, generated headers or a built kernel with --build"
        raise VerificationFailed(f"{failure}; {step}") from None
    return Original(declared, build, probe, found)


def _first_confirmed(candidate: Candidate, original: Original, sources: Sequence[bytes]) -> Confirmed:
    """The first of ``sources`` that the compiler confirms; what it says of the last one is raised."""
    declared, build = original.declared, original.build
    before = locate(candidate, original.compiled.layouts)
    failure = VerificationFailed(f"{declared.place}: there is no edit to confirm")
    for source in sources:
        try:
            patched = compiled(kbuild.for_unit(build, original.probe.unit), original.probe, {declared.file: source})
            verification = verify(candidate, before, locate(candidate, patched.layouts))
        except VerificationFailed as failed:
            failure = failed
            continue
        change = FileChange(declared.file, declared.source, source)
        version = compiler_version(build.flags.compiler).partition("\n")[0]
        commands = (*build.commands, original.compiled.command, patched.command)
        return Confirmed(original, change, verification, version, commands)
    raise failure


@dataclass(frozen=True, slots=True)
class UnverifiedEdit:
    """An edit that no compiler has confirmed; ``commands`` would be run to confirm it, as far as they are known."""

    declared: Declared
    diff: bytes
    commands: tuple[Command, ...]


def edited(candidate: Candidate, root: Path) -> UnverifiedEdit:
    """The change of the tree at ``root`` that makes ``candidate``, spelt so that every file of it can be compiled.

    No configuration is looked at. Raises ``TreeError``, ``DeclarationNotFound`` or ``EditRefused``.
    """
    with declaration_in(candidate.type, candidate.before, Tree(root)) as declared:
        source = edits(candidate, declared, kernel=kbuild.is_kernel_code(root, declared.file))[-1]
        return UnverifiedEdit(declared, unified_diff(declared.source, source, declared.file), ())


def draft(candidate: Candidate, tree: Tree, remarks: Remarks | None = None) -> UnverifiedEdit:
    """The edit of ``candidate`` with ``remarks``, without compiling anything.

    Raises ``TreeError``, ``DeclarationNotFound``, ``EditRefused`` or ``ToolMissing``.
    """
    with declaration_in(candidate.type, candidate.before, tree) as declared:
        kernel = kbuild.is_kernel_code(tree.root, declared.file)
        source = edits(candidate, declared, kernel=kernel, remarks=remarks)[0]
        commands = kbuild.planned(tree.root, tree.build) if kernel else ()
        return UnverifiedEdit(declared, unified_diff(declared.source, source, declared.file), commands)


def patch_of(
    candidate: Candidate,
    finding: Finding,
    tree: Tree,
    number: int,
    confirmed: Confirmed,
    further: FurtherChecks = NO_FURTHER_CHECKS,
    profiled: ProfileOrigin = NO_ORIGIN,
) -> Patch:
    """The patch of a confirmed edit; ``number`` is the candidate's, counted from 1.

    ``further`` is what else was checked, ``profiled`` where the profile is from.
    """
    declared, build = confirmed.original.declared, confirmed.original.build
    seen = Confirmation(confirmed.verification, confirmed.compiler, build.is_kernel, further, profiled)
    if not build.is_kernel and build.made_from.startswith("cc"):
        seen = replace(seen, flags=f"the options {tree.cflags}" if tree.cflags else "no options")
    title, usual = declared.record.title, style(tree.root, declared.file)
    change = confirmed.change
    return Patch(
        type=candidate.type,
        file=declared.file,
        diff=unified_diff(change.before or b"", change.after or b"", change.file).decode("utf-8", "surrogateescape"),
        message=commit_message(candidate, finding, title, usual, seen),
        verified=f"compiled with {confirmed.compiler}; {build.made_from}",
        candidate=number,
        exact=confirmed.verification.exact,
        notes=_notes(confirmed, candidate),
        commands=tuple(str(command) for command in confirmed.commands),
    )


def file_text(patch: Patch) -> bytes:
    """The patch as one file for ``git apply`` and ``patch -p1``: message, diffstat, diff."""
    diff = patch.diff.encode("utf-8", "surrogateescape")
    below = f"{patch.message.below}\n\n" if patch.message.below else ""
    head = f"{patch.message}---\n{below}{visible(diffstat(diff))}\n"
    return head.encode("utf-8", "surrogateescape") + diff


def whole(patch: Patch, confirmed: Confirmed) -> PatchSeries:
    """A confirmed candidate as one patch."""
    step = SeriesStep(str(patch.message), (confirmed.change,), patch.message.below)
    return PatchSeries((step,), notes=patch.notes)


def _notes(confirmed: Confirmed, candidate: Candidate) -> tuple[str, ...]:
    declared, build, seen = confirmed.original.declared, confirmed.original.build, confirmed.verification
    notes = list(build.remarks)
    if not seen.exact:
        notes.append(
            f"the ELF file was built with another configuration than {build.made_from}: {seen.difference}; "
            "the patch is verified for the tree's configuration"
        )
        if not any(one.after < one.before for one in seen.residuals):
            notes.append("the change separates no members; it saves between objects, as the ELF file lays them out")
    if (candidate.before.line, candidate.before.name) != (declared.record.line, "") and candidate.before.name:
        recorded = candidate.before.place
        if not recorded.endswith(declared.place):
            notes.append(f"{candidate.type} was found at {declared.place}; the debug information says {recorded}")
    return tuple(notes)


def declaring_file(type_: str, layout: Layout, tree: Tree) -> str:
    """The file that declares a record; raises what stands in the way of every patch of it.

    It may be declared nowhere, or where it must stay; the tree may have no configuration; a tool may be missing.
    """
    with declaration_in(type_, layout, tree) as declared:
        check_record(SourceText(declared.source, declared.file), declared.record)
        outer, sound = scope(declared.source, declared.record)
        if not sound and all(atom.kind is AtomKind.BROKEN for atom in outer.atoms):
            reason = f"the declaration of {declared.record.title} is not plain C, so no member can be moved safely"
            raise EditRefused(Refusal(RefusalCode.NOT_C, declared.place, reason))
        if kbuild.is_kernel_code(tree.root, declared.file):
            kbuild.planned(tree.root, tree.build)
        return declared.file


def held_together(type_: str, layout: Layout, tree: Path) -> tuple[SourceFact, ...]:
    """The members of conditionals, and what else moves as one: a candidate that separates them could not be written.

    Nothing where the record's declaration is not found.
    """
    try:
        with declaration_in(type_, layout, Tree(tree)) as declared:
            found = inseparable_members(declared.source, declared.record)
    except LinesmithError:
        return ()
    reason = "the source has them in one block"
    return tuple(SourceFact(FactKind.TOGETHER, names, reason, declared.place) for names in found if len(names) > 1)
