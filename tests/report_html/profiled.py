# SPDX-License-Identifier: GPL-2.0-or-later
"""The example program with its profile, as it is and with names that attack."""

from __future__ import annotations

import subprocess
from pathlib import Path

from linesmith.analyzer.demo import program

FLAGS = ("-std=c11", "-O2", "-g", "-pthread")


def built(folder: Path) -> tuple[Path, Path]:
    """The program and its profile in ``folder``, which is made."""
    program.unpack(folder)
    program.build(folder, program.find_compiler())
    return folder / "bench", folder / program.PROFILE


def renamed(folder: Path, names: dict[str, str]) -> tuple[Path, Path]:
    """The same with other names of types, members, functions and files in the debug information and the profile.

    No C compiler takes such names, but whoever writes an ELF file can put any bytes there.
    """
    program.unpack(folder)
    for source in program.SOURCES:
        subprocess.run(["gcc", *FLAGS, "-S", source], cwd=folder, check=True)
        assembly = (folder / source).with_suffix(".s")
        text = assembly.read_text()
        for old, new in names.items():
            text = text.replace(f'"{old}"', _quoted(new))
        assembly.write_text(text)
    objects = [str(Path(source).with_suffix(".s")) for source in program.SOURCES]
    subprocess.run(["gcc", "-pthread", "-o", "bench", *objects], cwd=folder, check=True)
    profile = folder / program.PROFILE
    return folder / "bench", profile


def _quoted(name: str) -> str:
    """The name as the assembler reads it, each byte in octal."""
    return '"' + "".join(f"\\{byte:03o}" for byte in name.encode("utf-8", "surrogateescape")) + '"'
