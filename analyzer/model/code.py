# SPDX-License-Identifier: GPL-2.0-or-later
"""What the code of one function says about the memory it works on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Touched:
    """A record type that a function can reach, and by which variable.

    ``via`` is ``parameter``, ``variable`` or ``return``; ``inlined_from`` names the inlined function that
    owns the variable; ``read_only`` tells a pointer to const. Source: DW_TAG_formal_parameter,
    DW_TAG_variable, DW_TAG_inlined_subroutine.
    """

    function: str
    record: str
    variable: str
    via: str
    inlined_from: str | None = None
    read_only: bool = False
    by_value: bool = False


@dataclass(frozen=True, slots=True)
class Operand:
    """A memory operand of a function's code: ``displacement`` bytes from what a register points to, ``width`` bytes.

    Stack, instruction-relative and segment-relative operands are none. One value per distinct operand.
    """

    function: str
    displacement: int
    width: int
    reads: bool
    writes: bool
    atomic: bool
