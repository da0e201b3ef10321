# SPDX-License-Identifier: GPL-2.0-or-later
"""Recognises files that QEMU can boot as a Linux kernel, and for which machine they are."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import KernelNotBootable
from linesmith.plugins.machines.elf_image import ElfImage, mapped, read_elf

_HEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class KernelImage:
    """A bootable kernel; ``machine`` is ``x86_64`` or ``aarch64``, ``release`` is known of a bzImage only."""

    path: Path
    machine: str
    release: str | None = None


def read_kernel(path: Path) -> KernelImage:
    """What the file at ``path`` boots; raises ``KernelNotBootable`` when it is no kernel image.

    Source: Documentation/arch/x86/boot.rst, Documentation/arm64/booting.rst.
    """
    try:
        head = _head(path)
    except (OSError, EOFError, zlib.error) as error:
        raise KernelNotBootable(f"the kernel {path} cannot be read ({error}); name a readable bzImage") from error
    if head[0x202:0x206] == b"HdrS":
        return KernelImage(path, "x86_64", _release(head))
    if head[0x38:0x3C] == b"ARM\x64" or (head[:2] == b"MZ" and head[4:8] == b"zimg"):
        return KernelImage(path, "aarch64")
    if head[:4] == b"\x7fELF":
        return _elf_kernel(path)
    raise KernelNotBootable(
        f"{path} is no kernel that can be booted; give --kernel the bzImage (x86-64: /boot/vmlinuz-*, or "
        "arch/x86/boot/bzImage of a build) or the Image (aarch64)"
    )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head[:2] == b"\x1f\x8b":
        with gzip.open(path) as unpacked:
            return unpacked.read(_HEAD_BYTES)
    return head


def _release(head: bytes) -> str | None:
    """The first word of the version text, whose place less 0x200 stands at 0x20e."""
    place = int.from_bytes(head[0x20E:0x210], "little")
    start = place + 0x200
    end = head.find(b"\0", start)
    words = head[start:end].decode("utf-8", "replace").split()
    return words[0] if place and words else None


def _elf_kernel(path: Path) -> KernelImage:
    """A vmlinux boots where it has the entry point for virtual machines (PVH), which is a note named Xen."""
    image = read_elf(path)
    if image.machine == "x86_64" and b"Xen\0" in _notes(image):
        return KernelImage(path, image.machine)
    raise KernelNotBootable(
        f"{path} is an ELF file without an entry for virtual machines; give --kernel the bzImage of the same build, "
        "and this file as --vmlinux"
    )


def _notes(image: ElfImage) -> bytes:
    with mapped(image.path) as data:
        return b"".join(data[one.offset : one.offset + one.file_bytes] for one in image.notes)
