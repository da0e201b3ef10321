# SPDX-License-Identifier: GPL-2.0-or-later
"""The seam to the native core; every JSON document decodes into a type of ``linesmith.analyzer.model``."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

class NativeError(Exception):
    """Failure of the native core; ``args`` is ``(kind, message)``.

    ``kind`` is the name of the class in ``errors`` that Python raises instead: ``ElfError``,
    ``DebugInfoMissing`` or ``DebugInfoDamaged``.
    """

class RecordTable:
    """Every record type of one file; ids are positions.

    As a buffer it has the records one behind the other, each a JSON object with the fields of ``model.Layout``.
    """

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def ends(self) -> tuple[int, ...]:
        """Where the document of each record ends in the buffer, by id."""
    def ids_by_name(self) -> dict[str, tuple[int, ...]]:
        """The ids of the records called so, those that most units use first; anonymous records have no name."""
    def digests(self) -> bytes:
        """As many bytes for each record, by id; equal for two records, also of two files, with the same layout."""
    def all_json(self) -> list[bytes]:
        """The documents, by id."""

class AccessTable:
    """The access map of one file, with the fields of ``access.raw.RawAccesses``.

    Arrays are read-only views that keep the table; lists are made anew at each call.
    """

    @property
    def address(self) -> NDArray[np.uint64]: ...
    @property
    def function(self) -> NDArray[np.uint32]: ...
    @property
    def inlined(self) -> NDArray[np.uint32]: ...
    @property
    def file(self) -> NDArray[np.uint32]: ...
    @property
    def line(self) -> NDArray[np.uint32]: ...
    @property
    def type(self) -> NDArray[np.uint32]: ...
    @property
    def offset(self) -> NDArray[np.int32]: ...
    @property
    def width(self) -> NDArray[np.uint16]: ...
    @property
    def kind(self) -> NDArray[np.uint8]: ...
    @property
    def outcome(self) -> NDArray[np.uint8]: ...
    @property
    def variable(self) -> NDArray[np.uint32]: ...
    @property
    def handed(self) -> AccessTable: ...
    @property
    def functions(self) -> list[str]: ...
    @property
    def function_low(self) -> NDArray[np.uint64]: ...
    @property
    def function_high(self) -> NDArray[np.uint64]: ...
    @property
    def inline_chains(self) -> list[list[str]]: ...
    @property
    def files(self) -> list[str]: ...
    @property
    def types(self) -> list[str]: ...
    @property
    def type_layout(self) -> NDArray[np.int64]: ...
    @property
    def variables(self) -> list[str]: ...
    @property
    def statics(self) -> list[str]: ...
    @property
    def static_address(self) -> NDArray[np.uint64]: ...
    @property
    def static_bytes(self) -> NDArray[np.uint64]: ...
    @property
    def static_element(self) -> NDArray[np.uint64]: ...
    @property
    def static_layout(self) -> NDArray[np.int64]: ...
    @property
    def static_of_thread(self) -> NDArray[np.uint8]: ...

def compiler_version() -> str:
    """What compiled the native core, such as ``GCC 12.2.0``."""

def libdw_version() -> str:
    """The release of the libdw that is loaded."""

def capstone_version() -> str:
    """The release of the capstone that is loaded."""

def identify(path: str, debug_directories: Sequence[str] = ...) -> bytes:
    """JSON of ``model.ElfIdentity``; reads headers only. A raw BTF file is identified too (kind ``"BTF"``)."""

def read_dwarf(
    path: str, threads: int, debug_directories: Sequence[str] = ..., progress: Callable[[int, int], None] | None = ...
) -> RecordTable:
    """All records of the DWARF in ``path``, or in the debug file found for it.

    ``progress`` gets (bytes done, bytes in all).
    """

def map_accesses(
    path: str, threads: int, debug_directories: Sequence[str] = ..., progress: Callable[[int, int], None] | None = ...
) -> AccessTable:
    """What every instruction of ``path`` touches; ``progress`` gets (done, total)."""

def read_btf(path: str, base: str | None = ...) -> RecordTable:
    """All records of the ``.BTF`` section of an ELF file or of a raw BTF file.

    ``base`` is the BTF that a split BTF builds on.
    """

def read_touched(
    path: str, functions: Sequence[str], prefixes: Sequence[str], threads: int, debug_directories: Sequence[str] = ...
) -> bytes:
    """JSON list of ``model.Touched`` for the functions named (and those whose names begin with a prefix)."""

def read_operands(
    path: str, functions: Sequence[str], prefixes: Sequence[str], debug_directories: Sequence[str] = ...
) -> bytes:
    """JSON list of ``model.Operand`` for the functions named (and those whose names begin with a prefix)."""

def is_plain(document: bytes) -> bool:
    """Whether all numbers of a MessagePack document are from 0 to 2^64 - 1, and its texts printable ASCII.

    False also for a damaged one, and for one with values that no profile has.
    """
