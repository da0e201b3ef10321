# SPDX-License-Identifier: GPL-2.0-or-later
"""The example program with its profile, with names that attack."""

from __future__ import annotations

import subprocess
from pathlib import Path

from demo.example import FLAGS, PROFILE, UNITS, unpacked


def renamed(folder: Path, names: dict[str, str]) -> tuple[Path, Path]:
    """The program and its profile with other names of types, members, functions and files.

    No C compiler takes such names, but whoever writes an ELF file can put any bytes there.
    """
    unpacked(folder)
    for source in UNITS:
        subprocess.run(["gcc", *FLAGS, "-S", source], cwd=folder, check=True)
        assembly = (folder / source).with_suffix(".s")
        text = assembly.read_text()
        for old, new in names.items():
            text = text.replace(f'"{old}"', _quoted(new))
        assembly.write_text(text)
    objects = [str(Path(source).with_suffix(".s")) for source in UNITS]
    subprocess.run(["gcc", "-pthread", "-o", "bench", *objects], cwd=folder, check=True)
    return folder / "bench", folder / PROFILE


def _quoted(name: str) -> str:
    """The name as the assembler reads it, each byte in octal."""
    return '"' + "".join(f"\\{byte:03o}" for byte in name.encode("utf-8", "surrogateescape")) + '"'
