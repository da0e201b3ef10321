# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel ``.config``: read as data, and given to make without what make or a shell could expand.

The makefiles of a kernel hand strings of a configuration to a shell, some without quotes (``CONFIG_LOCALVERSION``), so
a configuration can run commands. No string decides a layout: make gets every string empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import TreeError

_MOST_BYTES = 8 << 20
_LINE = re.compile(r'(?:#.*|CONFIG_\w+=(?:[ymn]|-?\d+|0[xX][0-9a-fA-F]+|"(?:[^"\\]|\\.)*")|\s*)', re.ASCII)
_STRING = re.compile(r'^(CONFIG_\w+)=".*', re.ASCII | re.MULTILINE)
_FROM_KCONFIG = re.compile(r"# CONFIG_\w+ is not set|# Linux/\w+ [\w.+-]+ Kernel Configuration", re.ASCII)
_ARCHITECTURE = re.compile(r"^# Linux/(\w+)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The symbols of a ``.config`` that are set, strings without their quotes; ``text`` is the file."""

    path: Path
    text: str
    values: dict[str, str]

    @property
    def for_make(self) -> str:
        """The text that make may read: comments fall away but for those of kconfig, and strings are empty."""
        told = (line for line in self.text.splitlines() if not line.startswith("#") or _FROM_KCONFIG.fullmatch(line))
        return "".join(_STRING.sub(r'\1=""', f"{line}\n") for line in told)

    @property
    def strings(self) -> frozenset[str]:
        """The symbols that have a string for a value."""
        return frozenset(name.removeprefix("CONFIG_") for name in _STRING.findall(self.text))

    def has(self, symbol: str) -> bool:
        """Whether ``CONFIG_symbol`` is ``y``."""
        return self.values.get(symbol) == "y"

    def number(self, symbol: str) -> int:
        """The value of an integer symbol; 0 when it is not set."""
        value = self.values.get(symbol, "0")
        return int(value) if value.isdigit() else 0


def read_configuration(path: Path) -> Configuration:
    """The configuration in ``path``.

    Raises ``TreeError`` when it is not there, no ``.config``, or has a line that kconfig would not write.
    """
    try:
        if path.stat().st_size > _MOST_BYTES or not path.is_file():
            raise TreeError(f"{path} is no kernel configuration: it is no file, or larger than {_MOST_BYTES >> 20} MiB")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}); configure the tree first, for example with make defconfig"
        raise TreeError(message) from error
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not _LINE.fullmatch(line.rstrip("\r")):
            raise TreeError(f"{path}:{number} is no line that kconfig writes, so make does not get it; configure anew")
    return Configuration(path, text, values(text))


def own_configuration(tree: Path, build: Path | None) -> Configuration:
    """The configuration of a build directory or, without one, of the tree itself; raises ``TreeError``.

    A ``.config`` of the tree may be somebody else's: a link that leads out of the tree is not followed.
    """
    path = (build or tree) / ".config"
    if not path.exists():
        message = f"{build or tree} has no .config; run make defconfig there, or name the build directory with --build"
        raise TreeError(message)
    if build is None and not path.resolve().is_relative_to(tree.resolve()):
        raise TreeError(f"{path} is a link that leads out of the tree, and is not read; name a configuration instead")
    return read_configuration(path)


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
