# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens the memory of a kernel together with its debug information as one drgn program.

drgn wants the kernel's own description of itself, VMCOREINFO (Documentation/admin-guide/kdump/vmcoreinfo.rst). The dump
of a guest has it as a note only when the guest wrote it to QEMU. It lies in memory all the same, unless the kernel was
built without kexec: then it is made here, from the variables that vmlinux names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import drgn

from linesmith.analyzer.base.elf import NOTE_HEADER, ElfFile
from linesmith.analyzer.base.errors import DebugInfoMissing, SnapshotError

LIVE = Path("/proc/kcore")

_ET_CORE, _NT_GNU_BUILD_ID = 4, 3
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
    with MemoryFile(vmlinux) as kernel:
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
            f"cannot read the running kernel from {LIVE}: {error}; this needs root and CONFIG_PROC_KCORE"
        ) from error
    return program


def _dumped(memory: Path, kernel: MemoryFile) -> drgn.Program:
    linked = drgn.Program()
    linked.extra_module(str(kernel.path), create=True).try_file(kernel.path, force=True)

    def find(name: str) -> tuple[int, int]:
        symbol = linked.symbol(name)
        return symbol.address, symbol.size

    with MemoryFile(memory) as dump:
        if dump.kind_and_machine[0] != _ET_CORE:
            raise SnapshotError(
                f"{memory} is an ELF file but not a memory dump; give a file written by dump-guest-memory"
            )
        text = vmcoreinfo_of(dump, kernel, find)
    program = drgn.Program(vmcoreinfo=text)
    try:
        program.set_core_dump(memory)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"drgn cannot read {memory}: {error}; write it again") from error
    return program


def _expect_build_id(program: drgn.Program, kernel: MemoryFile, memory: Path) -> None:
    # drgn creates the main module with the first one that is asked for.
    next(iter(program.loaded_modules()), None)
    found, note = program.main_module().build_id, kernel.build_id
    if found is not None and note is not None and found != note.content:
        raise SnapshotError(
            f"{memory} is the memory of the kernel with the build-id {found.hex()}, not of {kernel.path} "
            f"({note.content.hex()}); give the vmlinux of that kernel"
        )


class MemoryFile(ElfFile):
    """An ELF file with memory of a kernel, by physical address: a dump, or its vmlinux."""

    def __init__(self, path: Path) -> None:
        """Raises ``SnapshotError`` when ``path`` is no ELF file of this kind or its segments are cut off."""
        try:
            super().__init__(path)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is empty"
            raise SnapshotError(
                f"cannot read {path}: {reason}; name a memory dump and the vmlinux of its kernel"
            ) from error
        try:
            self._check()
        except BaseException:
            self.data.close()
            raise

    def _check(self) -> None:
        if not self.is_little_endian_64:
            raise SnapshotError(
                f"{self.path} is not a 64-bit little-endian ELF file; give a dump of QEMU's dump-guest-memory"
                " (format elf) and a vmlinux"
            )
        try:
            end = max((segment.offset + segment.file_bytes for segment in self.segments), default=0)
        except ValueError as error:
            raise SnapshotError(f"{self.path} is cut off within its program headers; write it again") from error
        if end > len(self.data):
            cut = f"{self.path} is cut off: it has {len(self.data)} of {end} bytes"
            raise SnapshotError(f"{cut}; write it again (is the disk full?)")

    def find(self, pattern: bytes) -> Iterator[int]:
        """Physical addresses at which the loaded segments hold ``pattern``."""
        for segment in self.loads:
            end = segment.offset + segment.file_bytes
            position = self.data.find(pattern, segment.offset, end)
            while position >= 0:
                yield position - segment.offset + segment.physical
                position = self.data.find(pattern, position + 1, end)

    def physical(self, address: int, size: int) -> bytes:
        """``size`` bytes of physical memory; raises ``SnapshotError`` when the dump does not hold them all."""
        for segment in self.loads:
            start = address - segment.physical
            if start >= 0 and start + size <= segment.file_bytes:
                return self.data[segment.offset + start : segment.offset + start + size]
        raise SnapshotError(f"{self.path} holds no memory at the physical address {address:#x}; dump the guest again")


def vmcoreinfo_of(dump: MemoryFile, vmlinux: MemoryFile, symbols: SymbolTable) -> bytes:
    """The text of VMCOREINFO that belongs to the kernel ``vmlinux`` in the memory ``dump``.

    Raises ``SnapshotError`` when the memory is another kernel's.
    """
    build_id = vmlinux.build_id
    if build_id is None:
        raise SnapshotError(f"{vmlinux.path} has no build-id; give the vmlinux of the dumped kernel, with its build-id")
    others = []
    for text in _texts_in(dump):
        found = value_of(text, "BUILD-ID")
        if found is None or found == build_id.content.hex():
            return text
        others.append(found)
    # Some kernels wrote a wrong BUILD-ID, so the note itself has the last word.
    note = NOTE_HEADER.pack(4, len(build_id.content), _NT_GNU_BUILD_ID) + b"GNU\0" + build_id.content
    for address in dump.find(note):
        made = _made(_MemoryImage(dump, address - build_id.address, symbols))
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


def _texts_in(dump: MemoryFile) -> Iterator[bytes]:
    """VMCOREINFO in the notes of the file itself, then what lies in the memory."""
    yield from (note.content for note in dump.notes() if note.owner == b"VMCOREINFO")
    for address in dump.find(_OWNER):
        owner_size, size, kind = NOTE_HEADER.unpack(dump.physical(address - NOTE_HEADER.size, NOTE_HEADER.size))
        if (owner_size, kind) == (len("VMCOREINFO") + 1, 0) and 0 < size <= _MOST_BYTES:
            text = dump.physical(address + len(_OWNER), size)
            if text.startswith(b"OSRELEASE="):
                yield text


class _MemoryImage:
    """A kernel image in memory: ``delta`` is physical minus linked address, in bytes."""

    def __init__(self, dump: MemoryFile, delta: int, symbols: SymbolTable) -> None:
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
