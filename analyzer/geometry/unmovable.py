# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that are not rearranged at all, because others know their members by offset."""

from __future__ import annotations

from itertools import pairwise

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member, MemberCategory

# Types of a fixed byte order: include/uapi/linux/types.h, include/uapi/linux/virtio_types.h.
_ORDERED = frozenset(
    [f"__{order}{bits}" for order in ("le", "be", "virtio") for bits in (16, 32, 64)] + ["__sum16", "__wsum"]
)
_SYSTEM = ("/usr/include/", "/usr/lib/")
# Records over struct page, which describes a page frame: include/linux/mm_types.h, mm/slab.h.
_PAGE = frozenset(("page", "folio", "slab", "ptdesc", "zpdesc"))
# Records that entry code or the CPU fills: the header or file that declares them.
_BY_HARDWARE = {
    "pt_regs": "arch/x86/include/asm/ptrace.h",
    "inactive_task_frame": "arch/x86/include/asm/switch_to.h",
    "fixed_percpu_data": "arch/x86/include/asm/processor.h",
    "cpu_entry_area": "arch/x86/include/asm/cpu_entry_area.h",
    "gdt_page": "arch/x86/include/asm/desc.h",
}
# Records inside records are looked at this deep.
_DEPTH = 8


def unmovable(layout: Layout, layouts: Layouts) -> str | None:
    """Why the members of ``layout`` must all stay where they are, or ``None``."""
    file = layout.file or ""
    if is_user_abi(file):
        return f"{file} declares it, so programs rely on its offsets"
    if file.startswith(_SYSTEM):
        return f"{file} declares it, which other programs share"
    if layout.name in _PAGE and layouts.variants("page") and layouts.variants("folio"):
        return "it lies over the same memory as struct page, folio and slab, and assertions keep them in step"
    if f"/{file}".endswith(f"/{_BY_HARDWARE.get(layout.name)}"):
        return "entry code or the CPU knows its offsets"
    if _exchanged(layout, layouts) and _ordered(layout, layouts):
        return "its members have a fixed byte order, so it is read and written by others"
    if shuffled(layout):
        return "its members are not in the order of their declarations: a compiler plugin has shuffled them"
    return None


def is_user_abi(file: str) -> bool:
    """Whether ``file`` lies in one of the kernel's folders of headers that user space shares."""
    return "/uapi/" in f"/{file}"


def shuffled(layout: Layout) -> bool:
    """Whether members come in another order than the lines that declare them."""
    lines = [member.line for member in layout.members if member.line is not None]
    return any(one > other for one, other in pairwise(lines))


def _exchanged(layout: Layout, layouts: Layouts, depth: int = 0) -> bool:
    """Whether all that it holds is bytes and numbers of a fixed byte order."""
    return depth < _DEPTH and all(_plain(member, layouts, depth) for member in layout.members)


def _plain(member: Member, layouts: Layouts, depth: int) -> bool:
    if member.record is not None:
        return _exchanged(layouts.by_id(member.record), layouts, depth + 1)
    return member.category is MemberCategory.SCALAR and (member.natural_alignment == 1 or _bare(member) in _ORDERED)


def _ordered(layout: Layout, layouts: Layouts, depth: int = 0) -> bool:
    """Whether it holds a number of a fixed byte order."""
    return depth < _DEPTH and any(
        _bare(member) in _ORDERED
        or (member.record is not None and _ordered(layouts.by_id(member.record), layouts, depth + 1))
        for member in layout.members
    )


def _bare(member: Member) -> str:
    return member.type.removeprefix("const ").removeprefix("volatile ").strip()
