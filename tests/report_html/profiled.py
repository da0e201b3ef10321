# SPDX-License-Identifier: GPL-2.0-or-later
"""The example program with its profile, as it is and with names that attack."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

COMPILE = ("cc", "-std=c11", "-O2", "-g", "-pthread")
SOURCES = ("guard.c", "session_index.c", "bench.c")


def _unpacked(folder: Path) -> tuple[Path, Path]:
    with as_file(files("linesmith.analyzer") / "demo" / "sources") as origin:
        shutil.copytree(origin, folder)
    return folder / "bench", folder / "bench.c2c"


def built(folder: Path) -> tuple[Path, Path]:
    """The program and its profile in ``folder``, which is made."""
    found = _unpacked(folder)
    subprocess.run([*COMPILE, "-o", "bench", *SOURCES], cwd=folder, check=True)
    return found


def renamed(folder: Path, names: dict[str, str]) -> tuple[Path, Path]:
    """The same with other names of types, members, functions and files in the debug information and the profile.

    No C compiler takes such names, but whoever writes an ELF file can put any bytes there.
    """
    found = _unpacked(folder)
    for source in SOURCES:
        subprocess.run([*COMPILE, "-S", source], cwd=folder, check=True)
        assembly = (folder / source).with_suffix(".s")
        text = assembly.read_text()
        for old, new in names.items():
            text = text.replace(f'"{old}"', _quoted(new))
        assembly.write_text(text)
    objects = [str(Path(source).with_suffix(".s")) for source in SOURCES]
    subprocess.run(["cc", "-pthread", "-o", "bench", *objects], cwd=folder, check=True)
    return found


def _quoted(name: str) -> str:
    """The name as the assembler reads it, each byte in octal."""
    return '"' + "".join(f"\\{byte:03o}" for byte in name.encode("utf-8", "surrogateescape")) + '"'
