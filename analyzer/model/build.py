# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds: how a source tree becomes something to run, for which version of the source, and what came out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a tree is built; the tree is only read.

    ``builder`` names the plugin. ``configuration`` is a kernel's ``.config`` or, with a ``base`` target of Kbuild such
    as ``tinyconfig``, a fragment put on top of it. ``command`` is a line for the shell of a tree that has its own
    build; it runs in a copy of the tree. ``products`` are the files to keep, relative to that copy. ``jobs`` is make's
    ``-j``, ``seconds`` bounds one build.
    """

    builder: str
    tree: Path
    configuration: Path | None = None
    base: str = ""
    command: str = ""
    products: tuple[str, ...] = ()
    compiler: str = ""
    jobs: int = 0
    seconds: int = 3600


@dataclass(frozen=True, slots=True)
class Variant:
    """One version of the source: unified diffs to apply in order (none for the baseline).

    Another ``salt`` gives another build of the same source, whose layouts are the same: a placebo.
    """

    name: str
    patches: tuple[str, ...] = ()
    salt: int = 0


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a worker builds: ``warm`` is its own folder, kept between builds; ``artifacts`` is shared by all.

    An artifact is a folder named after the digest of all that went into it; it appears whole or not at all.
    """

    warm: Path
    artifacts: Path


@dataclass(frozen=True, slots=True)
class Built:
    """What a build left: ``products`` are its files by name (``vmlinux``, ``kernel``, or as the recipe names them).

    ``compiler`` is the first line of its ``--version``, ``configuration`` the digest of the configuration used,
    ``seconds`` the wall time, 0.0 where an earlier build was ``reused``. ``sources`` is the digest of the tree
    before any patch, which all builds of one run must share; empty where the builder does not tell.
    """

    key: str
    directory: Path
    products: tuple[tuple[str, Path], ...]
    compiler: str = ""
    configuration: str = ""
    commands: tuple[str, ...] = ()
    seconds: float = 0.0
    reused: bool = False
    sources: str = ""

    def product(self, name: str) -> Path:
        """The file of that name; raises ``KeyError``."""
        return dict(self.products)[name]
