# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel itself says about where its objects lie: its lists, walked with drgn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import drgn
from drgn.helpers.linux.fs import for_each_mount
from drgn.helpers.linux.list import list_for_each_entry
from drgn.helpers.linux.mm import for_each_vma
from drgn.helpers.linux.pid import for_each_task


@dataclass(frozen=True)
class Listed:
    """An object of a list; ``size`` in bytes as its record declares."""

    record: str
    address: int
    size: int

    @property
    def middle(self) -> int:
        """An address within the object, wherever the machine cuts the end of its record."""
        return self.address + self.size // 3


def listed(program: drgn.Program) -> list[Listed]:
    """Tasks with what hangs on them, and super blocks with the inodes of each."""
    found = {*_of_tasks(program), *_of_mounts(program)}
    return [
        Listed(record, address, program.type(f"struct {record}").size) for record, address in sorted(found) if address
    ]


def _of_tasks(program: drgn.Program) -> Iterator[tuple[str, int]]:
    hanging = {"signal": "signal_struct", "sighand": "sighand_struct", "cred": "cred", "fs": "fs_struct"}
    for task in for_each_task(program):
        yield "task_struct", task.value_()
        for member, record in (hanging | {"files": "files_struct"}).items():
            yield record, task.member_(member).value_()
        if task.mm:
            yield "mm_struct", task.mm.value_()
            yield from _of_mappings(task.mm)


def _of_mappings(mm: drgn.Object) -> Iterator[tuple[str, int]]:
    for mapping in for_each_vma(mm):
        yield "vm_area_struct", mapping.value_()
        yield "anon_vma", mapping.anon_vma.value_()
        if mapping.vm_file:
            yield "file", mapping.vm_file.value_()
            yield "dentry", mapping.vm_file.f_path.dentry.value_()


def _of_mounts(program: drgn.Program) -> Iterator[tuple[str, int]]:
    for mount in for_each_mount(program):
        block = mount.mnt.mnt_sb
        yield "super_block", block.value_()
        for inode in list_for_each_entry("struct inode", block.s_inodes.address_of_(), "i_sb_list"):
            yield "inode", inode.value_()
