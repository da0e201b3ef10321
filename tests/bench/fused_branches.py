# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditional jumps of x86-64 that run as one with the comparison in front of them: a sample names the jump.

Source: Intel 64 and IA-32 Architectures Optimization Reference Manual, 3.4.2.2 (macro-fusion); volume 2, 2.1 (formats).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

LONGEST_INSTRUCTION = 15
_PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0xF0))
# Bytes of the immediate number by opcode. The operations with one register take none.
_IMMEDIATE = {0x80: 1, 0x81: 4, 0x83: 1, 0xF6: 1, 0xF7: 4, 0xFE: 0, 0xFF: 0, 0x84: 0, 0x85: 0}
_IMMEDIATE |= {base + form: 0 for base in (0x00, 0x08, 0x20, 0x28, 0x30, 0x38) for form in range(4)}
Code = Callable[[int, int], bytes]  # (address, bytes) -> what lies there


def is_conditional_jump(code: bytes) -> bool:
    """Whether an instruction begins so."""
    return 0x70 <= code[0] <= 0x7F or (code[0] == 0x0F and 0x80 <= code[1] <= 0x8F) if len(code) > 1 else False


def is_address_only(code: bytes) -> bool:
    """Whether the instruction (``lea``) computes an address and touches nothing there."""
    return _after_prefixes(code)[:1] == b"\x8d"


def length_of_comparison(code: bytes) -> int:
    """Bytes of an arithmetic or test instruction with a memory operand that could fuse with a jump; 0 for others."""
    rest = _after_prefixes(code)
    if len(rest) < LONGEST_INSTRUCTION // 2 or rest[0] not in _IMMEDIATE or rest[1] >= 0xC0:
        return 0
    mode, base = rest[1] >> 6, rest[1] & 7
    length = 2 + (base == 4) + (0, 1, 4)[mode]
    if mode == 0 and (base == 5 or (base == 4 and rest[2] & 7 == 5)):
        length += 4
    immediate = _IMMEDIATE[rest[0]] if rest[0] not in (0xF6, 0xF7) or rest[1] & 0x38 <= 8 else 0
    if immediate == 4 and 0x66 in code[: len(code) - len(rest)]:
        immediate = 2
    return len(code) - len(rest) + length + immediate


def _after_prefixes(code: bytes) -> bytes:
    start = 0
    while start < len(code) and code[start] in _PREFIXES:
        start += 1
    return code[start + 1 :] if start < len(code) and code[start] & 0xF0 == 0x40 else code[start:]


def in_front(address: int, candidates: Sequence[int], code: Code) -> int | None:
    """The one of ``candidates`` (addresses) that is such a comparison and ends where ``address`` begins."""
    ends = (one for one in candidates if one + length_of_comparison(code(one, LONGEST_INSTRUCTION)) == address)
    return next(ends, None)
