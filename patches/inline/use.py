# SPDX-License-Identifier: GPL-2.0-or-later
"""What an expression does with the pointer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model import Refusal


class Role(StrEnum):
    """What is done with ``x->p`` at one place; an object in the pointer's place can stand for all but the last."""

    MEMBER = "x->p->f"
    OBJECT = "*x->p"
    VALUE = "x->p"
    ALLOCATION = "x->p = kmalloc()"
    ALLOCATION_CHECK = "if (!x->p) behind the allocation"
    RELEASE = "kfree(x->p)"
    RELEASE_CHECK = "if (x->p) in front of the release"
    CLEARED = "x->p = NULL"
    TEST = "if (x->p)"
    STANDING = "it stands in the way"


@dataclass(frozen=True, slots=True)
class Use:
    """One place where the pointer is used, in ``function`` (empty outside of all).

    ``holder`` is the record that has it, as written. ``callee`` is the function called with it, ``cache`` the slab
    cache that the object is taken from, ``source`` what it is copied from; each is empty where there is none.
    ``clears`` tells that the object may be all zero, ``sole`` that the ``if`` that it is all of goes too.
    ``refusal`` says what stands in the way.
    """

    file: str
    line: int
    role: Role
    function: str = ""
    holder: str = ""
    callee: str = ""
    cache: str = ""
    source: str = ""
    clears: bool = False
    sole: bool = False
    refusal: Refusal | None = None

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"
