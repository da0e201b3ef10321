# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts of an ELF file that running it takes: its machine, its loader, the libraries it needs, its build-id.

``closure`` has every file that a program needs to run elsewhere. Nothing is executed for that: the files may be for
another machine, and from anywhere. Source: ld.so(8), execve(2), and for the format the generic ABI, chapters 4 and 5
(gabi.xinuos.com), and elf(5).
"""

from __future__ import annotations

import os
import shutil
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.elf import MAGIC, ElfFile, ElfSymbol, Segment, is_elf
from linesmith.analyzer.base.errors import ElfError, ToolMissing

_MACHINES = {62: "x86_64", 183: "aarch64"}
_ET_DYN = 3
_DT_NEEDED, _DT_RPATH, _DT_RUNPATH = 1, 15, 29
_LOADER_CONFIGURATION = Path("/etc/ld.so.conf")
_LOADER_CACHE = Path("/etc/ld.so.cache")
_DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
# A chain of interpreters longer than this is not run by the kernel either.
_MOST_INTERPRETERS = 5


@dataclass(frozen=True, slots=True)
class ElfImage:
    """What is needed to run the file; ``machine`` is ``x86_64`` or ``aarch64``, ``relocatable`` tells a PIE.

    ``base`` is the lowest address that the file asks for, a whole page. ``search`` holds DT_RPATH and DT_RUNPATH.
    ``notes`` are the bytes of the segments that hold notes.
    """

    path: Path
    machine: str
    relocatable: bool
    base: int
    segments: tuple[Segment, ...]
    interpreter: str | None = None
    needed: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    build_id: str | None = None
    notes: bytes = b""


def read_elf(path: Path) -> ElfImage:
    """The facts of the file at ``path``; raises ``ElfError`` when it is none, damaged, or of another machine."""
    with opened(path) as file:
        try:
            return _image(file)
        except ValueError as error:
            raise ElfError(f"{path} is a damaged ELF file ({error}); give an intact file") from error


def opened(path: Path) -> ElfFile:
    """An ELF file; raises ``ElfError`` when it cannot be read or is none."""
    try:
        file = ElfFile(path)
    except (OSError, ValueError) as error:
        raise ElfError(f"{path} cannot be read as an ELF file ({error}); give another") from error
    if file.data[:4] != MAGIC:
        file.data.close()
        raise ElfError(f"{path} is not an ELF file; give a program or a vmlinux")
    return file


def _image(file: ElfFile) -> ElfImage:
    path = file.path
    if not file.is_little_endian_64:
        raise ElfError(f"{path} is not 64-bit little-endian, so it cannot be simulated; give another build")
    kind, machine = file.kind_and_machine
    if machine not in _MACHINES:
        raise ElfError(f"{path} is for ELF machine {machine}, but x86-64 and aarch64 are simulated; give another build")
    build_id = file.build_id
    return ElfImage(
        path,
        _MACHINES[machine],
        kind == _ET_DYN,
        min((one.address for one in file.loads), default=0) & ~0xFFF,
        file.segments,
        file.interpreter,
        file.dynamic_texts(_DT_NEEDED),
        file.dynamic_texts(_DT_RPATH, _DT_RUNPATH),
        build_id.content.hex() if build_id else None,
        b"".join(map(file.content, file.note_segments)),
    )


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
        raise ToolMissing(
            f"{wanted_by} needs {path}, which is not installed; install it or add it to an --overlay directory"
        )
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


# Names of code addresses, from the symbol tables of ELF files or from /proc/kallsyms.


class SymbolTable:
    """Answers which symbol an address belongs to."""

    def __init__(self, symbols: Iterable[ElfSymbol]) -> None:
        self.symbols = tuple(sorted(symbols, key=lambda one: (one.address, one.size, one.name)))
        self._starts = [one.address for one in self.symbols]

    def at(self, address: int) -> ElfSymbol | None:
        """The symbol that holds ``address``, or the last one before it when that one's size is not known."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        found = self.symbols[place]
        return found if not found.size or address < found.address + found.size else None

    def address_of(self, name: str) -> int | None:
        """Where the symbol called ``name`` begins; ``None`` when there is none."""
        return next((one.address for one in self.symbols if one.name == name), None)


def code_symbols(path: Path, offset: int = 0) -> tuple[ElfSymbol, ...]:
    """Functions of the ELF file at ``path``, moved up by ``offset`` bytes; raises ``ElfError`` when it is damaged."""
    with opened(path) as file:
        try:
            code, _ = file.symbols().split()
        except ValueError as error:
            raise ElfError(f"the symbols of {path} cannot be read ({error}); give a file that is whole") from error
    return tuple(ElfSymbol(one.name, one.address + offset, one.size) for one in code) if offset else code


def kallsyms_symbols(text: str) -> Iterator[ElfSymbol]:
    """Functions in the form of ``/proc/kallsyms``: address in hex, kind, name. Source: kernel/kallsyms.c, nm(1)."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and words[1] in "tTwW" and set(words[0]) != {"0"}:
            try:
                yield ElfSymbol(words[2], int(words[0], 16), 0)
            except ValueError:
                continue
