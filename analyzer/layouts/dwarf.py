# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads layouts out of an ELF file: DWARF where there is any, else BTF, through the index cache."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from linesmith.analyzer import _native
from linesmith.analyzer.base import errors
from linesmith.analyzer.base.files import cache_directory, location
from linesmith.analyzer.layouts import store
from linesmith.analyzer.layouts.collection import Layouts, LayoutTable, flaw
from linesmith.analyzer.layouts.store import is_saved, read_saved
from linesmith.analyzer.model import ElfIdentity, Layout, Operand, Touched

Progress = Callable[[int, int], None]
AccessTable = _native.AccessTable

MOST_THREADS = 8
LONGEST_BUILD_ID = 64
# Bytes of the error that the program which reads an object may report; a path is at most 4096 of them.
LONGEST_REPORT = 1 << 15
_UNUSABLE = "cannot parse the debug information; the file is damaged"
_NATIVE_ERRORS = {kind.__name__: kind for kind in (errors.ElfError, errors.DebugInfoMissing, errors.DebugInfoDamaged)}


@dataclass(frozen=True, slots=True)
class CachePlace:
    """Where what is read from a file is kept: under which name, and what must hold for it to be used.

    Without a ``directory`` nothing is kept, and ``refusal`` says why.
    """

    directory: Path | None
    key: str
    stamp: store.Stamp
    refusal: str = ""


class _ReaderError(msgspec.Struct, frozen=True):
    error: Literal["ElfError", "DebugInfoMissing", "DebugInfoDamaged"]
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The layouts of one file, which reader (``DWARF`` or ``BTF``) gave them, and what there is to say about it.

    ``cached`` tells that the index was at hand; ``remarks`` are whole sentences for the user.
    """

    identity: ElfIdentity
    reader: str
    layouts: store.IndexedLayouts
    cached: bool
    remarks: tuple[str, ...] = ()


def identify(path: Path) -> ElfIdentity:
    """What the file is, from its headers; raises ``ElfError``, of a saved index too."""
    if is_saved(path):
        raise errors.ElfError(f"{path} is a saved index, which has layouts only; give the ELF file")
    return _identified(path)


def _identified(path: Path) -> ElfIdentity:
    if any("\udc80" <= letter <= "\udcff" for letter in str(path)):  # how Python keeps bytes that are no UTF-8
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise errors.ElfError(f"{shown}: the file name is not valid UTF-8; use another name (a link)")
    with _native_errors():
        return msgspec.json.decode(_native.identify(str(path)), type=ElfIdentity)


def core_versions() -> tuple[str, str, str]:
    """What compiled the native core, and the releases of libdw and capstone that it uses."""
    return _native.compiler_version(), _native.libdw_version(), _native.capstone_version()


def unwatched(done: int, total: int) -> None:
    """Progress nobody looks at; being called at all lets an interrupt end the reading."""


def read_layouts(path: Path, progress: Progress = unwatched) -> Reading:
    """Every record of ``path`` (or of its debug file, found by build-id), from the index if there is one.

    ``path`` may be an index that was saved, too.

    ``progress`` gets (bytes done, bytes in all) while the debug information is read. Raises ``ElfError``,
    ``DebugInfoMissing`` or ``DebugInfoDamaged``. An index that cannot be written is a remark, no error.
    """
    if is_saved(path):
        saved, layouts = read_saved(path)
        return Reading(saved.identity, saved.reader, layouts, cached=True)
    identity = _identified(path)
    reader = _reader(identity)
    place = cache_place(identity, reader)
    found = _loaded(place)
    if found is not None:
        return Reading(identity, reader, found, cached=True)
    with _native_errors():
        if reader == "BTF":
            table = _native.read_btf(str(path))
        else:
            table = _native.read_dwarf(str(path), _threads(), progress=progress)
    layouts = store.built(place.stamp, table.ids_by_name(), table.ends(), table.digests(), memoryview(table))
    remarks = keep_or_remark(place, lambda directory: store.save(directory, place.key, layouts))
    return Reading(identity, reader, layouts, cached=False, remarks=remarks)


def indexed(path: Path) -> Layouts | None:
    """The layouts of ``path`` if they have been read before; only its headers are looked at. Raises ``ElfError``."""
    identity = identify(path)
    if not location().is_dir():  # looking for an index makes no directory for it
        return None
    return _loaded(cache_place(identity, _reader(identity)))


def _loaded(place: CachePlace) -> store.IndexedLayouts | None:
    return store.load(place.directory, place.key, place.stamp) if place.directory else None


def map_accesses(path: Path, progress: Progress = unwatched) -> AccessTable:
    """What every instruction of ``path`` touches, made anew on all CPUs; raises as ``read_layouts`` does.

    Columns of equal length have a row for each access, by ascending address. ``kind`` and ``outcome`` count as
    ``AccessKind`` and ``AccessOutcome`` do. Row values refer to ``functions`` (with first and last address),
    ``inline_chains`` (outermost function first; 0 is no inlined code), ``files`` (0: not known), ``types`` (0: not
    known; with the id of the layout, -1 for what is no record) and ``variables`` (0: none). ``offset`` and ``width``
    are bytes.
    """
    with _native_errors():
        return _native.map_accesses(str(path), len(os.sched_getaffinity(0)), progress=progress)


@cache
def object_reader() -> Path:
    """The program that reads the DWARF of one object and opens no other file; raises ``ToolMissing``."""
    from importlib.metadata import distribution  # costs 20 ms, so only where it is needed

    path = Path(str(distribution("linesmith").locate_file("linesmith/analyzer/bin/linesmith-read-object")))
    if not os.access(path, os.X_OK):
        raise errors.ToolMissing(f"the program that reads objects is missing ({path}); install linesmith again")
    return path


def table_from_reader(output: bytes, status: int) -> LayoutTable:
    """The records that ``object_reader`` wrote, with its exit status (negative for a signal).

    The program has read what nobody has reviewed, so nothing that it wrote is trusted. Raises ``ElfError``,
    ``DebugInfoMissing`` or ``DebugInfoDamaged``: what it reports, or that it ended in another way.
    """
    if status:
        raise _reported(output, status)
    try:
        layouts = [msgspec.json.decode(line, type=Layout) for line in output.splitlines()]
    except (UnicodeDecodeError, RecursionError, msgspec.MsgspecError) as error:
        raise errors.DebugInfoDamaged(f"{_UNUSABLE}: invalid output") from error
    wrong = flaw(layouts)
    if wrong is not None:
        raise errors.DebugInfoDamaged(f"{_UNUSABLE}: {wrong}")
    return LayoutTable(layouts)


def _reported(output: bytes, status: int) -> errors.LinesmithError:
    """The error that the program wrote; where there is none, one that tells how it ended."""
    try:
        report = msgspec.json.decode(output[:LONGEST_REPORT], type=_ReaderError)
    except (UnicodeDecodeError, RecursionError, msgspec.MsgspecError):
        return errors.DebugInfoDamaged(f"{_UNUSABLE}: it ended with status {status}")
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in report.message)
    return _NATIVE_ERRORS[report.error](shown)


def touched(path: Path, functions: Sequence[str], prefixes: Sequence[str] = ()) -> tuple[Touched, ...]:
    """The records that the functions named (or with a name that begins with a prefix) can reach.

    Reads the DWARF itself, not the index; raises as ``read_layouts`` does.
    """
    with _native_errors():
        document = _native.read_touched(str(path), list(functions), list(prefixes), _threads())
    return msgspec.json.decode(document, type=tuple[Touched, ...])


def operands(path: Path, functions: Sequence[str], prefixes: Sequence[str] = ()) -> tuple[Operand, ...]:
    """The memory operands in the machine code of the functions named (or with a name that begins with a prefix).

    Empty where the file has no code (a separate debug file), no symbols, or is for neither x86-64 nor arm64.
    Displacements and widths are bytes. Raises ``ElfError``.
    """
    with _native_errors():
        document = _native.read_operands(str(path), list(functions), list(prefixes))
    return msgspec.json.decode(document, type=tuple[Operand, ...])


def _threads() -> int:
    return min(MOST_THREADS, len(os.sched_getaffinity(0)))


@contextmanager
def _native_errors() -> Iterator[None]:
    try:
        yield
    except _native.NativeError as error:
        kind, message = error.args
        raise _NATIVE_ERRORS[kind](message) from None


def _reader(identity: ElfIdentity) -> str:
    return "DWARF" if identity.has_dwarf or not identity.has_btf else "BTF"


def cache_place(identity: ElfIdentity, reader: str) -> CachePlace:
    """Where what ``reader`` (``DWARF`` or ``BTF``) finds in the file is kept.

    The key is the build-id where there is one, and a checksum of the path. Each copy of a build has an index of its
    own: a build-id is what a file says of itself, no proof of the same bytes.
    """
    source = Path(identity.debug_path or identity.path).resolve()
    facts, core = source.stat(), Path(_native.__file__).stat()
    stamp = store.Stamp(str(source), facts.st_size, facts.st_mtime_ns, f"{core.st_size:x}-{core.st_mtime_ns:x}")
    name = identity.build_id or "none"
    if len(name) > LONGEST_BUILD_ID:
        name = f"{zlib.crc32(name.encode()):08x}"
    key = f"{name}-{zlib.crc32(os.fsencode(stamp.path)):08x}-{stamp.size:x}-{reader.lower()}"
    try:
        return CachePlace(cache_directory(), key, stamp)
    except errors.CacheError as error:
        return CachePlace(None, key, stamp, str(error))


def keep_or_remark(place: CachePlace, save: Callable[[Path], None]) -> tuple[str, ...]:
    """Have ``save`` keep something in the directory of ``place``; a failure is a remark for the user."""
    if place.directory is None:
        return (f"cannot save the index, so the next run reads everything again: {place.refusal}",)
    try:
        save(place.directory)
    except OSError as error:
        reason = error.strerror or str(error)
        said = f"cannot save the index in {place.directory} ({reason}), so the next run reads everything again"
        return (f"{said}; set LINESMITH_CACHE_DIR to a directory that can be written",)
    return ()
