# SPDX-License-Identifier: GPL-2.0-or-later
"""What a 64-bit ELF file says of itself: its segments, its notes, what its loader needs, its symbols.

The file may be damaged or made to harm: every table is read once, every place is checked against the end of the file,
and notes and names that lie over one another end the reading, so that all takes linear time. What is wrong is raised as
``ValueError`` without a path; who asked knows what to give instead. Source: System V ABI, chapters 4 and 5, and elf(5).
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from linesmith.analyzer.base.errors import ElfError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linesmith.analyzer.model import ElfIdentity

MAGIC = b"\x7fELF"
_LITTLE_ENDIAN_64 = MAGIC + b"\x02\x01"
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP, _PT_NOTE = 1, 2, 3, 4
_PN_XNUM = 0xFFFF
_DT_STRTAB = 5
_SHT_SYMTAB, _SHT_DYNSYM = 2, 11
_SHF_EXECINSTR = 4
_STT_NOTYPE, _STT_OBJECT, _STT_FUNC, _STT_GNU_IFUNC = 0, 1, 2, 10
NOTE_HEADER = struct.Struct("<III")
_NT_GNU_BUILD_ID = 3
_SEGMENT_BYTES, _SECTION_BYTES = 56, 64
# What is read of tables, notes and names may lie over other parts, but no linker lays so much over itself.
_MOST_SHARED = 16


@dataclass(frozen=True, slots=True)
class Segment:
    """One program header; offsets in the file, addresses and sizes in bytes.

    The first ``file_bytes`` of the ``memory_bytes`` at ``address`` are those from ``offset`` on.
    """

    kind: int
    offset: int
    address: int
    physical: int
    file_bytes: int
    memory_bytes: int

    @property
    def is_loaded(self) -> bool:
        """Whether the bytes are mapped when the file is run."""
        return self.kind == _PT_LOAD


@dataclass(frozen=True, slots=True)
class _ElfSection:
    kind: int
    flags: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True, slots=True)
class Note:
    """One note; ``address`` is where the program has its header."""

    owner: bytes
    kind: int
    content: bytes
    address: int

    @property
    def is_build_id(self) -> bool:
        """Whether the content is the GNU build-id."""
        return (self.owner, self.kind) == (b"GNU", _NT_GNU_BUILD_ID)


def notes_in(content: bytes, address: int = 0) -> Iterator[Note]:
    """The notes in a segment, or in ``/sys/kernel/notes``; a damaged one ends it."""
    at = 0
    while at + NOTE_HEADER.size <= len(content):
        owner_bytes, size, kind = NOTE_HEADER.unpack_from(content, at)
        owner = at + NOTE_HEADER.size
        begin = owner + (owner_bytes + 3 & ~3)
        if begin + size > len(content):
            return
        name = content[owner : owner + owner_bytes].rstrip(b"\0")
        yield Note(name, kind, content[begin : begin + size], address + at)
        at = begin + (size + 3 & ~3)


def build_id_in_hex(notes: str) -> str | None:
    """The GNU build-id among notes, all in hex; ``None`` without one, and for text that is no hex."""
    with suppress(ValueError):
        return next((one.content.hex() for one in notes_in(bytes.fromhex(notes)) if one.is_build_id), None)
    return None


def is_elf(path: Path) -> bool:
    """Whether the file at ``path`` begins as every ELF file does."""
    with path.open("rb") as file:
        return file.read(4) == MAGIC


class ElfFile:
    """A file in memory, as ``data``; to be used as a context."""

    def __init__(self, path: Path) -> None:
        """Raises ``OSError``, and ``ValueError`` for an empty file; what the content is, is seen when it is read."""
        self.path = path
        with path.open("rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.data.close()

    @property
    def is_little_endian_64(self) -> bool:
        """Whether it is a 64-bit little-endian ELF file."""
        return self.data[:6] == _LITTLE_ENDIAN_64

    @cached_property
    def order(self) -> str:
        """The order of bytes as ``struct`` and numpy write it, ``<`` or ``>``."""
        if self.data[:5] != _LITTLE_ENDIAN_64[:5]:
            raise ValueError("it is not a 64-bit ELF file")
        return "<" if self.data[5:6] == b"\x01" else ">"

    @property
    def kind_and_machine(self) -> tuple[int, int]:
        """``e_type`` and ``e_machine``."""
        kind, machine = self._numbers("HH", 16)
        return kind, machine

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Every program header."""
        table, sections = self._numbers("QQ", 32)
        size, count = self._numbers("HH", 54)
        if count == _PN_XNUM:
            (count,) = self._numbers("I", sections + 44)
        if count and size < _SEGMENT_BYTES:
            raise ValueError(f"its program headers have {size} bytes")
        rows = (self._numbers("IIQQQQQ", table + number * size) for number in range(count))
        found = tuple(Segment(kind, *places) for kind, _, *places in rows)
        read = sum(min(one.file_bytes, len(self.data)) for one in found if one.kind in (_PT_NOTE, _PT_DYNAMIC))
        if read > _MOST_SHARED * len(self.data):
            raise ValueError("its notes overlap each other")
        return found

    def content(self, segment: Segment) -> bytes:
        """The bytes of a segment that are in the file."""
        return self.data[segment.offset : segment.offset + segment.file_bytes]

    @property
    def loads(self) -> tuple[Segment, ...]:
        """The segments that are mapped when the file is run."""
        return tuple(one for one in self.segments if one.is_loaded)

    @property
    def note_segments(self) -> tuple[Segment, ...]:
        """The segments that hold notes."""
        return tuple(one for one in self.segments if one.kind == _PT_NOTE)

    def notes(self) -> Iterator[Note]:
        """Every note of the segments."""
        for one in self.note_segments:
            yield from notes_in(self.content(one), one.address)

    @property
    def build_id(self) -> Note | None:
        """The note of the GNU build-id."""
        return next((note for note in self.notes() if note.is_build_id), None)

    @property
    def interpreter(self) -> str | None:
        """The loader that the file asks for."""
        return next((self._text(one.offset) for one in self.segments if one.kind == _PT_INTERP), None)

    def dynamic_texts(self, *tags: int) -> tuple[str, ...]:
        """The texts of the dynamic section under any of the tags (``DT_NEEDED``, ...), in its order."""
        entries = []
        for one in (segment for segment in self.segments if segment.kind == _PT_DYNAMIC):
            end = min(one.offset + one.file_bytes, len(self.data))
            entries += [self._numbers("QQ", place) for place in range(one.offset, end - 15, 16)]
        address = next((value for tag, value in entries if tag == _DT_STRTAB), None)
        if address is None:
            return ()
        for one in self.loads:
            if one.address <= address < one.address + one.file_bytes:
                begin = one.offset + address - one.address
                return tuple(self._text(begin + value) for tag, value in entries if tag in tags)
        raise ValueError(f"address {address:#x} is in no loaded segment")

    def symbols(self, segments: tuple[Segment, ...] | None = None) -> ElfSymbols:
        """The symbols of the first table that has any: ``.symtab``, else ``.dynsym``; without one, none.

        They go with the ``segments`` of another file where this one has the symbols of that.
        """
        import numpy as np  # costs 60 ms, so only where it is needed

        loads = self.loads if segments is None else segments
        form = np.dtype([(name, self.order + kind) for name, kind in _SYMBOL_FIELDS])
        sections = self._sections()
        code = [number for number, one in enumerate(sections) if one.flags & _SHF_EXECINSTR]
        for kind in (_SHT_SYMTAB, _SHT_DYNSYM):
            for one in sections:
                if one.kind == kind and one.size and one.link < len(sections):
                    names = sections[one.link]
                    count = min(one.size, max(len(self.data) - one.offset, 0)) // form.itemsize
                    table = np.frombuffer(self.data[one.offset : one.offset + count * form.itemsize], form)
                    text = self.data[names.offset : names.offset + names.size] + b"\0"
                    return ElfSymbols(table, text, loads, code)
        return ElfSymbols(np.empty(0, form), b"\0", loads, code)

    def _sections(self) -> tuple[_ElfSection, ...]:
        (table,) = self._numbers("Q", 40)
        size, count = self._numbers("HH", 58)
        if table and count and size < _SECTION_BYTES:
            raise ValueError(f"its section headers have {size} bytes")
        rows = (self._numbers("IIQQQQI", table + number * size) for number in range(count if table else 0))
        return tuple(_ElfSection(kind, flags, *places) for _, kind, flags, _, *places in rows)

    def _numbers(self, form: str, at: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(self.order + form, self.data, at)
        except (struct.error, OverflowError) as error:
            raise ValueError(str(error)) from error

    def _text(self, offset: int) -> str:
        end = self.data.find(b"\0", offset) if 0 <= offset < len(self.data) else -1
        if end < 0:
            raise ValueError(f"text at offset {offset:#x} does not end")
        return self.data[offset:end].decode("utf-8", "surrogateescape")


_SYMBOL_FIELDS = (("name", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2"), ("value", "u8"), ("size", "u8"))


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """A named range of addresses, in bytes; ``size`` is 0 where the table does not say."""

    name: str
    address: int
    size: int


class ElfSymbols:
    """The symbols that a file defines, by name and by address, with the ``segments`` that are loaded of it.

    ``rows`` is how many its table has, those included that it only uses.
    """

    def __init__(
        self, table: NDArray[np.void], names: bytes, segments: tuple[Segment, ...], code_sections: list[int]
    ) -> None:
        self.rows = len(table)
        self._table = table[(table["section"] != 0) & (table["name"] != 0)]
        self._names = names
        self._code_sections = code_sections
        self.segments = segments

    def address_of(self, name: str) -> int | None:
        """Where the symbol called ``name`` begins; the first of several."""
        return next((one.address for one in self.called(name)), None)

    def called(self, name: str) -> tuple[ElfSymbol, ...]:
        """Every symbol of that name."""
        # Linkers let a name be the end of a longer one, so that each place where it ends a string counts.
        text, found = name.encode() + b"\0", []
        ordered, rows = self._by_name
        at = self._names.find(text)
        while at >= 0:
            first, last = ordered.searchsorted((at, at + 1))
            found += [self._symbol(row) for row in rows[first:last]]
            at = self._names.find(text, at + 1)
        return tuple(found)

    def function_at(self, address: int) -> ElfSymbol | None:
        """The function that holds the code at an address."""
        starts, rows = self._functions
        number = bisect_right(starts, address) - 1
        found = self._symbol(rows[number]) if number >= 0 else None
        return found if found and address < found.address + max(found.size, 1) else None

    def objects(self, name: str) -> tuple[ElfSymbol, ...]:
        """Every variable of that name that lies at one address; not those that each thread has."""
        return tuple(one for one in self.called(name) if one in self.variables(one.address, one.address + 1))

    def variables(self, begin: int, end: int) -> Iterator[ElfSymbol]:
        """The variables that reach into a range of addresses; only those with a size are known."""
        starts, rows = self._variables
        first = max(bisect_right(starts, begin) - 1, 0)
        for row in rows[first : bisect_right(starts, end - 1)]:
            found = self._symbol(row)
            if found.address < end and begin < found.address + found.size:
                yield found

    def split(self) -> tuple[tuple[ElfSymbol, ...], tuple[ElfSymbol, ...]]:
        """Those in executable sections, labels of assembly among them, and the variables elsewhere.

        What marks code and data within a section (``$x``) is left out. Raises ``ValueError``.
        """
        import numpy as np

        kind = self._table["info"] & 0xF
        in_code = np.isin(self._table["section"], self._code_sections)
        typed = np.isin(kind, (_STT_FUNC, _STT_GNU_IFUNC, _STT_OBJECT))
        found: tuple[list[ElfSymbol], list[ElfSymbol]] = ([], [])
        left = _MOST_SHARED * (self._table.nbytes + len(self._names))
        for chosen, rows in zip(found, (in_code & (typed | (kind == _STT_NOTYPE)), typed & ~in_code), strict=True):
            for name, _, _, _, address, size in self._table[rows].tolist():
                text = self._name(name)
                left -= len(text)
                if left < 0:
                    raise ValueError("the names of its symbols overlap")
                if text and not text.startswith("$"):
                    chosen.append(ElfSymbol(text, address, size))
        return tuple(found[0]), tuple(found[1])

    @cached_property
    def _by_name(self) -> tuple[NDArray[np.uint32], NDArray[np.void]]:
        rows = self._table[self._table["name"].argsort(kind="stable")]
        return rows["name"].copy(), rows

    @cached_property
    def _functions(self) -> tuple[list[int], NDArray[np.void]]:
        kind = self._table["info"] & 0xF
        return _by_address(self._table[(kind == _STT_FUNC) | (kind == _STT_GNU_IFUNC)])

    @cached_property
    def _variables(self) -> tuple[list[int], NDArray[np.void]]:
        kind = self._table["info"] & 0xF
        return _by_address(self._table[(kind == _STT_OBJECT) & (self._table["size"] > 0)])

    def _symbol(self, row: np.void) -> ElfSymbol:
        return ElfSymbol(self._name(int(row["name"])), int(row["value"]), int(row["size"]))

    def _name(self, begin: int) -> str:
        return self._names[begin : self._names.find(b"\0", begin)].decode("utf-8", "replace")


def _by_address(rows: NDArray[np.void]) -> tuple[list[int], NDArray[np.void]]:
    """The start of each row, and the rows; of several at one address the largest comes last, and is found."""
    import numpy as np

    ordered = rows[np.lexsort((rows["size"], rows["value"]))]
    return ordered["value"].tolist(), ordered


def read_symbols(identity: ElfIdentity) -> ElfSymbols:
    """The symbols of a file or, where it is stripped, of its debug file; without any, none. Raises ``ElfError``.

    Segments are those of the file itself.
    """
    found = _symbols(Path(identity.path))
    if found.rows or not identity.debug_path:
        return found
    return _symbols(Path(identity.debug_path), found.segments)


def _symbols(path: Path, segments: tuple[Segment, ...] | None = None) -> ElfSymbols:
    try:
        with ElfFile(path) as file:
            return file.symbols(segments)
    except (OSError, ValueError) as error:
        raise ElfError(f"{path}: its symbols cannot be read ({error}); give the file as it was built") from error
