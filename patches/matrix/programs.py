# SPDX-License-Identifier: GPL-2.0-or-later
"""The configurations of a tree that is no kernel: its own flags, those of debugging and of release, other machines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from linesmith.patches.child import missing
from linesmith.patches.flags import Flags
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.matrix.units import Units, recorded_units
from linesmith.patches.plain_build import plain_build
from linesmith.patches.preparation import Progress
from linesmith.patches.tree import Tree

_MOST_SOURCES = 4000
_ABOUT_THE_MACHINE = ("-m", "-target=", "--target=", "-fcf-protection")


@dataclass(frozen=True, slots=True)
class Variant:
    """How flags differ from the tree's own: another ``compiler``, without options that begin as those ``dropped``."""

    title: str
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    compiler: str = ""


TREE = "tree"
VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        TREE: Variant("own flags"),
        "debug": Variant("-O0", ("-O0", "-UNDEBUG"), ("-O", "-DNDEBUG")),
        "release": Variant("-O2 -DNDEBUG", ("-O2", "-DNDEBUG"), ("-O", "-UNDEBUG")),
        "i386": Variant("-m32", ("-m32",), _ABOUT_THE_MACHINE),
        "arm64": Variant("arm64", (), _ABOUT_THE_MACHINE, "aarch64-linux-gnu-gcc"),
    }
)
MATRIX = tuple(VARIANTS)


def program_environment(name: str, tree: Tree, seen: Sequence[Path], file: str, unit: str | None) -> Environment:
    """The variant called ``name`` for ``file``, which ``unit`` includes; ``seen`` is what a compiler may read.

    Raises ``TreeError`` or ``ToolMissing``.
    """
    variant = VARIANTS[name]
    build = plain_build(tree, seen, file, unit)
    if variant.compiler and shutil.which(variant.compiler) is None:
        raise missing(variant.compiler)

    def units(tell: Progress) -> Units:
        found = recorded_units(tree.root, tree.build, tell)
        if not found.names:
            return Units(tuple(_sources(tree.root)), lambda _: varied.flags)
        return replace(found, flags_of=lambda one: _varied(found.flags_of(one), variant))

    varied = replace(build, flags=_with(build.flags, variant))
    return Environment(variant.title, varied, units)


def _sources(root: Path) -> Iterator[str]:
    """C files of a tree that has no record of its units; a few thousand are enough."""
    found = (path for path in root.rglob("*.c") if path.is_file())
    return (str(path.relative_to(root)) for path in islice(found, _MOST_SOURCES))


def _varied(flags: Flags | None, variant: Variant) -> Flags | None:
    return None if flags is None else _with(flags, variant)


def _with(flags: Flags, variant: Variant) -> Flags:
    options = (*_kept(flags.options, variant.dropped), *variant.added)
    return replace(flags, compiler=variant.compiler or flags.compiler, options=options)


def _kept(options: Sequence[str], dropped: tuple[str, ...]) -> list[str]:
    return [option for option in options if not (dropped and option.startswith(dropped))]
