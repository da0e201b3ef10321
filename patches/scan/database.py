# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the compilations of a build: Kbuild's records, else compile_commands.json, else what make would run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from linesmith.analyzer.errors import ScanFailed, TreeError
from linesmith.patches.compile_commands import NAME, entries
from linesmith.patches.dry_make import unit_commands
from linesmith.patches.kbuild import is_kernel, kernel_build
from linesmith.patches.scan.kbuild_commands import kbuild_units
from linesmith.patches.scan.unit import Database, Unit


def database(tree: Path, build: Path | None, tell: Callable[[str], None]) -> Database:
    """The compilations of the sources below ``tree``, built there or in ``build``.

    A kernel that is only configured is asked how it would be compiled. Raises ``ScanFailed`` where no compilations can
    be had, or where they are of another tree.
    """
    made = build or tree
    recorded = next((place / NAME for place in dict.fromkeys((made, tree)) if (place / NAME).is_file()), None)
    units = tuple(kbuild_units(made)) if is_kernel(tree) else ()
    title = f"Kbuild's records in {made}"
    if not units and recorded is not None:
        units, title = tuple(_entries(recorded)), str(recorded)
    if not units and is_kernel(tree):
        return _asked(tree, build, tell)
    if not units:
        raise ScanFailed(
            f"{made} has no {NAME}; let cmake, meson or bear write it, and name its directory with --build"
        )
    own = tuple(_of_tree(units, tree, made))
    if not own:
        raise ScanFailed(
            f"{title} are of other sources ({units[0].file}) than {tree}; give --tree the sources that were built"
        )
    generated = (build,) if build else (tree / "include" / "generated", *(tree / "arch").glob("*/include/generated"))
    return Database(tree.resolve(), made.resolve(), own, title, builds=generated)


def _asked(tree: Path, build: Path | None, tell: Callable[[str], None]) -> Database:
    """What make would compile of a kernel that has no objects."""
    try:
        made = kernel_build(tree, build, tell)
        if made.preparation is None:
            raise ScanFailed(f"{build or tree} has no compiled objects; build the kernel there")
        known = unit_commands(made.preparation, tell)
    except TreeError as error:
        raise ScanFailed(f"there is nothing that says how {tree} is compiled: {error}") from error
    image, origin = made.preparation.farm, known.directory / "Makefile"
    units = (Unit(f"{image}/{unit}", known.directory, command, origin) for unit, command in known.commands.items())
    builds = (known.directory, image)
    return Database(tree.resolve(), known.directory, tuple(units), "what make would run", image, builds)


def _prefixes(place: Path) -> tuple[str, ...]:
    return tuple(f"{root}{os.sep}" for root in dict.fromkeys((place.resolve(), place.absolute())))


def _of_tree(units: Sequence[Unit], tree: Path, made: Path) -> Iterator[Unit]:
    """The units whose files are there, each once with each command; of generated ones those that lie in the build."""
    roots, generated = _prefixes(tree), _prefixes(made)
    seen: set[tuple[str, object]] = set()
    if not any(unit.file.startswith(roots) for unit in units):
        return
    for unit in units:
        key = unit.file, unit.command
        if unit.file.startswith((*roots, *generated)) and key not in seen and Path(unit.file).is_file():
            seen.add(key)
            yield unit


def _entries(recorded: Path) -> Iterator[Unit]:
    try:
        known = entries(recorded)
    except TreeError as error:
        raise ScanFailed(str(error)) from error
    for entry in known:
        directory = (recorded.parent / entry.directory).absolute()
        file = os.path.normpath(directory / entry.file)
        if file.endswith(".c"):
            yield Unit(file, directory, entry.arguments or entry.command, recorded)
