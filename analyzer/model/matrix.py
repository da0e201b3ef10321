# SPDX-License-Identifier: GPL-2.0-or-later
"""What compilers make of a change under other configurations and on other machines than the one profiled."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model.candidate import Residual
from linesmith.analyzer.model.lines import CACHE_LINE_BYTES


@dataclass(frozen=True, slots=True)
class CompiledSize:
    """A record as compiled; ``size`` and ``alignment`` in bytes, ``lines`` of 64 bytes (or what the machine has).

    ``objects`` fit into a slab of ``pages`` pages; both are 0 where objects lie in no slab that is known. Objects start
    at multiples of ``step`` bytes, which a slab cache may have fewer than the alignment; 0 where nothing is known.
    """

    size: int
    alignment: int
    lines: int
    objects: int
    pages: int
    step: int = 0


@dataclass(frozen=True, slots=True)
class CompiledRecord:
    """``record`` before and after the change, ``None`` where it is not there; ``cache`` is the slab cache it is in.

    ``holder`` tells that it embeds the record that is changed.
    """

    record: str
    before: CompiledSize | None
    after: CompiledSize | None
    holder: bool = False
    cache: str = ""


@dataclass(frozen=True, slots=True)
class CompiledUser:
    """An object that includes the change, compiled before and after: ``warnings`` are those that are new.

    ``failed`` is the first error, empty where it compiles; warnings of what fails are not told.
    """

    unit: str
    warnings: tuple[str, ...] = ()
    failed: str = ""


@dataclass(frozen=True, slots=True)
class ConfigurationCheck:
    """One column of the matrix: ``title`` is what a reader knows the configuration by, ``compiler`` its version line.

    ``records`` begin with the one that is changed; ``residuals`` are the pairs that the change parts. ``failed`` says
    why nothing could be compiled; ``remarks`` what differs from what was asked for. ``users`` were compiled as well.
    ``left_out`` says what of this configuration was not compiled, or cannot be, and why. The ``lines`` of records are
    of ``line_bytes``, which the machine has. ``unjudged`` are the files that the deadline left out.
    """

    title: str
    compiler: str = ""
    records: tuple[CompiledRecord, ...] = ()
    residuals: tuple[Residual, ...] = ()
    users: tuple[CompiledUser, ...] = ()
    failed: str = ""
    remarks: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    line_bytes: int = CACHE_LINE_BYTES
    unjudged: tuple[str, ...] = ()
