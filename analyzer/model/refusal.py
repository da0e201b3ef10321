# SPDX-License-Identifier: GPL-2.0-or-later
"""Why an edit of a source was not made, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RefusalCode(StrEnum):
    """The kinds of refusal; ``docs/refusals.md`` explains each."""

    AMBIGUOUS = "ambiguous-declaration"
    BIT_FIELDS = "bit-fields"
    BRACE_LINE = "brace-line"
    CONDITIONAL = "conditional"
    DECLARED_TWICE = "declared-twice"
    GROUP = "cacheline-group"
    JOINT = "joint-declaration"
    MARKER = "marker"
    NO_STRUCT = "no-struct"
    NOT_ALONE = "not-alone"
    NOT_C = "not-c"
    NOT_WRITTEN = "not-written"
    OTHER_ORDER = "other-order"
    USER_ABI = "user-abi"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One place that was not touched.

    ``place`` is ``file:line`` relative to the tree, ``reason`` a clause for the user, ``lift`` what a person can do so
    that the edit becomes possible; empty where nothing can be done.
    """

    code: RefusalCode
    place: str
    reason: str
    lift: str = ""

    def __str__(self) -> str:
        remedy = f"; {self.lift}" if self.lift else ""
        return f"{self.place}: {self.reason}{remedy}"
