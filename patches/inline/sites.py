# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands in the way of the object's becoming a member, and what a person should look at."""

from __future__ import annotations

import re
from collections.abc import Iterator

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.declaration import Declared
from linesmith.patches.inline.find import Found
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.use import Role
from linesmith.patches.masking import without_comments

_SHOWN = 6
_COUNTED = re.compile(rb"\b(?:struct\s+kref|refcount_t|struct\s+kobject|struct\s+percpu_ref)\s+(\w+)\s*;")


def standing(pointer: PointerMember, target: Declared, found: Found, allowed: frozenset[Role]) -> tuple[Refusal, ...]:
    """All that stands in the way, in the order of files and lines; uses of the roles ``allowed`` do not."""
    uses = [use.refusal for use in found.uses if use.refusal is not None and use.role not in allowed]
    released = tuple(_never_released(pointer, found))
    return (*_of_type(pointer, target), *uses, *found.standing, *released, *_never_allocated(pointer, found))


def _of_type(pointer: PointerMember, target: Declared) -> Iterator[Refusal]:
    body = without_comments(target.source)[target.record.opening : target.record.closing]
    if counted := _COUNTED.search(body):
        reason = f"{pointer.target} counts its users (`{counted[1].decode()}`), so it may live longer than its holder"
        yield Refusal(RefusalCode.COUNTED, target.place, reason)
    if re.search(rb"\[\s*\]\s*;\s*\Z|DECLARE_FLEX_ARRAY[^;]*;\s*\Z", body):
        reason = f"{pointer.target} ends with an array without a length"
        yield Refusal(RefusalCode.LARGER, target.place, reason)
    holds = re.search(rb"\bstruct\s+" + re.escape(pointer.outer.record.name.encode()) + rb"\s+\w+\s*[;\[]", body)
    if holds or pointer.record == pointer.outer.record.name:
        reason = f"{pointer.target} holds {pointer.outer.record.title} itself"
        yield Refusal(RefusalCode.TYPE_ORDER, target.place, reason)


def _never_allocated(pointer: PointerMember, found: Found) -> Iterator[Refusal]:
    """Without an allocation that is seen the object is another one's."""
    if not any(use.role is Role.ALLOCATION for use in found.uses) and not _explained(found):
        reason = f"no allocation into `{pointer.name}` was found, so the object belongs to something else"
        yield Refusal(RefusalCode.UNKNOWN_ALLOCATION, pointer.place, reason)


def _never_released(pointer: PointerMember, found: Found) -> Iterator[Refusal]:
    """Without a release that is seen, some function that gets the pointer frees the object."""
    made = [use for use in found.uses if use.role is Role.ALLOCATION and not use.callee.startswith("devm_")]
    if not made or any(use.role is Role.RELEASE or use.refusal is not None for use in found.uses):
        return
    given = dict.fromkeys(use.callee for use in found.uses if use.role is Role.VALUE and use.callee)
    to = f", which is given to {', '.join(list(given)[:_SHOWN])}" if given else ""
    reason = f"nothing is seen to free `{pointer.name}`{to}"
    lift = "free it by way of the member first, in the function that frees the record"
    yield Refusal(RefusalCode.FREED_ELSEWHERE, made[0].place, reason, lift)


def _explained(found: Found) -> bool:
    codes = (RefusalCode.UNKNOWN_ALLOCATION, RefusalCode.SHARED)
    return any(use.refusal is not None and use.refusal.code in codes for use in found.uses)
