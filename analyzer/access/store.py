# SPDX-License-Identifier: GPL-2.0-or-later
"""What is stored next to the index of layouts: the access map of a file, and the answers about a profile of it.

A map is a prefix (magic, checksum and length of the head), the head (msgpack: stamp, checksum of the body, and where
which column lies), then the columns, each aligned for its type. What does not check out counts as absent.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.access.access_map import AccessMap, NameTable, as_arrays, from_arrays
from linesmith.analyzer.base.errors import CodeMissing, DebugInfoMissing
from linesmith.analyzer.layouts import dwarf, store
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import Reading, cache_place
from linesmith.analyzer.layouts.leaves import leaves_within
from linesmith.analyzer.model import ElfIdentity, Entered, Layout, Profile

# Counts up when the columns, or what Python fills them with, become others; the stamp tells other native cores.
FORMAT = b"linesmith-map-03"
SUFFIX = ".access"
ALIGNMENT = 64
MACHINES = ("x86-64", "aarch64")
# What a place is: the path of the member there, and the records that its bytes fall into.
_Content = tuple[str, tuple[Entered, ...]]
_NOTHING: _Content = ("", ())


@dataclass(frozen=True, slots=True, eq=False)
class AccessReading:
    """The map of one file; ``cached`` tells that it was at hand, ``remarks`` are whole sentences for the user."""

    identity: ElfIdentity
    accesses: AccessMap
    cached: bool
    remarks: tuple[str, ...] = ()


def read_accesses(path: Path, progress: dwarf.Progress = dwarf.unwatched) -> AccessReading:
    """What every instruction of ``path`` touches; ``progress`` gets (done, total) while the map is made.

    The ids of layouts are those of ``dwarf.read_layouts``. Raises ``ElfError``, ``DebugInfoMissing``,
    ``DebugInfoDamaged``, or ``CodeMissing`` where there is no code to look at. A map that cannot be kept is a remark,
    no error.
    """
    identity = dwarf.identify(path)
    _check(identity)
    place = dwarf.cache_place(identity, "DWARF")
    accesses = load(place.directory, place.key, place.stamp) if place.directory else None
    if accesses is not None:
        return AccessReading(identity, accesses, cached=True)
    table = dwarf.map_accesses(path, progress)
    if not table.functions:
        raise CodeMissing(f"{path}: has no code; give the executable, not its debug file")
    layouts = dwarf.read_layouts(path).layouts
    accesses = replace(build(table, layouts), handed=build(table.handed, layouts))
    remarks = dwarf.keep_or_remark(place, lambda directory: save(directory, place.key, place.stamp, accesses))
    return AccessReading(identity, accesses, cached=False, remarks=remarks)


def accesses_if_any(path: Path) -> AccessMap | None:
    """The access map of ``path``; ``None`` where none can be made, so that weaker evidence must do."""
    try:
        return read_accesses(path).accesses
    except (CodeMissing, DebugInfoMissing):
        return None


def _check(identity: ElfIdentity) -> None:
    """Raise what is known without reading the file."""
    if identity.kind == "BTF" or (identity.has_btf and not identity.has_dwarf):
        raise DebugInfoMissing(
            f"{identity.path}: has BTF but no DWARF, which is needed to locate variables; give a file built with -g,"
            " or install its debug package"
        )
    if identity.machine not in MACHINES:
        raise CodeMissing(
            f"{identity.path}: code for {identity.machine} cannot be analyzed, only code for"
            f" {' and '.join(MACHINES)}; linesmith layout works"
        )


def build(table: dwarf.AccessTable, layouts: Layouts) -> AccessMap:
    """The map of what the native core found; ``layouts`` are those of the same reading of the same file."""
    places = _places(table.type, table.offset, table.width)
    ids = table.type_layout[places.type].tolist()
    content = [
        _content(layouts.by_id(layout_id), layouts, offset, width) if number and layout_id >= 0 else _NOTHING
        for number, (layout_id, offset, width) in enumerate(
            zip(ids, places.offset.tolist(), places.width.tolist(), strict=True)
        )
    ]
    functions = table.functions
    place_starts, place_rows = _grouped(places.of_row, len(places.type))
    function_starts, function_rows = _grouped(table.function, len(functions))
    chain_starts, chain_functions, inlined = _chains(table.inline_chains)
    entry_layout, entry_place, entry_offset, entry_path, paths = _entries(places, content)
    return AccessMap(
        address=table.address,
        function=table.function,
        chain=table.inlined,
        file=table.file,
        line=table.line,
        place=places.of_row,
        width=table.width,
        kind=table.kind,
        outcome=table.outcome,
        variable=table.variable,
        place_type=places.type,
        place_offset=places.offset,
        place_width=places.width,
        place_starts=place_starts,
        place_rows=place_rows,
        entry_layout=entry_layout,
        entry_place=entry_place,
        entry_offset=entry_offset,
        entry_path=entry_path,
        function_low=table.function_low,
        function_high=table.function_high,
        function_starts=function_starts,
        function_rows=function_rows,
        chain_starts=chain_starts,
        chain_functions=chain_functions,
        static_address=table.static_address,
        static_bytes=table.static_bytes,
        static_element=table.static_element,
        static_layout=table.static_layout,
        static_of_thread=table.static_of_thread,
        functions=NameTable.of(functions),
        inlined=inlined,
        files=NameTable.of(table.files),
        types=NameTable.of(table.types),
        variables=NameTable.of(table.variables),
        statics=NameTable.of(table.statics),
        place_path=NameTable.of(path for path, _ in content),
        paths=paths,
    )


@dataclass(frozen=True, slots=True)
class TouchedPlaces:
    """Distinct (type, offset, width) of rows; ``of_row`` tells the one of each row. Place 0 is what is not known."""

    of_row: NDArray[np.uint32]
    type: NDArray[np.uint32]
    offset: NDArray[np.int32]
    width: NDArray[np.uint16]


def _places(types: NDArray[np.uint32], offset: NDArray[np.int32], width: NDArray[np.uint16]) -> TouchedPlaces:
    """The places of rows with these types, offsets and widths, by type and offset."""
    where = (types.astype(np.uint64) << np.uint64(32)) | offset.view(np.uint32).astype(np.uint64)
    _, spot_of_row = np.unique(where, return_inverse=True)
    keys = (spot_of_row.astype(np.uint64) << np.uint64(16)) | width.astype(np.uint64)
    keys[types == 0] = 0
    _, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
    known = types[first] != 0
    numbers = np.where(known, np.cumsum(known), 0).astype(np.uint32)
    chosen = first[known]
    return TouchedPlaces(
        numbers[of_row],
        np.concatenate((np.zeros(1, np.uint32), types[chosen])),
        np.concatenate((np.zeros(1, np.int32), offset[chosen])),
        np.concatenate((np.zeros(1, np.uint16), width[chosen])),
    )


def _content(layout: Layout, layouts: Layouts, offset: int, width: int) -> _Content:
    """What ``width`` bytes at ``offset`` of ``layout`` are; a hole falls into the record itself, nothing else does."""
    leaves = tuple(leaves_within(layout, layouts, offset, width))
    if leaves:
        entered = dict.fromkeys(one for leaf in leaves for one in leaf.entered)
        return leaves[0].path if leaves[0].offset <= offset else "", tuple(entered)
    return ("", (Entered(layout.id, 0, ""),)) if 0 <= offset < layout.size else _NOTHING


def _grouped(group: NDArray[np.uint32], groups: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Where each group starts in the list of all rows by group, and that list; rows of a group stay in order."""
    starts = np.zeros(groups + 1, np.uint64)
    np.cumsum(np.bincount(group, minlength=groups), out=starts[1:])
    return starts, np.argsort(group, kind="stable").astype(np.uint32)


def _chains(inline_chains: Sequence[Sequence[str]]) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NameTable]:
    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(name, len(numbers)) for name in chain.from_iterable(inline_chains)]
    starts = np.zeros(len(inline_chains) + 1, np.uint64)
    np.cumsum([len(one) for one in inline_chains], out=starts[1:])
    return starts, np.array(flat, np.uint32), NameTable.of(numbers)


def _entries(
    places: TouchedPlaces, content: Sequence[_Content]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint32], NameTable]:
    """(layout, place, offset into the record, path of the record) of every record that a place falls into."""
    paths: dict[str, int] = {"": 0}
    rows = [
        (entered.record, place, offset - entered.offset, paths.setdefault(entered.path, len(paths)))
        for place, ((_, records), offset) in enumerate(zip(content, places.offset.tolist(), strict=True))
        for entered in records
    ]
    table = np.array(rows, np.int64).reshape(-1, 4)
    layout, place, offset, path = table[np.argsort(table[:, 0], kind="stable")].T
    return (
        layout.astype(np.uint32),
        place.astype(np.uint32),
        offset.astype(np.int32),
        path.astype(np.uint32),
        NameTable.of(paths),
    )


class _MapColumn(msgspec.Struct, frozen=True, array_like=True):
    """``offset`` counts bytes from the start of the body."""

    name: str
    type: str
    offset: int
    length: int


class _MapHead(msgspec.Struct, frozen=True, array_like=True):
    stamp: store.Stamp
    columns: tuple[_MapColumn, ...]
    body_crc: int


def save(directory: Path, key: str, stamp: store.Stamp, accesses: AccessMap) -> None:
    """Keep the map under ``key``; raises ``OSError`` when the directory cannot be written."""
    columns, parts, at, checksum = [], [], 0, 0
    for name, array in as_arrays(accesses).items():
        data = np.ascontiguousarray(array)
        content = data.view(np.uint8).data
        columns.append(_MapColumn(name, data.dtype.str, at, len(data)))
        for part in (content, bytes(-data.nbytes % ALIGNMENT)):
            checksum = zlib.crc32(part, checksum)
            parts.append(part)
            at += len(part)
    begin = store.prefixed(FORMAT, msgspec.msgpack.encode(_MapHead(stamp, tuple(columns), checksum)))
    store.keep(directory, key + SUFFIX, (begin, bytes(-len(begin) % ALIGNMENT), *parts))


def load(directory: Path, key: str, stamp: store.Stamp) -> AccessMap | None:
    """The map kept under ``key`` if it is sound and made of what ``stamp`` says; ``None`` otherwise."""
    path = directory / (key + SUFFIX)
    try:
        with path.open("rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        head, body = _head_and_columns(content)
        if head.stamp != stamp or zlib.crc32(body) != head.body_crc:
            return None
        columns = {one.name: np.frombuffer(body, np.dtype(one.type), one.length, one.offset) for one in head.columns}
        accesses = from_arrays(columns)
    except (OSError, ValueError, KeyError, msgspec.MsgspecError):
        return None
    with suppress(OSError):
        os.utime(path)  # the least recently used file is the first to go
    return accesses


def _head_and_columns(content: memoryview) -> tuple[_MapHead, memoryview]:
    """Head and body; raises ``ValueError`` where the head is not what was written."""
    encoded, rest = store.head_and_body(content, FORMAT)
    gap = (len(rest) - len(content)) % ALIGNMENT
    if any(rest[:gap]):
        raise ValueError(gap)
    return msgspec.msgpack.decode(encoded, type=_MapHead), rest[gap:]


# What was found about a profile and a build, so that the next command begins where one ended. The name of a file is a
# digest of all that an answer depends on: the profile, the layouts, the file that they are of, what was asked, and the
# code of the product. A file that is damaged or gone is an answer to be found again.

_ANSWER_FORMAT = b"linesmith-found1"
_ANSWER_SUFFIX = ".found"
_DIGEST_BYTES = 16
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """The answers about one profile and one build, in a ``directory``; ``premises`` are a digest of these two."""

    directory: Path
    premises: bytes

    def load(self, question: Iterable[object], answer: type[T]) -> T | None:
        """The answer to a question, if it is there and sound."""
        path = self.directory / self._name(question)
        try:
            encoded, _ = store.head_and_body(path.read_bytes(), _ANSWER_FORMAT)
            found = msgspec.msgpack.decode(encoded, type=answer)
        except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
            return None
        with suppress(OSError):
            os.utime(path)  # the least recently used file is the first to go
        return found

    def keep(self, question: Iterable[object], answer: object) -> None:
        """Have the answer at hand; where it cannot be kept, or is of numbers that cannot, it is found again."""
        with suppress(OSError, OverflowError, TypeError, UnicodeEncodeError):
            store.keep(
                self.directory, self._name(question), (store.prefixed(_ANSWER_FORMAT, msgspec.msgpack.encode(answer)),)
            )

    def _name(self, question: Iterable[object]) -> str:
        asked = repr(tuple(question)).encode("utf-8", "replace")
        return blake2b(self.premises + asked, digest_size=_DIGEST_BYTES).hexdigest() + _ANSWER_SUFFIX


def kept_answers(reading: Reading, profile: Profile, lines: bytes, *options: object) -> KeptAnswers | None:
    """Those about the ``profile``, whatever it is called, and the build of ``reading``; ``options`` matter to all.

    ``lines`` are a digest that stands for those of the profile, if any. ``None`` where none can be kept.
    """
    place = cache_place(reading.identity, reading.reader)
    if place.directory is None or reading.layouts.head.stamp != place.stamp:
        return None
    digest = blake2b(repr((place.stamp, reading.layouts.head.body_crc, _code(), options)).encode("utf-8", "replace"))
    try:
        digest.update(lines + msgspec.msgpack.encode(replace(profile, source="", lines=() if lines else profile.lines)))
    except (OverflowError, UnicodeEncodeError):  # a number that only JSON can hold, or half of a character
        return None
    return KeptAnswers(place.directory, digest.digest())


@cache
def _code() -> tuple[tuple[str, int, int], ...]:
    """What tells one state of our own code and data from another: a new release, or an edited file, may answer else."""
    product, native = Path(__file__).parents[2], find_spec("linesmith.analyzer._native")
    places = [f"{part}/*/*.{kind}" for part in ("analyzer", "patches", "plugins", "tuner") for kind in ("py", "txt")]
    files = [path for place in places for path in sorted(product.glob(place))]
    files += Path(native.origin).parents[1].glob("*/_*.so") if native is not None and native.origin else []
    return tuple((path.name, facts.st_size, facts.st_mtime_ns) for path in files if (facts := path.stat()))
