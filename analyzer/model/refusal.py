# SPDX-License-Identifier: GPL-2.0-or-later
"""Why an edit of a source was not made, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RefusalCode(StrEnum):
    """The kinds of refusal; ``docs/refusals.md`` explains each."""

    ALWAYS_SUCCEEDS = "always-succeeds"
    AMBIGUOUS = "ambiguous-declaration"
    ANNOTATED_POINTER = "annotated-pointer"
    BIT_FIELDS = "bit-fields"
    BRACE_LINE = "brace-line"
    CACHE_ALIGNMENT = "cache-alignment"
    CACHE_LEFT = "cache-left"
    CONDITIONAL = "conditional"
    COPIED_OBJECT = "copied-object"
    COUNTED = "counted-object"
    DECLARED_TWICE = "declared-twice"
    FREED_ELSEWHERE = "freed-elsewhere"
    GROUP = "cacheline-group"
    INITIALISER = "initialiser"
    IN_MACRO = "in-macro"
    JOINT = "joint-declaration"
    LARGER = "larger-object"
    MARKER = "marker"
    MENTIONED = "mentioned"
    NAME_TAKEN = "name-taken"
    NEEDS_OBJECT = "needs-object"
    NOTHING_TO_REPLACE = "nothing-to-replace"
    NOT_ADJACENT = "not-adjacent"
    NOT_ALONE = "not-alone"
    NOT_C = "not-c"
    NOT_COMPILED = "not-compiled"
    NOT_PARSED = "not-parsed"
    NOT_WRITTEN = "not-written"
    NO_MARKERS = "no-markers"
    NO_STRUCT = "no-struct"
    NULL_TEST = "null-test"
    OFFSET = "offset"
    OTHER_ORDER = "other-order"
    OTHER_PROGRAM = "other-program"
    PACKED = "packed"
    POINTER_KIND = "pointer-kind"
    POSITIONAL = "positional-initialiser"
    PUBLISHED = "published-pointer"
    SHARED = "shared-object"
    TYPE_ORDER = "type-order"
    TYPE_UNKNOWN = "type-unknown"
    UNKNOWN_ALLOCATION = "unknown-allocation"
    USER_ABI = "user-abi"
    WHOLE_ASSIGNMENT = "whole-assignment"


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
