# SPDX-License-Identifier: GPL-2.0-or-later
"""A rule that binds a record, in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ConstraintKind(StrEnum):
    """The rule that binds; the value is what a user reads."""

    FIRST = "stays first"
    LAST = "stays last"
    MARKER = "stays between the same members"
    GROUP = "moves as a whole"
    BIT_FIELDS = "move together"
    BIT_FIELDS_APART = "stays apart from other bit-fields"
    ALIGNED = "keeps its alignment"
    RANGE = "moves with its range"
    BLOCK = "moves with its block"
    POSITION = "keeps its turn"
    OFFSET = "keeps its offset"
    APART = "stays on another line"
    SIZE = "is limited in size"
    RANDOMIZED = "may be shuffled"
    BASE = "is what others begin with"
    FREE_POINTER = "shares its place"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One rule for one atom (or the record, by its title); ``source`` is where the rule comes from.

    ``everywhere`` tells a rule that limits every order from one that only binds those who move ``member``.
    """

    kind: ConstraintKind
    member: str
    reason: str
    source: str
    everywhere: bool = False

    def __str__(self) -> str:
        return f"{self.member} {self.kind.value}: {self.reason}"
