# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands in the way of an object's becoming a member, besides the single uses, and who relies on the record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from linesmith.analyzer.model import DependencyKind, Refusal, RefusalCode
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.uses import PointerUse, Role
from linesmith.patches.scan.text_scan import RecordText
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import without_comments

_RELYING = frozenset(
    (DependencyKind.ASSERTION, DependencyKind.OFFSET_RANGE, DependencyKind.PARTIAL_COPY, DependencyKind.ASM_OFFSET)
)
_SHOWN = 6
_COUNTED = re.compile(rb"\b(?:struct\s+kref|refcount_t|struct\s+kobject|struct\s+percpu_ref)\s+(\w+)\s*;")
_FLEXIBLE = re.compile(rb"\[\s*\]\s*;\s*\Z|DECLARE_FLEX_ARRAY[^;]*;\s*\Z")


def reliance(pointer: PointerMember, sources: Mapping[str, bytes]) -> tuple[list[Refusal], list[Refusal]]:
    """What ``sources``, the files that name the record, rely on: initialisers by position, and all else."""
    title = pointer.outer.record.title
    looking = RecordText(pointer.outer.record.name)
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    for file, source in sources.items():
        for one in looking.places(file, source).places:
            place = f"{file}:{one.line}"
            if one.kind is DependencyKind.POSITIONAL:
                reason = f"an initialiser of a {title} gives values by position, and the object comes last"
                lift = "name the members in the initialiser"
                certain.append(Refusal(RefusalCode.POSITIONAL, place, reason, lift))
            elif one.kind in _RELYING:
                reason = f"{one.kind.value} of {title} (`{one.text[:60]}`)"
                lift = f"check that it holds when {title} is larger and `{pointer.name}` its last member"
                possible.append(Refusal(RefusalCode.OFFSET, place, reason, lift))
    return certain, possible


def unfit(pointer: PointerMember, target: Declared) -> Iterator[Refusal]:
    """Why an object of the type can be no member of the record."""
    body = without_comments(target.source)[target.record.opening : target.record.closing]
    if counted := _COUNTED.search(body):
        reason = f"{pointer.target} counts its users (`{counted[1].decode()}`), so it may live longer than its holder"
        yield Refusal(RefusalCode.COUNTED, target.place, reason)
    if _FLEXIBLE.search(body):
        reason = f"{pointer.target} ends with an array without a length"
        yield Refusal(RefusalCode.LARGER, target.place, reason)
    holds = re.search(rb"\bstruct\s+" + re.escape(pointer.outer.record.name.encode()) + rb"\s+\w+\s*[;\[]", body)
    if holds or pointer.record == pointer.outer.record.name:
        reason = f"{pointer.target} holds {pointer.outer.record.title} itself"
        yield Refusal(RefusalCode.TYPE_ORDER, target.place, reason)


def unowned(pointer: PointerMember, uses: Sequence[PointerUse]) -> Iterator[Refusal]:
    """Without a release that is seen a function frees the object; without an allocation it is another one's."""
    codes = [use.refusal.code for use in uses if use.refusal is not None]
    allocations = [use for use in uses if use.role is Role.ALLOCATION]
    made = [use for use in allocations if not use.callee.startswith("devm_")]
    if made and not codes and not any(use.role is Role.RELEASE for use in uses):
        callees = dict.fromkeys(use.callee for use in uses if use.role is Role.VALUE and use.callee)
        to = f", which is passed to {', '.join(list(callees)[:_SHOWN])}" if callees else ""
        reason = f"no code that frees `{pointer.name}` was found{to}"
        lift = "free it through the member first, in the function that frees the record"
        yield Refusal(RefusalCode.FREED_ELSEWHERE, made[0].place, reason, lift)
    if not allocations and not {RefusalCode.UNKNOWN_ALLOCATION, RefusalCode.SHARED} & set(codes):
        reason = f"no allocation into `{pointer.name}` was found, so the object belongs to something else"
        yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, pointer.place, reason)
