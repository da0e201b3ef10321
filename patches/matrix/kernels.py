# SPDX-License-Identifier: GPL-2.0-or-later
"""The configurations of a kernel tree: its own, that with other options, and those that make writes by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.model import CACHE_LINE_BYTES, SlabMachine
from linesmith.analyzer.slab.kernel import machine_of
from linesmith.patches.build.kbuild import TreeBuild, kernel_build, prepared_build
from linesmith.patches.build.kconfig import KernelConfiguration, architecture, own_configuration, read_configuration
from linesmith.patches.build.preparation import PreparationRequest, Progress, preparation
from linesmith.patches.matrix.choice import Environment, UnitsFound
from linesmith.patches.matrix.units import Units, planned_units, recorded_units
from linesmith.patches.source.tree import Tree, source_bytes

_LOCK_DEBUGGING = (
    "DEBUG_KERNEL", "PROVE_LOCKING", "LOCK_STAT", "DEBUG_SPINLOCK", "DEBUG_MUTEXES", "DEBUG_RWSEMS", "DEBUG_LOCK_ALLOC",
    "DEBUG_ATOMIC_SLEEP", "DEBUG_VM", "DEBUG_LIST", "DEBUG_OBJECTS",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class KernelRecipe:
    """How a configuration comes about: the tree's own, or what ``target`` writes for ``machine``; then ``fragment``.

    ``needs`` are symbols that must be as said at the end; ``title`` is what a reader knows the result by.
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
