# SPDX-License-Identifier: GPL-2.0-or-later
"""Every file that a program needs to run elsewhere: its interpreter, its libraries, and theirs.

Nothing is executed: the files may be for another machine, and from anywhere. Source: ld.so(8), execve(2).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from linesmith.analyzer.errors import ToolMissing
from linesmith.plugins.machines.elf_image import ElfImage, is_elf, read_elf

_LOADER_CONFIGURATION = Path("/etc/ld.so.conf")
_LOADER_CACHE = Path("/etc/ld.so.cache")
_DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
# A chain of interpreters longer than this is not run by the kernel either.
_MOST_INTERPRETERS = 5


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
    for folder in (*_own_folders(image), *_system_folders(image.machine)):
        candidate = Path(folder) / name
        if candidate.is_file() and is_elf(candidate) and read_elf(candidate).machine == image.machine:
            return candidate
    raise ToolMissing(f"{image.path} needs the library {name}, which is not found; install it or link statically")


def _own_folders(image: ElfImage) -> Iterator[str]:
    """Folders of DT_RPATH and DT_RUNPATH, where $ORIGIN is the folder of the file itself."""
    origin = str(image.path.resolve().parent)
    for folders in image.search:
        for folder in folders.split(":"):
            yield folder.replace("$ORIGIN", origin).replace("${ORIGIN}", origin)


def _system_folders(machine: str) -> Sequence[str]:
    triplet = f"{machine}-linux-gnu"
    multiarch = (f"/lib/{triplet}", f"/usr/lib/{triplet}", f"/usr/{triplet}/lib")
    return (*_configured(_LOADER_CONFIGURATION), *multiarch, *_DEFAULT_FOLDERS)


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
