# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether "remote" and "local" of a report count HITM loads or peer snoops."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.plugins.profiles.draft import Draft

# x86-64 maps kernel text and modules into the last 2 GiB (Documentation/x86/x86_64/mm.rst); arm64 has 48 or 52
# bits of kernel addresses below it and perf c2c shows peers there by default (since 6.0).
_X86_KERNEL_TEXT = 0xFFFFFFFF80000000
_ARM64_KERNEL = 0xFFF0000000000000


def display_of(draft: Draft) -> tuple[str, str]:
    """``hitm`` or ``peer``, and a sentence for the reader when neither a heading nor the counts prove it."""
    if draft.peer is not None:
        return ("peer" if draft.peer else "hitm"), ""
    by_counts = _by_counts(draft)
    if by_counts is not None:
        return by_counts, ""
    if all(len(row.shares) != 5 for block in draft.blocks for row in block.rows):
        return "hitm", ""
    return _by_addresses(draft)


def _by_counts(draft: Draft) -> str | None:
    """The table repeats the HITM counts in its last columns: where they differ, its first ones count peers."""
    pairs: list[tuple[int, int]] = []
    for row in draft.table:
        counts = dict(row.counts)
        if "llc_hitm" in counts:
            pairs += [(counts["local"], counts["llc_hitm"]), (counts["remote"], counts["rmt_hitm"])]
    if not any(first or second for first, second in pairs):
        return None
    return "hitm" if all(first == second for first, second in pairs) else "peer"


def _by_addresses(draft: Draft) -> tuple[str, str]:
    addresses = list(_kernel_code(draft))
    if any(address >= _X86_KERNEL_TEXT for address in addresses):
        return "hitm", ""
    if any(address >= _ARM64_KERNEL for address in addresses):
        return "peer", "no heading says what was counted; kernel addresses are of arm64, so peer snoops are assumed"
    return "hitm", "no heading says whether HITM or peer snoops were counted; HITM is assumed"


def _kernel_code(draft: Draft) -> Iterator[int]:
    for block in draft.blocks:
        for row in block.rows:
            if row.kernel and "code_address" in row.numbers:
                yield row.numbers["code_address"]
