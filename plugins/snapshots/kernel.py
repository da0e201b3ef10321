# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens the memory of a kernel together with its debug information as one drgn program.

drgn wants the kernel's own description of itself, VMCOREINFO (Documentation/admin-guide/kdump/vmcoreinfo.rst). The dump
of a guest has it as a note only when the guest wrote it to QEMU. It lies in memory all the same, unless the kernel was
built without kexec: then it is made here, from the variables that vmlinux names.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import drgn

from linesmith.analyzer.base.errors import DebugInfoMissing, SnapshotError

LIVE = Path("/proc/kcore")

_PT_LOAD, _PT_NOTE, _ET_CORE, _NT_GNU_BUILD_ID, _PN_XNUM = 1, 4, 4, 3, 0xFFFF
_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
_NOTE_HEADER = struct.Struct("<III")
# A note's owner, padded to four bytes: the text of VMCOREINFO stands behind it.
_OWNER = b"VMCOREINFO\0\0"
_MOST_BYTES = 64 * 1024
_START_KERNEL_MAP = 0xFFFF_FFFF_8000_0000
_ADDRESS_MASK = (1 << 64) - 1
_SECTION_BITS = 27
_SECTIONS_PER_ROOT = 256
_BANNER = re.compile(rb"Linux version (\S+)")

# Address and size in bytes of a symbol of vmlinux; raises LookupError.
SymbolTable = Callable[[str], tuple[int, int]]


def opened(memory: Path, vmlinux: Path) -> drgn.Program:
    """The kernel ``vmlinux`` over its ``memory``: an ELF core file, or ``/proc/kcore`` for the running kernel.

    Raises ``SnapshotError`` when they do not belong together or cannot be read, ``DebugInfoMissing`` when
    ``vmlinux`` has no DWARF.
    """
    with ElfFile(vmlinux) as kernel:
        program = _live() if memory.resolve() == LIVE else _dumped(memory, kernel)
        _expect_build_id(program, kernel, memory)
    try:
        program.load_debug_info([vmlinux])
    except drgn.MissingDebugInfoError as error:
        raise DebugInfoMissing(f"{vmlinux} has no DWARF; give the vmlinux with debug information") from error
    if program.main_module().debug_file_status != drgn.ModuleFileStatus.HAVE:
        raise DebugInfoMissing(f"{vmlinux} has no DWARF; give the vmlinux with debug information")
    return program


def _live() -> drgn.Program:
    program = drgn.Program()
    try:
        program.set_kernel()
    except (OSError, ValueError) as error:
        raise SnapshotError(
            f"cannot read the running kernel from {LIVE}: {error}; that takes root and CONFIG_PROC_KCORE"
        ) from error
    return program


def _dumped(memory: Path, kernel: ElfFile) -> drgn.Program:
    linked = drgn.Program()
    linked.extra_module(str(kernel.path), create=True).try_file(kernel.path, force=True)

    def find(name: str) -> tuple[int, int]:
        symbol = linked.symbol(name)
        return symbol.address, symbol.size

    with ElfFile(memory) as dump:
        if dump.kind != _ET_CORE:
            raise SnapshotError(f"{memory} is no memory dump but another ELF file; give what dump-guest-memory wrote")
        text = vmcoreinfo_of(dump, kernel, find)
    program = drgn.Program(vmcoreinfo=text)
    try:
        program.set_core_dump(memory)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"drgn cannot read {memory}: {error}; write it again") from error
    return program


def _expect_build_id(program: drgn.Program, kernel: ElfFile, memory: Path) -> None:
    # drgn creates the main module with the first one that is asked for.
    next(iter(program.loaded_modules()), None)
    found, note = program.main_module().build_id, kernel.build_id
    if found is not None and note is not None and found != note.content:
        raise SnapshotError(
            f"{memory} is the memory of the kernel with the build-id {found.hex()}, not of {kernel.path} "
            f"({note.content.hex()}); give the vmlinux of that kernel"
        )


@dataclass(frozen=True, slots=True)
class DumpSegment:
    """One program header; offsets, addresses and sizes in bytes."""

    kind: int
    offset: int
    virtual: int
    physical: int
    file_size: int


@dataclass(frozen=True, slots=True)
class Note:
    """One note; ``virtual`` is the address at which the program has its header."""

    owner: bytes
    kind: int
    content: bytes
    virtual: int


class ElfFile:
    """A mapped 64-bit little-endian ELF file; close it by leaving its context. Format: System V ABI, chapters 4, 5."""

    def __init__(self, path: Path) -> None:
        """Maps ``path``; raises ``SnapshotError`` when it is no ELF file of this kind or its segments are cut off."""
        self.path = path
        try:
            with path.open("rb") as file:
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is empty"
            raise SnapshotError(
                f"cannot read {path}: {reason}; name a memory dump and the vmlinux of its kernel"
            ) from error
        try:
            self.kind, self.segments = _segments(self.data, path)
        except BaseException:
            self.data.close()
            raise

    def __enter__(self) -> ElfFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.data.close()

    @property
    def build_id(self) -> Note | None:
        """The note of the GNU build-id."""
        return next((note for note in self.notes() if (note.owner, note.kind) == (b"GNU", _NT_GNU_BUILD_ID)), None)

    def notes(self) -> Iterator[Note]:
        """Every note of the ``PT_NOTE`` segments; a damaged one ends its segment."""
        for segment in self.segments:
            if segment.kind == _PT_NOTE:
                yield from _notes_in(self.data[segment.offset : segment.offset + segment.file_size], segment.virtual)

    def find(self, pattern: bytes) -> Iterator[int]:
        """Physical addresses at which the loaded segments hold ``pattern``."""
        for segment in self._loads():
            end = segment.offset + segment.file_size
            position = self.data.find(pattern, segment.offset, end)
            while position >= 0:
                yield position - segment.offset + segment.physical
                position = self.data.find(pattern, position + 1, end)

    def physical(self, address: int, size: int) -> bytes:
        """``size`` bytes of physical memory; raises ``SnapshotError`` when the dump does not hold them all."""
        for segment in self._loads():
            start = address - segment.physical
            if start >= 0 and start + size <= segment.file_size:
                return self.data[segment.offset + start : segment.offset + start + size]
        raise SnapshotError(f"{self.path} holds no memory at the physical address {address:#x}; dump the guest again")

    def _loads(self) -> Iterator[DumpSegment]:
        return (segment for segment in self.segments if segment.kind == _PT_LOAD)


def _segments(data: mmap.mmap, path: Path) -> tuple[int, tuple[DumpSegment, ...]]:
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < _ELF_HEADER.size:
        raise SnapshotError(
            f"{path} is no 64-bit little-endian ELF file; QEMU's dump-guest-memory writes memory as one (format elf), "
            "and a kernel build its vmlinux"
        )
    header = _ELF_HEADER.unpack_from(data)
    kind, table, section_table, entry_size, count = header[1], header[5], header[6], header[9], header[10]
    try:
        if count == _PN_XNUM:
            count = struct.unpack_from("<I", data, section_table + 44)[0]
        rows = (_PROGRAM_HEADER.unpack_from(data, table + index * entry_size) for index in range(count))
        segments = tuple(DumpSegment(row[0], *row[2:6]) for row in rows)
    except (struct.error, OverflowError) as error:
        raise SnapshotError(f"{path} is cut off within its program headers; write it again") from error
    end = max((segment.offset + segment.file_size for segment in segments), default=0)
    if end > len(data):
        raise SnapshotError(f"{path} is cut off: it has {len(data)} of {end} bytes; write it again (is the disk full?)")
    return kind, segments


def _notes_in(content: bytes, virtual: int) -> Iterator[Note]:
    position = 0
    while position + _NOTE_HEADER.size <= len(content):
        owner_size, size, kind = _NOTE_HEADER.unpack_from(content, position)
        owner = position + _NOTE_HEADER.size
        start = owner + owner_size + -owner_size % 4
        if start + size > len(content):
            return
        name = content[owner : owner + owner_size].rstrip(b"\0")
        yield Note(name, kind, content[start : start + size], virtual + position)
        position = start + size + -size % 4


def vmcoreinfo_of(dump: ElfFile, vmlinux: ElfFile, symbols: SymbolTable) -> bytes:
    """The text of VMCOREINFO that belongs to the kernel ``vmlinux`` in the memory ``dump``.

    Raises ``SnapshotError`` when the memory is another kernel's.
    """
    build_id = vmlinux.build_id
    if build_id is None:
        raise SnapshotError(
            f"{vmlinux.path} has no build-id; give the vmlinux of the dumped kernel, not stripped of it"
        )
    others = []
    for text in _texts_in(dump):
        found = value_of(text, "BUILD-ID")
        if found is None or found == build_id.content.hex():
            return text
        others.append(found)
    # Some kernels wrote a wrong BUILD-ID, so the note itself has the last word.
    note = _NOTE_HEADER.pack(4, len(build_id.content), _NT_GNU_BUILD_ID) + b"GNU\0" + build_id.content
    for address in dump.find(note):
        made = _made(_MemoryImage(dump, address - build_id.virtual, symbols))
        if made is not None:
            return made
    owner = (
        f"is the memory of the kernel with the build-id {others[0]}" if others else "is no memory of a running kernel"
    )
    raise SnapshotError(
        f"{dump.path} {owner}, not of {vmlinux.path} ({build_id.content.hex()}); give the vmlinux of the dumped kernel"
    )


def value_of(text: bytes, key: str) -> str | None:
    """The value of ``key`` in the lines ``KEY=value`` of VMCOREINFO."""
    match = re.search(rb"^" + re.escape(key.encode()) + rb"=(.*)$", text, re.MULTILINE)
    return match and match[1].decode("ascii", "replace")


def _texts_in(dump: ElfFile) -> Iterator[bytes]:
    """VMCOREINFO in the notes of the file itself, then what lies in the memory."""
    yield from (note.content for note in dump.notes() if note.owner == b"VMCOREINFO")
    for address in dump.find(_OWNER):
        owner_size, size, kind = _NOTE_HEADER.unpack(dump.physical(address - _NOTE_HEADER.size, _NOTE_HEADER.size))
        if (owner_size, kind) == (len("VMCOREINFO") + 1, 0) and 0 < size <= _MOST_BYTES:
            text = dump.physical(address + len(_OWNER), size)
            if text.startswith(b"OSRELEASE="):
                yield text


class _MemoryImage:
    """A kernel image in memory: ``delta`` is physical minus linked address, in bytes."""

    def __init__(self, dump: ElfFile, delta: int, symbols: SymbolTable) -> None:
        self._dump = dump
        self.delta = delta
        self.symbols = symbols

    def number(self, name: str, size: int = 8) -> int | None:
        """The little-endian number in the variable ``name``, or none without such a variable."""
        try:
            return int.from_bytes(self.content(name, size), "little")
        except LookupError:
            return None

    def content(self, name: str, size: int) -> bytes:
        """``size`` bytes at the symbol ``name``."""
        return self._dump.physical(self.symbols(name)[0] + self.delta, size)


def _made(image: _MemoryImage) -> bytes | None:
    """VMCOREINFO for drgn from the variables of the image, or none where the image is but a copy of some part."""
    banner = _BANNER.match(image.content("linux_banner", 256))
    if banner is None:
        return None
    page_bytes = image.symbols("empty_zero_page")[1] or 4096
    numbers = _x86_64(image) if image.number("phys_base") is not None else _aarch64(image)
    lines = (f"PAGESIZE={page_bytes}", *numbers, "")
    return b"\n".join((b"OSRELEASE=" + banner[1], *(line.encode() for line in lines)))


def _x86_64(image: _MemoryImage) -> tuple[str, ...]:
    base = image.number("phys_base") or 0
    offset = (image.delta + _START_KERNEL_MAP - base) & _ADDRESS_MASK
    five_levels = image.number("__pgtable_l5_enabled", 4) or 0
    table = (image.symbols("init_top_pgt")[0] + offset) & _ADDRESS_MASK
    return (
        f"KERNELOFFSET={offset:x}",
        f"SYMBOL(swapper_pg_dir)={table:x}",
        f"NUMBER(phys_base)={base}",
        f"NUMBER(pgtable_l5_enabled)={five_levels}",
        *_sections(52 if five_levels else 46),
    )


def _aarch64(image: _MemoryImage) -> tuple[str, ...]:
    shift = image.number("kimage_voffset") or 0
    offset = (image.delta + shift) & _ADDRESS_MASK
    table = (image.symbols("swapper_pg_dir")[0] + offset) & _ADDRESS_MASK
    # The image lies a little above the middle of the kernel's half: -(1 << (bits - 1)).
    bits = image.number("vabits_actual") or (-image.symbols("_text")[0] & _ADDRESS_MASK).bit_length() + 1
    return (
        f"KERNELOFFSET={offset:x}",
        f"SYMBOL(swapper_pg_dir)={table:x}",
        f"NUMBER(VA_BITS)={bits}",
        f"NUMBER(kimage_voffset)=0x{shift:x}",
        *_sections(52 if bits == 52 else 48),
    )


def _sections(physical_bits: int) -> tuple[str, ...]:
    """How memory is split into sections, for an address space of so many bits (asm/sparsemem.h)."""
    roots = (1 << (physical_bits - _SECTION_BITS)) // _SECTIONS_PER_ROOT
    return (
        f"NUMBER(SECTION_SIZE_BITS)={_SECTION_BITS}",
        f"NUMBER(MAX_PHYSMEM_BITS)={physical_bits}",
        f"LENGTH(mem_section)={roots}",
    )
