# SPDX-License-Identifier: GPL-2.0-or-later
"""The edit of a candidate, confirmed by compiling the file as it is and as edited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import EditRefused, TreeError, VerificationFailed
from linesmith.analyzer.geometry.unmovable import is_user_abi
from linesmith.analyzer.model import Candidate, FileChange, Layout, Refusal, RefusalCode
from linesmith.patches.child import Command, compiler_version
from linesmith.patches.declaration import Declared, declaration
from linesmith.patches.edit import edit
from linesmith.patches.kbuild import Build, Progress, for_unit, is_kernel, kernel_build
from linesmith.patches.located import locate
from linesmith.patches.pieces import Origin
from linesmith.patches.plain_build import plain_build, seen_by_compilers
from linesmith.patches.probe import Compiled, Probe, compiled
from linesmith.patches.remarks import Remarks
from linesmith.patches.spelling import spellings, vocabulary
from linesmith.patches.tree import Tree
from linesmith.patches.units import probes
from linesmith.patches.verify import Verification, verify


@dataclass(frozen=True, slots=True)
class Original:
    """The tree's own file as the build compiles it: ``probe`` says through which unit."""

    declared: Declared
    build: Build
    probe: Probe
    compiled: Compiled


@dataclass(frozen=True, slots=True)
class Confirmed:
    """An edit that the compiler confirms; ``compiler`` is its version line, ``commands`` were run."""

    original: Original
    change: FileChange
    remarks: Remarks | None
    verification: Verification
    compiler: str
    commands: tuple[Command, ...]


def confirm(candidate: Candidate, tree: Tree, progress: Progress, remarks: Remarks | None = None) -> Confirmed:
    """Edit the source, with ``remarks`` beside the members, and compile it; ``progress`` gets a line before slow steps.

    Raises ``TreeError``, ``DeclarationNotFound``, ``EditRefused``, ``ToolMissing``, and ``VerificationFailed`` when the
    compiler disagrees.
    """
    with readable(tree):
        declared = declared_in(candidate.type, candidate.before, tree)
        sources = edits(candidate, declared, tree.root, kernel=is_kernel_code(tree, declared), remarks=remarks)
        build = _build(candidate, tree, declared, progress)
        progress(f"compiling {declared.place} as it is and as patched with {build.flags.compiler}")
        original = _original(candidate, declared, build)
        return _first_confirmed(candidate, original, sources, remarks)


def declared_in(type_: str, layout: Layout, tree: Tree) -> Declared:
    """The declaration of the record ``type_``, whose members, or those of a struct inside it, are in ``layout``.

    Raises ``TreeError``, ``DeclarationNotFound``, and ``EditRefused`` for one that user space shares.
    """
    if not tree.root.is_dir():
        raise TreeError(
            f"{tree.root} is no directory; --tree takes the root of the sources the ELF file was built from"
        )
    declared = declaration(tree.root, type_, layout)
    if is_user_abi(declared.file):
        reason = f"{type_} is shared with user space, so its members must stay"
        raise EditRefused(Refusal(RefusalCode.USER_ABI, declared.place, reason))
    return declared


@contextmanager
def readable(tree: Tree) -> Iterator[None]:
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


def edits(
    candidate: Candidate, declared: Declared, root: Path, *, kernel: bool, remarks: Remarks | None = None
) -> tuple[bytes, ...]:
    """The file of the tree at ``root`` after the edit, in each way that what it adds can be spelt.

    ``remarks`` are written above the members that they are about. Raises ``EditRefused``.
    """
    origin = Origin(declared.source, declared.file)
    ways = spellings(candidate.moves, vocabulary(root, declared.source, kernel=kernel))
    return tuple(edit(origin, declared.record, candidate, spelling, remarks).source for spelling in ways)


def _build(candidate: Candidate, tree: Tree, declared: Declared, progress: Progress) -> Build:
    if is_kernel_code(tree, declared):
        return kernel_build(tree.root, tree.build, progress)
    return plain_build(tree, seen_by_compilers(tree), declared.file, candidate.before.unit)


def _original(candidate: Candidate, declared: Declared, build: Build) -> Original:
    """The tree's own file, compiled in the first way that there is (``probes``)."""
    failures: list[str] = []
    tried = probes(build, declared.file, declared.record.title, candidate.before.unit)
    for probe in tried:
        try:
            return Original(declared, build, probe, compiled(for_unit(build, probe.unit), probe, declared.source))
        except VerificationFailed as failure:
            failures.append(str(failure))
    units = [one.through for one in tried if one.through]
    through = f" (nor does it through {', '.join(units)})" if units else ""
    step = "give what its build has: options with --cflags, generated headers or a built kernel with --build"
    raise VerificationFailed(f"before any change, {failures[0]}{through}; {step}")


def _first_confirmed(
    candidate: Candidate, original: Original, sources: Sequence[bytes], remarks: Remarks | None
) -> Confirmed:
    """The first of ``sources`` that the compiler confirms; what it says of the last one is raised."""
    declared, build = original.declared, original.build
    before = locate(candidate, original.compiled.layouts)
    failure = VerificationFailed(f"{declared.place}: there is no edit to confirm")
    for source in sources:
        try:
            patched = compiled(for_unit(build, original.probe.unit), original.probe, source)
            verification = verify(candidate, before, locate(candidate, patched.layouts))
        except VerificationFailed as failed:
            failure = failed
            continue
        change = FileChange(declared.file, declared.source, source)
        commands = (*build.commands, original.compiled.command, patched.command)
        return Confirmed(original, change, remarks, verification, _version(build), commands)
    raise failure


def _version(build: Build) -> str:
    return compiler_version(build.flags.compiler).partition("\n")[0]
