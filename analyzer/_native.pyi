# SPDX-License-Identifier: GPL-2.0-or-later
"""The seam to the native core; every JSON document decodes into a type of ``linesmith.analyzer.model``."""

from collections.abc import Callable, Sequence

class NativeError(Exception):
    """Failure of the native core; ``args`` is ``(kind, message)``.

    ``kind`` is the name of the class in ``errors`` that Python raises instead: ``ElfError``,
    ``DebugInfoMissing`` or ``DebugInfoDamaged``.
    """

class RecordTable:
    """Every record type of one file; ids are positions."""

    def __len__(self) -> int: ...
    def names(self) -> list[str]:
        """Names by id; ``""`` for anonymous records."""
    def json(self, id: int) -> bytes:  # noqa: A002 - the name that the native core gives it
        """Record ``id`` as a JSON object with the fields of ``model.Layout``."""
    def all_json(self) -> list[bytes]:
        """All records, by id."""

def identify(path: str, debug_directories: Sequence[str] = ...) -> bytes:
    """JSON of ``model.ElfIdentity``; reads headers only. A raw BTF file is identified too (kind ``"BTF"``)."""

def read_dwarf(
    path: str,
    threads: int,
    debug_directories: Sequence[str] = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> RecordTable:
    """All records of the DWARF in ``path``, or in the debug file found for it.

    ``progress`` gets (bytes done, bytes in all).
    """

def read_btf(path: str, base: str | None = ...) -> RecordTable:
    """All records of the ``.BTF`` section of an ELF file or of a raw BTF file.

    ``base`` is the BTF that a split BTF builds on.
    """

def read_touched(
    path: str,
    functions: Sequence[str],
    prefixes: Sequence[str],
    threads: int,
    debug_directories: Sequence[str] = ...,
) -> bytes:
    """JSON list of ``model.Touched`` for the functions named (and those whose names begin with a prefix)."""

def read_operands(
    path: str,
    functions: Sequence[str],
    prefixes: Sequence[str],
    debug_directories: Sequence[str] = ...,
) -> bytes:
    """JSON list of ``model.Operand`` for the functions named (and those whose names begin with a prefix)."""
