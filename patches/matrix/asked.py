# SPDX-License-Identifier: GPL-2.0-or-later
"""What is to be checked: a change, and the configurations and machines to check it on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linesmith.analyzer.model import FileChange, Layout, Residual
from linesmith.patches.deadline import Deadline

# A machine that a server is; it decides how many objects SLUB wants in a slab.
CPUS = 64


@dataclass(frozen=True, slots=True)
class Change:
    """All files that a change touches, and the record it is about; without one only units are compiled.

    ``title`` is the ``record`` as C names it, ``file`` declares it, ``unit`` is a unit that knows it. ``pairs`` are
    members to be parted, ``holders`` records of the ELF file that embed the record, ``others`` names of more records
    to be measured. ``prefer`` names units, relative to the tree, that are compiled before others. ``granules`` are the
    bytes between the places at which objects of the record start before and after, 0 where only its alignment tells.
    """

    files: tuple[FileChange, ...]
    record: str = ""
    title: str = ""
    file: str = ""
    unit: str | None = None
    pairs: tuple[Residual, ...] = ()
    holders: tuple[Layout, ...] = ()
    others: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    granules: tuple[int, int] = (0, 0)

    @property
    def before(self) -> dict[str, bytes | None]:
        """The files as they are."""
        return {one.file: one.before for one in self.files}

    @property
    def after(self) -> dict[str, bytes | None]:
        """The files as changed."""
        return {one.file: one.after for one in self.files}


@dataclass(frozen=True, slots=True)
class Asked:
    """Configurations by name; under each so many ``users`` are compiled, objects that see the change (``None``: all).

    ``cpus`` is the number of CPUs that slabs are worked out for. ``deadlines`` gives what make and the compiles of each
    configuration count against: a new one for each, where the user named them.
    """

    names: tuple[str, ...]
    users: int | None = 0
    cpus: int = CPUS
    deadlines: Callable[[], Deadline] = Deadline
