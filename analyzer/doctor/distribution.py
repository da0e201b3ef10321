# SPDX-License-Identifier: GPL-2.0-or-later
"""How packages are installed here: the distribution's command, and what it calls them."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

# By package of Debian: what Fedora, Arch and openSUSE call it; the same name where nothing is said.
_ELSEWHERE: dict[str, tuple[str, str, str]] = {
    "dwarves": ("dwarves", "pahole", "dwarves"),
    "gcc-aarch64-linux-gnu": ("gcc-aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "cross-aarch64-gcc14"),
    "gcc-riscv64-linux-gnu": ("gcc-riscv64-linux-gnu", "riscv64-linux-gnu-gcc", "cross-riscv64-gcc14"),
    "linux-perf": ("perf", "perf", "perf"),
    "libclang-19-dev llvm-19-dev": ("clang-devel llvm-devel", "clang llvm", "clang-devel llvm-devel"),
    "openssh-client": ("openssh-clients", "openssh", "openssh-clients"),
    "qemu-system-x86": ("qemu-system-x86", "qemu-system-x86", "qemu-x86"),
    "qemu-system-arm": ("qemu-system-aarch64", "qemu-system-aarch64", "qemu-arm"),
    "qemu-user": ("qemu-user", "qemu-user", "qemu-linux-user"),
    "busybox-static": ("busybox", "busybox", "busybox-static"),
    "virtme-ng": ("virtme-ng", "virtme-ng", "virtme"),
}
_FAMILIES = {"fedora": 0, "rhel": 0, "arch": 1, "suse": 2, "opensuse": 2}
_COMMANDS = ("dnf install", "pacman -S", "zypper install")
_UBUNTU = {"linux-perf": "linux-tools-generic linux-tools-$(uname -r)"}


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution by its words for itself, the narrowest first; ``root`` tells that no ``sudo`` is needed."""

    words: tuple[str, ...]
    root: bool

    def install(self, package: str) -> str:
        """The command that installs what Debian calls ``package``, here."""
        if {"debian", "ubuntu"} & set(self.words):
            named = _UBUNTU.get(package, package) if "ubuntu" in self.words else package
            return self.as_root(f"apt-get install {named}")
        family = next((_FAMILIES[word] for word in self.words if word in _FAMILIES), None)
        if family is None:
            return f"install the package that Debian calls {package}"
        return self.as_root(f"{_COMMANDS[family]} {_ELSEWHERE.get(package, (package,) * 3)[family]}")

    def as_root(self, command: str) -> str:
        """A command that only root may run."""
        return command if self.root else f"sudo {command}"


def this_distribution() -> Distribution:
    """What this machine runs. See os-release(5)."""
    try:
        facts = platform.freedesktop_os_release()
    except OSError:
        facts = {}
    words = (facts.get("ID", ""), *facts.get("ID_LIKE", "").split())
    return Distribution(tuple(word for word in words if word), os.geteuid() == 0)
