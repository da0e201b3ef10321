# SPDX-License-Identifier: GPL-2.0-or-later
"""How the files of two versions are compiled: as the first of them is built."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from linesmith.analyzer.errors import TreeError
from linesmith.patches.flags import Flags
from linesmith.patches.kbuild import is_kernel
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.matrix.kernels import TREE as OWN
from linesmith.patches.matrix.kernels import kernel_environment
from linesmith.patches.matrix.programs import TREE, program_environment
from linesmith.patches.preparation import Progress
from linesmith.patches.tree import Tree

_DEFAULTS = {"x86_64": "x86_64", "aarch64": "arm64", "i686": "i386", "ppc64le": "powerpc", "s390x": "s390"}
_OWN_MAKEFILES = ("tools/", "samples/", "scripts/")
_TAKES_PATH = ("-include", "-imacros", "-isystem", "-idirafter", "-iquote")

EnvironmentOf = Callable[[str], Environment]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the user says of the compile: ``tree`` with its build directory and options, and a kernel's configuration.

    ``configuration`` is a file, ``None`` for the ``.config`` of the build or the tree, or what the machine's defconfig
    gives where there is none. ``cpus`` is the number of CPUs that slabs are worked out for. Where a ``name`` is given,
    it is that configuration of the matrix instead.
    """

    tree: Tree
    configuration: Path | None
    cpus: int
    name: str = ""


def environments(root: Path, recipe: Recipe, progress: Progress) -> EnvironmentOf:
    """How a file below ``root``, where the first version lies, is compiled; the answer may raise ``TreeError``.

    One answer serves all files of a kernel.
    """
    sources = Tree(root, recipe.tree.build, recipe.tree.cflags)
    name = "" if recipe.name == OWN else recipe.name

    @lru_cache(maxsize=1)
    def kernel() -> Environment:
        if name:
            made = Tree(root, (recipe.tree.build or recipe.tree.root).resolve(), recipe.tree.cflags)
            return kernel_environment(name, made, recipe.cpus, progress)
        return kernel_environment(_configuration(root, recipe), sources, recipe.cpus, progress)

    @cache
    def program(file: str) -> Environment:
        unit = file if file.endswith(".c") else None
        found = program_environment(TREE if is_kernel(root) else name or TREE, sources, file, unit)
        flags = moved(found.build.flags, recipe.tree.root.resolve(), root)
        return replace(found, build=replace(found.build, flags=flags))

    def of(file: str) -> Environment:
        if is_kernel(root) and not file.startswith(_OWN_MAKEFILES):
            return kernel()
        return program(file)

    return of


def readable(environment: Environment, root: Path, build: Path | None) -> tuple[Path, ...]:
    """What a compiler has to read there: sources, without git's own files, and what make has generated."""
    prepared = environment.build.preparation
    made = (prepared.root,) if prepared else ()
    return (*_inside(root), *made, *(_inside(build) if build else ()))


def moved(flags: Flags, old: Path, new: Path) -> Flags:
    """The flags with places below ``old`` looked for below ``new`` first; what is only in ``old`` is generated."""
    return flags if old == new else replace(flags, options=tuple(_moved(flags, old, new)))


def _moved(flags: Flags, old: Path, new: Path) -> Iterator[str]:
    options = iter(flags.options)
    for option in options:
        if option in _TAKES_PATH:
            place = flags.directory / next(options, "")
            image = _image(place, old, new)
            if option in ("-include", "-imacros"):
                yield from (option, str(image or place))
            else:
                yield from (part for one in (image, place) if one for part in (option, str(one)))
        elif option.startswith("-I"):
            place = flags.directory / option[2:]
            yield from (f"-I{one}" for one in (_image(place, old, new), place) if one)
        else:
            yield option


def _image(place: Path, old: Path, new: Path) -> Path | None:
    normal = Path(os.path.normpath(place))
    if not normal.is_relative_to(old):
        return None
    image = new / normal.relative_to(old)
    return image if image.exists() else None


def _inside(folder: Path) -> Iterator[Path]:
    """What lies in the folder itself, without git's files, in which there may be passwords."""
    root = folder.resolve()
    for place in sorted(root.iterdir()):
        if place.name != ".git" and place.resolve().is_relative_to(root):
            yield place


def _configuration(root: Path, recipe: Recipe) -> str:
    """The name of the configuration: a file, the build that the tree itself has, or what the machine defaults to."""
    if recipe.configuration:
        return str(recipe.configuration.resolve())
    made = (recipe.tree.build or recipe.tree.root).resolve()
    if not (made / ".config").is_file():
        return _default()
    return OWN if root == recipe.tree.root.resolve() else str(made / ".config")


def _default() -> str:
    machine = os.uname().machine
    if machine not in _DEFAULTS:
        raise TreeError(f"there is no configuration, and none is known for {machine}; name a file with --kconfig")
    return _DEFAULTS[machine]
