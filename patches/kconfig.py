# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel ``.config``: read as data, and refused when make or a shell would execute a part of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import TreeError

_MOST_BYTES = 8 << 20
_LINE = re.compile(r'(?:#.*|CONFIG_\w+=(?:[ymn]|-?\d+|0[xX][0-9a-fA-F]+|"(?:[^"\\$`]|\\["\\])*")|\s*)\Z')
_ARCHITECTURE = re.compile(r"^# Linux/(\w+)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The symbols of a ``.config`` that are set, strings without their quotes; ``text`` is the file."""

    path: Path
    text: str
    values: dict[str, str]

    def has(self, symbol: str) -> bool:
        """Whether ``CONFIG_symbol`` is ``y``."""
        return self.values.get(symbol) == "y"

    def number(self, symbol: str) -> int:
        """The value of an integer symbol; 0 when it is not set."""
        value = self.values.get(symbol, "0")
        return int(value) if value.isdigit() else 0


def read_configuration(path: Path) -> Configuration:
    """The configuration in ``path``.

    Raises ``TreeError`` when it is not there, no ``.config``, or has a line that kconfig would not write: string
    values are expanded by make and by shell scripts of the tree, so ``$`` and backquotes must not be in them.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TreeError(f"{path} is no kernel configuration: it is larger than {_MOST_BYTES >> 20} MiB")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}); configure the tree first, for example with make defconfig"
        raise TreeError(message) from error
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not _LINE.match(line.rstrip("\r")):
            message = f"{path}:{number} is no line that kconfig writes, so it is not given to make: {line[:60]!r}"
            raise TreeError(message)
    return Configuration(path, text, values(text))


def values(text: str) -> dict[str, str]:
    """The symbols set in the text of a configuration, without ``CONFIG_``."""
    pairs = (line.split("=", 1) for line in text.splitlines() if line.startswith("CONFIG_") and "=" in line)
    return {name.removeprefix("CONFIG_"): value.strip().strip('"') for name, value in pairs}


def architecture(configuration: Configuration, tree: Path) -> str:
    """The directory below ``arch/`` that the configuration is for; raises ``TreeError`` when there is none."""
    match = _ARCHITECTURE.search(configuration.text[:4096])
    name = match[1] if match else ""
    name = {"x86_64": "x86", "i386": "x86", "sparc64": "sparc"}.get(name, name)
    if not name or not (tree / "arch" / name / "Makefile").is_file():
        message = (
            f"{configuration.path} does not say for which architecture it is (a line '# Linux/x86 … Configuration'), "
            "or the tree lacks it; run make olddefconfig"
        )
        raise TreeError(message)
    return name
