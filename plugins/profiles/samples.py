# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples one by one: columns, of which those beyond some millions are kept in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import IO, Protocol

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.model import FileMapping

# ``address`` is 0 where there is none, ``cpu`` and ``pid`` are -1 where they are not known, ``weight`` is the latency,
# 0 where there is none. Lines of two samples are one only if their ``space`` is the same: 0 for the kernel and all that
# processes share. ``code`` is a number of ``Samples.code``, 0 for nothing but the address.
SAMPLE = np.dtype(
    [
        ("address", "u8"),
        ("ip", "u8"),
        ("source", "u8"),
        ("weight", "u4"),
        ("cpu", "i4"),
        ("pid", "i4"),
        ("space", "u4"),
        ("code", "u4"),
        ("mode", "u1"),
    ],
    align=True,
)
Rows = NDArray[np.void]
_BATCH = 1 << 18
# As many lie in memory, some 350 MB; the others in a file.
_MOST_HELD = 1 << 23


class Mode(IntEnum):
    """Where the CPU was, as perf counts it (``PERF_RECORD_MISC_CPUMODE``)."""

    UNKNOWN = 0
    KERNEL = 1
    USER = 2
    HYPERVISOR = 3
    GUEST_KERNEL = 4
    GUEST_USER = 5


class Places(Protocol):
    """What lies where in the processes of the samples."""

    def host_of(self, space: int) -> int | None:
        """The process whose addresses the lines of a space have; ``None`` for the kernel's."""

    def object_at(self, pid: int | None, address: int) -> str | None:
        """The file that the code at an address lies in; ``None`` for a process stands for the kernel."""

    def files_of(self, pids: set[int]) -> tuple[FileMapping, ...]:
        """The mappings of files in these processes."""


class NoPlaces:
    """Places of samples that tell of no mappings: every process has its own memory."""

    def host_of(self, space: int) -> int | None:
        """The process with the number of the space."""
        return space - 1 if space else None

    def object_at(self, pid: int | None, address: int) -> str | None:  # noqa: ARG002 - nothing is known
        """Nothing."""
        return None

    def files_of(self, pids: set[int]) -> tuple[FileMapping, ...]:  # noqa: ARG002 - nothing is known
        """Nothing."""
        return ()


@dataclass(frozen=True, slots=True)
class Code:
    """What the source of the samples knows of an instruction beside its address."""

    function: str | None = None
    object_file: str | None = None
    callers: tuple[str, ...] = ()


@dataclass(slots=True)
class Samples:
    """Samples on their way into a profile; ``unread``, ``lost`` and ``guest`` are those that are not among them."""

    code: list[Code] = field(default_factory=lambda: [Code()])
    commands: dict[int, str] = field(default_factory=dict)
    unread: int = 0
    lost: int = 0
    guest: int = 0
    _file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    _held: list[Rows] = field(default_factory=list)
    _room: int = _MOST_HELD
    _pending: list[tuple[object, ...]] = field(default_factory=list)
    _numbers: dict[Code, int] = field(default_factory=lambda: {Code(): 0})

    def add(
        self,
        address: int | None,
        source: int,
        ip: int | None,
        weight: int | None = None,
        cpu: int | None = None,
        pid: int | None = None,
        code: Code = Code(),
        mode: Mode = Mode.UNKNOWN,
    ) -> None:
        """Add one sample; ``source`` is its ``perf_mem_data_src``. Numbers beyond their column are cut to it."""
        number = self._numbers.setdefault(code, len(self.code))
        if number == len(self.code):
            self.code.append(code)
        known = -1 if pid is None else pid & 0x7FFFFFFF
        space = known + 1 if mode is Mode.USER else 0
        self._pending.append(
            (
                (address or 0) & _WORD,
                (ip or 0) & _WORD,
                source & _WORD,
                min(weight or 0, 0xFFFFFFFF),
                -1 if cpu is None else cpu & 0x7FFFFFFF,
                known,
                space,
                number,
                mode,
            )
        )
        if len(self._pending) >= _BATCH:
            self._flush()

    def add_rows(self, rows: Rows) -> None:
        """Add many samples at once, an array of ``SAMPLE``."""
        self._flush()
        self._keep(rows)

    def batches(self) -> Iterator[Rows]:
        """All samples, some at a time; may be asked for again."""
        self._flush()
        yield from self._held
        self._file.seek(0)
        while data := self._file.read(_BATCH * SAMPLE.itemsize):
            yield np.frombuffer(data, SAMPLE)
        self._file.seek(0, 2)

    def _keep(self, rows: Rows) -> None:
        """In memory as long as there are few."""
        if self._room > len(rows):
            self._held.append(rows)
            self._room -= len(rows)
        else:
            self._room = 0
            self._file.write(rows.tobytes())

    def _flush(self) -> None:
        if self._pending:
            self._keep(np.array(self._pending, SAMPLE))
            self._pending.clear()


_WORD = (1 << 64) - 1
