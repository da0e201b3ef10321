# SPDX-License-Identifier: GPL-2.0-or-later
"""The configurations of a kernel tree: its own, that with other options, and those that make writes by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import MappingProxyType
from typing import Generic, TypeVar

from linesmith.analyzer.base.errors import TreeError, VerificationFailed
from linesmith.analyzer.base.keeper import die_with
from linesmith.analyzer.model import CACHE_LINE_BYTES, SlabMachine
from linesmith.analyzer.slab.caches import machine_of
from linesmith.patches.build.kbuild import TreeBuild, kernel_build, prepared_build
from linesmith.patches.build.kconfig import KernelConfiguration, architecture, own_configuration, read_configuration
from linesmith.patches.build.preparation import PreparationRequest, Progress, preparation
from linesmith.patches.matrix.choice import Environment, Units, UnitsFound, planned_units, recorded_units
from linesmith.patches.source.tree import Tree, source_bytes

_LOCK_DEBUGGING = (
    "DEBUG_KERNEL", "PROVE_LOCKING", "LOCK_STAT", "DEBUG_SPINLOCK", "DEBUG_MUTEXES", "DEBUG_RWSEMS", "DEBUG_LOCK_ALLOC",
    "DEBUG_ATOMIC_SLEEP", "DEBUG_VM", "DEBUG_LIST", "DEBUG_OBJECTS",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class KernelRecipe:
    """How a configuration comes about: the tree's own, or what ``target`` writes for ``machine``; then ``fragment``.

    ``needs`` are symbols that must be so at the end; ``title`` is what a reader knows the result by.
    """

    title: str
    machine: str = ""
    target: str = ""
    fragment: tuple[str, ...] = ()
    needs: tuple[tuple[str, bool], ...] = ()


TREE = "tree"
RECIPES: Mapping[str, KernelRecipe] = MappingProxyType(
    {
        TREE: KernelRecipe(".config"),
        "debug": KernelRecipe(
            ".config with lockdep",
            fragment=tuple(f"CONFIG_{symbol}=y" for symbol in _LOCK_DEBUGGING),
            needs=(("PROVE_LOCKING", True),),
        ),
        "i386": KernelRecipe("i386 defconfig", "i386", "defconfig"),
        "arm64": KernelRecipe("arm64 defconfig", "arm64", "defconfig"),
        "minimal": KernelRecipe("allnoconfig", target="allnoconfig"),
        "uniprocessor": KernelRecipe(
            ".config without SMP", fragment=("# CONFIG_SMP is not set",), needs=(("SMP", False),)
        ),
        "everything": KernelRecipe("allmodconfig", target="allmodconfig"),
        "x86_64": KernelRecipe("x86_64 defconfig", "x86_64", "defconfig"),
        "arm": KernelRecipe("arm defconfig", "arm", "defconfig"),
        "powerpc": KernelRecipe("powerpc defconfig", "powerpc", "ppc64le_defconfig"),
        "riscv": KernelRecipe("riscv defconfig", "riscv", "defconfig"),
        "s390": KernelRecipe("s390 defconfig", "s390", "defconfig"),
    }
)  # fmt: skip
MATRIX = (TREE, "debug", "i386", "arm64", "minimal", "uniprocessor")

_FOLDERS = {"i386": "x86", "x86_64": "x86"}
_HOSTS = {"x86_64": "x86_64", "i686": "i386", "aarch64": "arm64", "ppc64le": "powerpc"}
_LINES = {"powerpc": 128, "s390": 256}
_VERSION = re.compile(r"^(VERSION|PATCHLEVEL)\s*=\s*(\d+)", re.MULTILINE)
_PAGES = (("64KB", 65536), ("64K_PAGES", 65536), ("16KB", 16384), ("16K_PAGES", 16384), ("256KB", 262144))


def kernel_environment(name: str, tree: Tree, cpus: int, progress: Progress) -> Environment:
    """The configuration called ``name``, or that in the file ``name``.

    Raises ``TreeError`` where it cannot be had, ``ToolMissing`` naming the package.
    """
    if name == TREE:
        return _own(tree, cpus, progress)
    recipe = RECIPES.get(name) or KernelRecipe(Path(name).name)
    wanted = _wanted(name, recipe, tree)
    one = preparation(tree.root, wanted)
    build = prepared_build(one, recipe.title, progress)
    configured = one.configured()
    for symbol, on in recipe.needs:
        if configured.has(symbol) is not on:
            how = "off" if on else "on"
            raise TreeError(f"make olddefconfig leaves CONFIG_{symbol} {how}: its dependencies require that")
    # Symbols of the fragment that did not come on.
    asked = [line.removeprefix("CONFIG_").removesuffix("=y") for line in recipe.fragment if line.endswith("=y")]
    off = [symbol for symbol in asked if not configured.has(symbol)]
    remarks = build.remarks + ((f"{', '.join(off)} stayed off",) if off else ())
    units = partial(planned_units, one)
    return _environment(recipe.title, replace(build, remarks=remarks), configured, wanted.folder, units, cpus)


def _own(tree: Tree, cpus: int, progress: Progress) -> Environment:
    build = kernel_build(tree.root, tree.build, progress)
    configured = own_configuration(tree.root, tree.build)
    folder = architecture(configured, tree.root)
    one = build.preparation

    def units(tell: Progress) -> Units:
        return recorded_units(tree.root, tree.build, tell) if one is None else planned_units(one, tell)

    return _environment(RECIPES[TREE].title, build, configured, folder, units, cpus)


def _wanted(name: str, recipe: KernelRecipe, tree: Tree) -> PreparationRequest:
    if recipe.target:
        machine = recipe.machine or _machine(tree)
        folder = _FOLDERS.get(machine, machine)
        if not (tree.root / "arch" / folder / "Makefile").is_file():
            raise TreeError(f"the tree has no architecture {machine}")
        return PreparationRequest(KernelConfiguration(Path(recipe.title), "", {}), folder, machine, recipe.target)
    configuration = own_configuration(tree.root, tree.build) if name in RECIPES else read_configuration(Path(name))
    folder = architecture(configuration, tree.root)
    return PreparationRequest(configuration, folder, folder, fragment=recipe.fragment)


def _machine(tree: Tree) -> str:
    """The machine of the tree's own configuration, else the one we run on."""
    if not ((tree.build or tree.root) / ".config").is_file():
        return _HOSTS.get(os.uname().machine, os.uname().machine)
    configuration = own_configuration(tree.root, tree.build)
    folder = architecture(configuration, tree.root)
    if folder != "x86":
        return folder
    return "x86_64" if configuration.has("64BIT") else "i386"


def _environment(
    title: str, build: TreeBuild, configured: KernelConfiguration, folder: str, units: UnitsFound, cpus: int
) -> Environment:
    slabs = _slabs(build.sources, configured, folder, cpus)
    line_bytes = _LINES.get(folder, CACHE_LINE_BYTES)
    return Environment(title, build, units, slabs, line_bytes, folder)


def _slabs(tree: Path, configured: KernelConfiguration, folder: str, cpus: int) -> SlabMachine | None:
    """The machine as SLUB sees it; ``None`` where another allocator is configured."""
    if not configured.has("SLUB") or configured.has("SLUB_TINY"):
        return None
    makefile = (source_bytes(tree, "Makefile") or b"").decode("utf-8", "replace")
    version = {match[1]: int(match[2]) for match in _VERSION.finditer(makefile)}
    release = version.get("VERSION", 6), version.get("PATCHLEVEL", 12)
    most = configured.number("NR_CPUS") if configured.has("SMP") else 1
    kinds = ("PAGE_SIZE", "ARM64", "PPC", "PAGE")
    sizes = (size for word, size in _PAGES if any(configured.has(f"{kind}_{word}") for kind in kinds))
    pages = next(sizes, 4096)
    machine = machine_of("aarch64" if folder == "arm64" else folder, release, min(cpus, most or cpus), pages)
    return replace(machine, word_bytes=8 if configured.has("64BIT") else 4)


# Work of which Python does as much as its children: each piece in a process of its own, on all CPUs that are ours.

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _PieceResult(Generic[_Result]):
    """What became of an item: ``results`` is one, or none where there was an ``error``."""

    results: tuple[_Result, ...] = ()
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class _RunningPiece:
    """The item of this number at work."""

    number: int
    pipe: Connection
    process: BaseProcess


def each_apart(function: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """``function`` of each item, in their order; what it gives or raises must be such as can be pickled.

    Raises what the first item raised of those that did, and then ends the others. A process that is forked has one
    thread: none of ours may run yet.
    """
    waiting = iter(enumerate(items))
    running: list[_RunningPiece] = []
    ended: dict[int, _PieceResult[_Result]] = {}
    try:
        while len(ended) < len(items):
            free = len(os.sched_getaffinity(0)) - len(running)
            for number, item in islice(waiting, free):
                running.append(_begun(function, number, item))
            ready = wait([one.pipe for one in running])
            for one in [one for one in running if one.pipe in ready]:
                ended[one.number] = _outcome(one)
                running.remove(one)
            _raise_first(ended)
        return [result for number in range(len(items)) for result in ended[number].results]
    finally:
        for one in running:
            one.process.terminate()
        for one in running:
            one.process.join()


def _begun(function: Callable[[_Item], _Result], number: int, item: _Item) -> _RunningPiece:
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(function, item, theirs, os.getpid()))
    process.start()
    theirs.close()
    return _RunningPiece(number, ours, process)


def _answer(function: Callable[[_Item], _Result], item: _Item, pipe: Connection, parent: int) -> None:
    die_with(parent)
    try:
        outcome = _PieceResult((function(item),))
    except KeyboardInterrupt:
        return
    except Exception as error:  # whatever it is, it is raised again where the caller can meet it
        outcome = _PieceResult(error=error)
    pipe.send(outcome)


def _outcome(one: _RunningPiece) -> _PieceResult[_Result]:
    try:
        outcome: _PieceResult[_Result] = one.pipe.recv()
    except EOFError:
        outcome = _PieceResult(error=VerificationFailed("a part of the work was killed; free memory, and try again"))
    one.process.join()
    return outcome


def _raise_first(ended: Mapping[int, _PieceResult[_Result]]) -> None:
    """Raise the error of the first item that has one, once all before it have ended."""
    for number in range(len(ended)):
        if number not in ended:
            return
        error = ended[number].error
        if error is not None:
            raise error
