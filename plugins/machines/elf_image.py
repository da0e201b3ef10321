# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts of an ELF file that running it takes: its machine, its loader, the libraries it needs, its build-id.

``closure`` has every file that a program needs to run elsewhere. Nothing is executed for that: the files may be for
another machine, and from anywhere. Source: ld.so(8), execve(2), and for the format the generic ABI, chapters 4 and 5
(gabi.xinuos.com), and elf(5).
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import ElfError, ToolMissing

_MACHINES = {62: "x86_64", 183: "aarch64"}
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP, _PT_NOTE = 1, 2, 3, 4
_DT_NEEDED, _DT_STRTAB, _DT_RPATH, _DT_RUNPATH = 1, 5, 15, 29
_NT_GNU_BUILD_ID = 3
_ET_DYN = 3
_MOST_HEADERS = 1 << 16
_LOADER_CONFIGURATION = Path("/etc/ld.so.conf")
_LOADER_CACHE = Path("/etc/ld.so.cache")
_DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
# A chain of interpreters longer than this is not run by the kernel either.
_MOST_INTERPRETERS = 5


@dataclass(frozen=True, slots=True)
class ProgramSegment:
    """One program header: where its bytes lie in the file and where they belong in memory."""

    kind: int
    offset: int
    address: int
    file_bytes: int

    @property
    def is_loaded(self) -> bool:
        """Whether the bytes are mapped when the file is run."""
        return self.kind == _PT_LOAD


@dataclass(frozen=True, slots=True)
class ElfImage:
    """What is needed to run the file; ``machine`` is ``x86_64`` or ``aarch64``, ``relocatable`` tells a PIE.

    ``base`` is the lowest address that the file asks for, a whole page. ``search`` holds DT_RPATH and DT_RUNPATH.
    """

    path: Path
    machine: str
    relocatable: bool
    base: int
    segments: tuple[ProgramSegment, ...]
    interpreter: str | None = None
    needed: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    build_id: str | None = None

    @property
    def notes(self) -> tuple[ProgramSegment, ...]:
        """The segments that hold notes."""
        return tuple(one for one in self.segments if one.kind == _PT_NOTE)


def is_elf(path: Path) -> bool:
    """Whether the file at ``path`` begins as every ELF file does."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def read_elf(path: Path) -> ElfImage:
    """The facts of the file at ``path``; raises ``ElfError`` when it is none, damaged, or of another machine."""
    with mapped(path) as data:
        try:
            return _image(path, data)
        except (struct.error, IndexError, ValueError, OverflowError) as error:
            raise ElfError(f"{path} is a damaged ELF file ({error}); give one that is whole") from error


def mapped(path: Path) -> mmap.mmap:
    """The bytes of an ELF file; raises ``ElfError`` when it cannot be read or is none."""
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ElfError(f"{path} cannot be read as an ELF file ({error}); give another") from error
    if data[:4] != b"\x7fELF":
        data.close()
        raise ElfError(f"{path} is no ELF file; give a program or a vmlinux")
    return data


def _image(path: Path, data: mmap.mmap) -> ElfImage:
    if data[4:6] != b"\x02\x01":
        raise ElfError(f"{path} is not 64-bit little-endian, which is what can be simulated; give another build")
    kind, machine = struct.unpack_from("<HH", data, 16)
    if machine not in _MACHINES:
        raise ElfError(f"{path} is for ELF machine {machine}, but x86-64 and aarch64 are simulated; give another build")
    segments = tuple(_segments(data))
    dynamic = tuple(_dynamic(data, segments))
    loads = [segment.address for segment in segments if segment.is_loaded]
    interpreter = next((one for one in segments if one.kind == _PT_INTERP), None)
    notes = (data[one.offset : one.offset + one.file_bytes] for one in segments if one.kind == _PT_NOTE)
    return ElfImage(
        path,
        _MACHINES[machine],
        kind == _ET_DYN,
        min(loads, default=0) & ~0xFFF,
        segments,
        _text(data, interpreter.offset) if interpreter else None,
        tuple(_dynamic_texts(data, segments, dynamic, (_DT_NEEDED,))),
        tuple(_dynamic_texts(data, segments, dynamic, (_DT_RPATH, _DT_RUNPATH))),
        next(filter(None, map(build_id_in_notes, notes)), None),
    )


def _segments(data: mmap.mmap) -> Iterator[ProgramSegment]:
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for index in range(min(count, _MOST_HEADERS)):
        kind, _, offset, address, _, file_bytes = struct.unpack_from("<IIQQQQ", data, table + index * size)
        yield ProgramSegment(kind, offset, address, file_bytes)


def _dynamic(data: mmap.mmap, segments: tuple[ProgramSegment, ...]) -> Iterator[tuple[int, int]]:
    for segment in segments:
        if segment.kind == _PT_DYNAMIC:
            end = min(segment.offset + segment.file_bytes, len(data))
            for place in range(segment.offset, end - 15, 16):
                tag, value = struct.unpack_from("<QQ", data, place)
                yield tag, value


def _dynamic_texts(
    data: mmap.mmap, segments: tuple[ProgramSegment, ...], dynamic: tuple[tuple[int, int], ...], tags: tuple[int, ...]
) -> Iterator[str]:
    strings = next((value for tag, value in dynamic if tag == _DT_STRTAB), None)
    if strings is None:
        return
    start = next(
        (
            one.offset + strings - one.address
            for one in segments
            if one.is_loaded and one.address <= strings < one.address + one.file_bytes
        ),
        None,
    )
    if start is None:
        raise ValueError(f"address {strings:#x} is in no loaded segment")
    for tag, value in dynamic:
        if tag in tags:
            yield _text(data, start + value)


def _text(data: mmap.mmap, offset: int) -> str:
    end = data.find(b"\0", offset)
    if not 0 <= offset < end:
        raise ValueError(f"text at offset {offset:#x} does not end")
    return data[offset:end].decode("utf-8", "surrogateescape")


def build_id_in_notes(notes: bytes) -> str | None:
    """The GNU build-id in the bytes of a note section or of ``/sys/kernel/notes``, in hex; ``None`` without one."""
    place = 0
    while place + 12 <= len(notes):
        name_bytes, content_bytes, kind = struct.unpack_from("<III", notes, place)
        name = place + 12
        content = name + (name_bytes + 3 & ~3)
        if kind == _NT_GNU_BUILD_ID and notes[name : name + name_bytes] == b"GNU\0":
            return notes[content : content + content_bytes].hex()
        place = content + (content_bytes + 3 & ~3)
    return None


def build_id_in_hex(notes: str) -> str | None:
    """The same of notes in hex; ``None`` too for text that is none."""
    try:
        return build_id_in_notes(bytes.fromhex(notes))
    except ValueError:
        return None


def closure(program: Path, machine: str) -> tuple[Path, ...]:
    """``program`` and every file it needs, as absolute paths that are valid here and wanted there.

    Raises ``ToolMissing`` when a file is not found or is for another machine than ``machine``.
    """
    found: dict[Path, None] = {}
    waiting = [(program, 0)]
    while waiting:
        path, depth = waiting.pop()
        place = absolute(path)
        if place in found:
            continue
        found[place] = None
        waiting += [(needed, depth + 1) for needed in _needed(place, machine, depth)]
    if any(".so" in path.name for path in found) and _LOADER_CACHE.is_file():
        found[_LOADER_CACHE] = None
    return tuple(found)


def absolute(path: Path) -> Path:
    """``path`` from the root, without ``..`` but with its links: programs may look at the name that they run by."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links


def _needed(path: Path, machine: str, depth: int) -> Iterator[Path]:
    if not is_elf(path):
        if depth < _MOST_INTERPRETERS:
            yield from _interpreters(path)
        return
    image = read_elf(path)
    if image.machine != machine:
        raise ToolMissing(f"{path} is for {image.machine}, the machine is {machine}; give a program built for it")
    if image.interpreter:
        yield _existing(Path(image.interpreter), path)
    for name in image.needed:
        yield _library(name, image)


def _interpreters(script: Path) -> Iterator[Path]:
    """The program that the first line of a script names; with ``env``, also the one that it looks for."""
    with script.open("rb") as file:
        first = file.readline(256)
    words = first[2:].decode("utf-8", "surrogateescape").split() if first[:2] == b"#!" else []
    if not words:
        return
    yield _existing(Path(words[0]), script)
    sought = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if Path(words[0]).name == "env" and sought:
        yield _existing(Path(shutil.which(sought[0]) or sought[0]), script)


def _existing(path: Path, wanted_by: Path) -> Path:
    if not path.is_file():
        raise ToolMissing(f"{wanted_by} needs {path}, which is not here; install it or put it into an --overlay folder")
    return path


def _library(name: str, image: ElfImage) -> Path:
    if "/" in name:
        return _existing(Path(name), image.path)
    # DT_RPATH and DT_RUNPATH, where $ORIGIN is the folder of the file itself, come before the system's folders.
    origin, triplet = str(image.path.resolve().parent), f"{image.machine}-linux-gnu"
    own = (folder for folders in image.search for folder in folders.split(":"))
    own = (folder.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for folder in own)
    multiarch = (f"/lib/{triplet}", f"/usr/lib/{triplet}", f"/usr/{triplet}/lib")
    for folder in (*own, *_configured(_LOADER_CONFIGURATION), *multiarch, *_DEFAULT_FOLDERS):
        candidate = Path(folder) / name
        if candidate.is_file() and is_elf(candidate) and read_elf(candidate).machine == image.machine:
            return candidate
    raise ToolMissing(f"{image.path} needs the library {name}, which is not found; install it or link statically")


def _configured(configuration: Path, depth: int = 0) -> tuple[str, ...]:
    """Folders that ``/etc/ld.so.conf`` names, those of included files too. Source: ldconfig(8)."""
    if depth > _MOST_INTERPRETERS or not configuration.is_file():
        return ()
    folders: list[str] = []
    for line in configuration.read_text("utf-8", "replace").splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["include"]:
            for pattern in words[1:]:
                for included in sorted(configuration.parent.glob(pattern.removeprefix(f"{configuration.parent}/"))):
                    folders += _configured(included, depth + 1)
        else:
            folders += words
    return tuple(folders)
