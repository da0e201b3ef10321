# SPDX-License-Identifier: GPL-2.0-or-later
"""Which compiler a configuration was made for, and how make is told to use it."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass

from linesmith.analyzer.errors import ToolMissing
from linesmith.patches.kconfig import Configuration

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


def toolchain(configuration: Configuration, architecture: str, machine: str = "") -> Toolchain:
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
        raise ToolMissing(f"{wanted} is not installed, and {configuration.path} asks for it; install {package}")
    remarks = () if found == wanted else (f"the configuration was made with {wanted}; {found} was used",)
    crossing = (f"CROSS_COMPILE={prefix}",) if prefix else ()
    return Toolchain(found, (*crossing, f"CC={found}"), remarks)


def _clang(configuration: Configuration) -> Toolchain:
    major = configuration.number("CLANG_VERSION") // 10000
    names = (f"clang-{major}", "clang") if major else ("clang",)
    found = next((name for name in names if shutil.which(name)), None)
    if found is None:
        raise ToolMissing(f"clang is not installed, and {configuration.path} asks for it; install {names[0]}")
    suffix = found.removeprefix("clang")
    if not configuration.has("LD_IS_LLD"):
        return Toolchain(found, (f"CC={found}",))
    if not shutil.which(f"ld.lld{suffix}"):
        raise ToolMissing(f"ld.lld{suffix} is not installed, and {configuration.path} asks for it; install lld{suffix}")
    return Toolchain(found, (f"LLVM={suffix or 1}",))
