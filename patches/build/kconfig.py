# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel ``.config``: read as data, and given to make without what make or a shell could expand.

The makefiles of a kernel hand strings of a configuration to a shell, some without quotes (``CONFIG_LOCALVERSION``), so
a configuration can run commands. No string decides a layout: make gets every string empty.

Also which compiler a configuration was made for, and which other files of a tree decide what make generates.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import ToolMissing, TreeError

_MOST_BYTES = 8 << 20
_LINE = re.compile(r'(?:#.*|CONFIG_\w+=(?:[ymn]|-?\d+|0[xX][0-9a-fA-F]+|"(?:[^"\\]|\\.)*")|\s*)', re.ASCII)
_STRING = re.compile(r'^(CONFIG_\w+)=".*', re.ASCII | re.MULTILINE)
_FROM_KCONFIG = re.compile(r"# CONFIG_\w+ is not set|# Linux/\w+ [\w.+-]+ Kernel Configuration", re.ASCII)
_ARCHITECTURE = re.compile(r"^# Linux/(\w+)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class KernelConfiguration:
    """The symbols of a ``.config`` that are set, strings without their quotes; ``text`` is the file."""

    path: Path
    text: str
    values: dict[str, str]

    @property
    def for_make(self) -> str:
        """The text that make may read: comments fall away but for those of kconfig, and strings are empty."""
        lines = (line for line in self.text.splitlines() if not line.startswith("#") or _FROM_KCONFIG.fullmatch(line))
        return "".join(_STRING.sub(r'\1=""', f"{line}\n") for line in lines)

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


def read_configuration(path: Path) -> KernelConfiguration:
    """The configuration in ``path``.

    Raises ``TreeError`` when it is not there, no ``.config``, or has a line that kconfig would not write.
    """
    try:
        if path.stat().st_size > _MOST_BYTES or not path.is_file():
            raise TreeError(f"{path} is not a kernel configuration: not a file, or larger than {_MOST_BYTES >> 20} MiB")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}); configure the tree first, for example with make defconfig"
        raise TreeError(message) from error
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not _LINE.fullmatch(line.rstrip("\r")):
            raise TreeError(
                f"{path}:{number} is not a line written by kconfig, so it is not passed to make; configure again"
            )
    return KernelConfiguration(path, text, values(text))


def own_configuration(tree: Path, build: Path | None) -> KernelConfiguration:
    """The configuration of a build directory or, without one, of the tree itself; raises ``TreeError``.

    A ``.config`` of the tree may be somebody else's: a link that leads out of the tree is not followed.
    """
    path = (build or tree) / ".config"
    if not path.exists():
        message = f"{build or tree} has no .config; run make defconfig there, or name the build directory with --build"
        raise TreeError(message)
    if build is None and not path.resolve().is_relative_to(tree.resolve()):
        raise TreeError(
            f"{path} is a symbolic link to a file outside the tree, which is not read; name a configuration instead"
        )
    return read_configuration(path)


def values(text: str) -> dict[str, str]:
    """The symbols set in the text of a configuration, without ``CONFIG_``."""
    pairs = (line.split("=", 1) for line in text.splitlines() if line.startswith("CONFIG_") and "=" in line)
    return {name.removeprefix("CONFIG_"): value.strip().strip('"') for name, value in pairs}


def architecture(configuration: KernelConfiguration, tree: Path) -> str:
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


# Besides the configuration, files with these names decide what make generates and which units it compiles.
_NAMES = ("Makefile", "Kbuild", "Kconfig")
# Kbuild makes headers of these (Kbuild in the root of the tree).
_BOUNDS = "kernel/bounds.c"
_OFFSETS = "asm-offsets"


def build_stamp(tree: Path) -> str:
    """What changes when one of these files comes, goes, or is written: a digest of names, sizes and times."""
    names = []
    for folder, folders, files in os.walk(tree):
        if ".git" in folders:
            folders.remove(".git")
        inside = f"{folder}/"[len(str(tree)) + 1 :]
        for file in files:
            name = f"{inside}{file}"
            if file.startswith(_NAMES) or name == _BOUNDS or (file.startswith(_OFFSETS) and file.endswith(".c")):
                names.append(name)
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(names):
        digest.update(f"{name}\0".encode("utf-8", "surrogateescape"))
        with suppress(OSError):
            status = (tree / name).stat()
            digest.update(f"{status.st_size} {status.st_mtime_ns}\0".encode())
    return digest.hexdigest()


_GCC = re.compile(r"((?:[\w.]+-)*)gcc(?:-(\d+)(?:\.\d+)*)?")
_PREFIXES = {
    "arm64": "aarch64-linux-gnu-",
    "arm": "arm-linux-gnueabihf-",
    "riscv": "riscv64-linux-gnu-",
    "powerpc": "powerpc64le-linux-gnu-",
    "s390": "s390x-linux-gnu-",
    "mips": "mips-linux-gnu-",
    "sparc": "sparc64-linux-gnu-",
    "m68k": "m68k-linux-gnu-",
    "i386": "i686-linux-gnu-",
    "x86": "x86_64-linux-gnu-",
}
_MACHINES = {
    "x86_64": "x86",
    "i686": "x86",
    "aarch64": "arm64",
    "ppc64le": "powerpc",
    "riscv64": "riscv",
    "s390x": "s390",
}


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The compiler to call and the variables that select it on make's command line."""

    compiler: str
    variables: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def toolchain(configuration: KernelConfiguration, architecture: str, machine: str = "") -> Toolchain:
    """The compiler for ``configuration``; raises ``ToolMissing`` naming the package when there is none.

    ``architecture`` is the folder below ``arch/``; ``machine``, the value of ARCH, may be narrower (``i386``).
    """
    if configuration.has("CC_IS_CLANG"):
        return _clang(configuration)
    recorded = configuration.values.get("CC_VERSION_TEXT", "").split(" ")[0]
    match = _GCC.fullmatch(recorded)
    prefix = match[1] if match else ""
    foreign = _MACHINES.get(os.uname().machine) != architecture
    prefix = prefix or (_PREFIXES.get(machine, _PREFIXES.get(architecture, "")) if foreign else "")
    wanted = recorded if match and recorded.startswith(prefix) else f"{prefix}gcc"
    found = next((name for name in dict.fromkeys((wanted, f"{prefix}gcc")) if shutil.which(name)), None)
    if found is None:
        package = f"gcc-{prefix.rstrip('-')}" if prefix else "gcc"
        raise ToolMissing(f"{wanted} is not installed, but {configuration.path} needs it; install {package}")
    remarks = () if found == wanted else (f"the configuration was made with {wanted}; {found} was used",)
    crossing = (f"CROSS_COMPILE={prefix}",) if prefix else ()
    return Toolchain(found, (*crossing, f"CC={found}"), remarks)


def _clang(configuration: KernelConfiguration) -> Toolchain:
    major = configuration.number("CLANG_VERSION") // 10000
    names = (f"clang-{major}", "clang") if major else ("clang",)
    found = next((name for name in names if shutil.which(name)), None)
    if found is None:
        raise ToolMissing(f"clang is not installed, but {configuration.path} needs it; install {names[0]}")
    suffix = found.removeprefix("clang")
    if not configuration.has("LD_IS_LLD"):
        return Toolchain(found, (f"CC={found}",))
    if not shutil.which(f"ld.lld{suffix}"):
        raise ToolMissing(f"ld.lld{suffix} is not installed, but {configuration.path} needs it; install lld{suffix}")
    return Toolchain(found, (f"LLVM={suffix or 1}",))
