# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map of a real kernel and of a real module: facts that the source gives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from keeping import Keeper
from kernel_index import cached_kernel

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_in, accesses_of, summary, touched_alone
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import AccessOutcome, TypeAccesses

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("access of the kernel")]


@dataclass(frozen=True)
class Kernel:
    layouts: Layouts
    accesses: AccessMap


@pytest.fixture(scope="module")
def kernel(vmlinux: Path, kept: Keeper) -> Kernel:
    with cached_kernel(vmlinux, kept):
        return Kernel(read_layouts(vmlinux).layouts, read_accesses(vmlinux).accesses)


def touching(name: str, kernel: Kernel) -> TypeAccesses:
    return accesses_of(kernel.layouts.variants(name)[0], kernel.layouts, kernel.accesses)


def test_every_access_has_one_outcome_and_most_are_resolved(kernel: Kernel) -> None:
    found = summary(kernel.accesses)
    assert sum(count for _, count in found.outcomes) == found.accesses > 500_000
    assert found.coverage >= 0.85
    assert dict(found.outcomes)[AccessOutcome.UNDECODED] < found.accesses / 1000


def test_an_interval_tree_rebalances_the_areas_in_it(kernel: Kernel) -> None:
    (found,) = accesses_in("vma_interval_tree_remove", kernel.accesses)
    places = {one.place for one in found.accesses if one.outcome.resolved}
    assert {
        "struct vm_area_struct.shared.rb.rb_left",
        "struct vm_area_struct.shared.rb.rb_right",
        "struct vm_area_struct.shared.rb_subtree_last",
        "struct rb_root_cached.rb_leftmost",
    } <= places
    assert any("__rb_erase_augmented" in one.inlined for one in found.accesses)


def test_the_mapping_of_an_inode_is_touched_by_way_of_the_inode(kernel: Kernel) -> None:
    found = touching("address_space", kernel)
    assert ("struct inode", "i_data") in {(one.type, one.path) for one in found.embeddings}
    members = {one.path: one for one in found.members}
    assert "filemap_fault" in members["a_ops"].readers
    assert "inode_init_always" in members["a_ops"].writers
    assert members["host"].counts.reads > 100


def test_a_lock_is_taken_by_code_that_knows_the_lock_only(kernel: Kernel) -> None:
    assert touched_alone(kernel.layouts.variants("rw_semaphore")[0].id, kernel.accesses)
    owner = {one.path: one for one in touching("rw_semaphore", kernel).members}["owner"]
    assert "down_write" in owner.writers


def test_the_current_task_is_a_variable_of_the_cpu(kernel: Kernel) -> None:
    (found,) = accesses_in("do_exit", kernel.accesses)
    assert ("current_task", AccessOutcome.PER_CPU) in {(one.variable, one.outcome) for one in found.accesses}
