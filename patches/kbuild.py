# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler flags of a kernel tree, from its own build or from one prepared in the user's cache directory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from linesmith.analyzer.errors import TreeError
from linesmith.patches.child import Command
from linesmith.patches.dry_make import unit_commands
from linesmith.patches.flags import Flags, from_cmd_file
from linesmith.patches.kconfig import Configuration, architecture, read_configuration
from linesmith.patches.preparation import Preparation, Wanted, changed_symbols, preparation, prepared
from linesmith.patches.preparation import Progress as Progress


@dataclass(frozen=True, slots=True)
class Build:
    """How units of one tree are compiled. ``tree`` is the root that include paths lead to (links perhaps).

    ``made_from`` names what decides the layouts: the configuration or the options. ``commands`` were run on the way.
    ``preparation`` is the directory in the cache where the flags come from such a one.
    """

    flags: Flags
    tree: Path
    is_kernel: bool
    made_from: str
    commands: tuple[Command, ...] = ()
    remarks: tuple[str, ...] = ()
    preparation: Preparation | None = None


def is_kernel(tree: Path) -> bool:
    """Whether ``tree`` is the root of a Linux source tree."""
    return (tree / "Kbuild").is_file() and (tree / "scripts" / "Makefile.build").is_file()


def kernel_build(tree: Path, build: Path | None, progress: Progress) -> Build:
    """The flags of a configured kernel tree; a build directory is prepared in the cache where the tree has none.

    Raises ``TreeError`` without a sound ``.config`` or when make fails, ``ToolMissing`` naming the package.
    """
    made = build or tree
    configuration = _configuration(tree, made)
    arch = architecture(configuration, tree)
    recorded = _recorded(made, arch)
    if recorded is not None:
        flags = from_cmd_file(recorded, made.resolve(), (tree, made))
        return Build(flags, tree.resolve(), True, f"{configuration.path} and its own build")
    own = _own(tree, configuration, arch)
    ready = prepared_build(own, str(configuration.path), progress)
    return replace(ready, remarks=ready.remarks + _changed(own))


def for_unit(build: Build, unit: str) -> Build:
    """``build`` with the flags of the unit itself, where Kbuild recorded them or says them; Makefiles can add some."""
    if not build.is_kernel or not unit.endswith(".c"):
        return build
    try:
        flags = _unit_flags(build, unit)
    except TreeError:
        return build
    return build if flags is None else replace(build, flags=flags)


def _unit_flags(build: Build, unit: str) -> Flags | None:
    path = PurePosixPath(unit)
    record = build.flags.directory / path.parent / f".{path.stem}.o.cmd"
    if record.is_file():
        return from_cmd_file(record, build.flags.directory, (build.tree, build.flags.directory))
    return unit_commands(build.preparation, _untold).flags(unit) if build.preparation else None


def _untold(_progress: str) -> None:
    """Takes seconds, and once."""


def planned(tree: Path, build: Path | None) -> tuple[Command, ...]:
    """The commands that ``kernel_build`` would run."""
    made = build or tree
    configuration = _configuration(tree, made)
    arch = architecture(configuration, tree)
    one = None if _recorded(made, arch) else _own(tree, configuration, arch)
    return () if one is None or one.is_warm else (one.command(),)


def _configuration(tree: Path, made: Path) -> Configuration:
    if not (made / ".config").exists():
        message = f"{made} has no .config; run make defconfig there, or name the build directory with --build"
        raise TreeError(message)
    if made is not tree and not made.is_dir():
        raise TreeError(f"{made} is no directory; --build takes the O= directory of a kernel build")
    return read_configuration(made / ".config")


def _recorded(made: Path, arch: str) -> Path | None:
    """Kbuild's record of the compiler call for asm-offsets, when it is not older than the configuration."""
    record = made / "arch" / arch / "kernel" / ".asm-offsets.s.cmd"
    offsets = made / "include" / "generated" / "asm-offsets.h"
    settings = made / "include" / "config" / "auto.conf"
    if not (record.is_file() and offsets.is_file() and settings.is_file()):
        return None
    current = settings.stat().st_mtime_ns >= (made / ".config").stat().st_mtime_ns
    return record if current else None


def _own(tree: Path, configuration: Configuration, arch: str) -> Preparation:
    return preparation(tree, Wanted(configuration, arch, arch))


def prepared_build(one: Preparation, made_from: str, progress: Progress) -> Build:
    """The flags of a directory in the cache, prepared if need be; ``made_from`` is what to call its configuration.

    Raises ``TreeError`` when make fails.
    """
    commands = prepared(one, progress)
    flags = from_cmd_file(one.record, one.output, (one.tree, one.root))
    return Build(flags, one.farm, True, f"{made_from}, prepared in {one.root}", commands, one.tools.remarks, one)


def _changed(one: Preparation) -> tuple[str, ...]:
    """What olddefconfig made of the configuration."""
    changed = changed_symbols(one)
    if not changed:
        return ()
    listed = ", ".join(changed[:5]) + (", …" if len(changed) > 5 else "")
    return (f"make olddefconfig changed {len(changed)} symbols of {one.wanted.configuration.path}: {listed}",)
