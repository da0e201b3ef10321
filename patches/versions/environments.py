# SPDX-License-Identifier: GPL-2.0-or-later
"""How the files of two versions are compiled: as the first of them is built."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

from linesmith.analyzer.errors import TreeError
from linesmith.patches.deadline import Deadline
from linesmith.patches.flags import Flags
from linesmith.patches.kbuild import is_kernel
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.matrix.kernels import TREE as OWN
from linesmith.patches.matrix.kernels import kernel_environment
from linesmith.patches.matrix.programs import TREE, program_environment
from linesmith.patches.plain_build import seen_by_compilers
from linesmith.patches.preparation import Progress
from linesmith.patches.tree import Tree

_DEFAULTS = {"x86_64": "x86_64", "aarch64": "arm64", "i686": "i386", "ppc64le": "powerpc", "s390x": "s390"}
_OWN_MAKEFILES = ("tools/", "samples/", "scripts/")
_TAKES_PATH = ("-include", "-imacros", "-isystem", "-idirafter", "-iquote")

EnvironmentOf = Callable[[str], Environment]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the user says of the compile: ``tree`` with its build directory and options, and the configuration.

    ``configuration`` is a file, ``None`` for the ``.config`` of the build, else of the first version, else what the
    machine's defconfig gives. ``cpus`` is the number of CPUs that slabs are worked out for. Where a ``name`` is given,
    it is that configuration of the matrix instead. ``deadline`` is for everything, make included.
    """

    tree: Tree
    configuration: Path | None
    cpus: int
    name: str = ""
    deadline: Deadline = field(default_factory=Deadline)


def environments(root: Path, recipe: Recipe, progress: Progress) -> EnvironmentOf:
    """How a file below ``root``, where the first version lies, is compiled; the answer may raise ``TreeError``.

    One answer serves all files of a kernel.
    """
    sources = Tree(root, recipe.tree.build, recipe.tree.cflags)
    name = "" if recipe.name == OWN else recipe.name

    @lru_cache(maxsize=1)
    def kernel() -> Environment:
        found = kernel_environment(name or _configuration(root, recipe), sources, recipe.cpus, progress)
        return replace(found, build=replace(found.build, remarks=(*found.build.remarks, *_unused(root, recipe))))

    @lru_cache(maxsize=1)
    def seen() -> tuple[Path, ...]:
        return seen_by_compilers(sources)

    @cache
    def program(file: str) -> Environment:
        unit = file if file.endswith(".c") else None
        found = program_environment(TREE if is_kernel(root) else name or TREE, sources, seen(), file, unit)
        flags = moved(found.build.flags, recipe.tree.root.resolve(), root)
        return replace(found, build=replace(found.build, flags=flags))

    def of(file: str) -> Environment:
        if is_kernel(root) and not file.startswith(_OWN_MAKEFILES):
            return kernel()
        return program(file)

    return of


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


def _configuration(root: Path, recipe: Recipe) -> str:
    """The name of the configuration: a file, that of the build or of the first version, or the machine's default."""
    if recipe.configuration:
        return str(recipe.configuration.resolve())
    made = (recipe.tree.build or root).resolve()
    if not (made / ".config").is_file():
        return _default()
    return OWN if root == recipe.tree.root.resolve() else str(made / ".config")


def _unused(root: Path, recipe: Recipe) -> Iterator[str]:
    """That the checkout's ``.config`` decides nothing, for the change may have brought it."""
    own = recipe.tree.root.resolve()
    named = recipe.configuration or recipe.tree.build
    if own != root and not named and (own / ".config").is_file():
        yield f"{own / '.config'} was not used, because it may be part of the change; --kconfig names a configuration"


def _default() -> str:
    machine = os.uname().machine
    if machine not in _DEFAULTS:
        raise TreeError(f"there is no configuration, and none is known for {machine}; name a file with --kconfig")
    return _DEFAULTS[machine]
