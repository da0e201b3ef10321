# SPDX-License-Identifier: GPL-2.0-or-later
"""The tiny program that marks a border of the region of interest: one marker instruction, then exit(0)."""

from __future__ import annotations

import struct
from enum import Enum

from linesmith.analyzer.errors import ToolMissing

# Source: the generic ABI, chapters 4 and 5.
_ET_EXEC, _PT_LOAD, _READ_AND_EXECUTE = 2, 1, 5
_ELF_HEADER_BYTES, _PROGRAM_HEADER_BYTES = 64, 56
_LOAD_ADDRESS = 0x400000
_MACHINE_NUMBERS = {"x86_64": 62, "aarch64": 183}


class Border(Enum):
    """A border of the region; the value is the lowest byte of the marker's operand."""

    START = 1
    STOP = 0


def marker_program(machine: str, border: Border) -> bytes:
    """A static ELF executable for ``machine`` (``x86_64`` or ``aarch64``); raises ``ToolMissing`` for others."""
    if machine not in _MACHINE_NUMBERS:
        raise ToolMissing(f"there is no marker for {machine}; record an x86_64 or aarch64 guest")
    code = _x86_64(border) if machine == "x86_64" else _aarch64(border)
    start = _ELF_HEADER_BYTES + _PROGRAM_HEADER_BYTES
    size = start + len(code)
    identity = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        *(identity, _ET_EXEC, _MACHINE_NUMBERS[machine], 1, _LOAD_ADDRESS + start),
        *(_ELF_HEADER_BYTES, 0, 0, _ELF_HEADER_BYTES, _PROGRAM_HEADER_BYTES, 1, 0, 0, 0),
    )
    segment = struct.pack("<IIQQQQQQ", _PT_LOAD, _READ_AND_EXECUTE, 0, _LOAD_ADDRESS, _LOAD_ADDRESS, size, size, 0x1000)
    return header + segment + code


def _x86_64(border: Border) -> bytes:
    """``nopl 0x4c534d0X(%rax)`` reads nothing; ``mov $60,%eax; xor %edi,%edi; syscall`` is exit(0)."""
    marker = b"\x0f\x1f\x80" + struct.pack("<I", 0x4C534D00 | border.value)
    return marker + b"\xb8\x3c\x00\x00\x00" + b"\x31\xff" + b"\x0f\x05"


def _aarch64(border: Border) -> bytes:
    """``movz xzr, #0x4c0X, lsl #16`` writes nowhere; ``mov x8,#93; mov x0,#0; svc #0`` is exit(0)."""
    marker = 0xD2A00000 | (0x4C00 | border.value) << 5 | 31
    return struct.pack("<IIII", marker, 0xD2800BA8, 0xD2800000, 0xD4000001)
