# SPDX-License-Identifier: GPL-2.0-or-later
"""Areas of vmalloc memory with the function that asked for them, and stacks wherever they lie."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import drgn
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.mm import for_each_vmap_area
from drgn.helpers.linux.percpu import per_cpu
from drgn.helpers.linux.pid import for_each_task

from linesmith.analyzer.model import ObjectArea, ObjectKind

# Functions that ask for the stacks of interrupts.
_INTERRUPT_STACKS = frozenset({"irq_init_percpu_irqstack", "map_irq_stack", "init_irq_stacks", "arch_alloc_vmap_stack"})


class AreaMap:
    """Areas that do not overlap, by address."""

    def __init__(self, areas: list[ObjectArea]) -> None:
        """Sorts the areas."""
        self._areas = sorted(areas, key=lambda area: area.address)
        self._starts = [area.address for area in self._areas]

    def area(self, address: int) -> ObjectArea | None:
        """The area that holds ``address``."""
        index = bisect_right(self._starts, address) - 1
        area = self._areas[index] if index >= 0 else None
        return area if area is not None and address < area.end else None


def stacks(program: drgn.Program) -> AreaMap:
    """The stacks of all tasks, idle ones included."""
    size = _stack_bytes(program)
    # A task that has ended gives its stack back before it leaves the list.
    starts = {task.stack.value_() for task in _tasks(program)} - {0}
    return AreaMap([ObjectArea(ObjectKind.STACK, "task stack", start, size, size) for start in starts])


def vmalloc(program: drgn.Program, stack: AreaMap) -> AreaMap:
    """Every vmalloc area; what has a caller in common with the stack of a task is a stack, also one kept for reuse."""
    rows = list(_rows(program))
    callers = _INTERRUPT_STACKS | {caller for start, _, caller in rows if caller and stack.area(start)}
    return AreaMap([_area(start, size, caller, caller in callers) for start, size, caller in rows])


def _area(start: int, size: int, caller: str | None, is_stack: bool) -> ObjectArea:
    kind, name = (ObjectKind.STACK, "stack") if is_stack else (ObjectKind.VMALLOC, caller or "vmalloc")
    return ObjectArea(kind, name, start, size, size, detail=f"allocated by {caller}" if caller else "")


def _rows(program: drgn.Program) -> Iterator[tuple[int, int, str | None]]:
    """Start, size in bytes without the guard page, and caller."""
    guard = program["PAGE_SIZE"].value_()
    for area in for_each_vmap_area(program):
        start, end = area.va_start.value_(), area.va_end.value_()
        vm = area.vm
        if not vm:
            yield start, end - start, None
            continue
        pages = vm.nr_pages.value_() * guard
        yield start, pages or max(end - start - guard, guard), _function(program, vm.caller.value_())


def _function(program: drgn.Program, address: int) -> str | None:
    try:
        symbol: drgn.Symbol = program.symbol(address)
    except LookupError:
        return None
    return str(symbol.name)


def _tasks(program: drgn.Program) -> Iterator[drgn.Object]:
    yield program["init_task"]
    yield from for_each_task(program)
    try:
        idle = program["idle_threads"]
    except LookupError:
        return
    yield from (thread for cpu in for_each_possible_cpu(program) if (thread := per_cpu(idle, cpu)))


def _stack_bytes(program: drgn.Program) -> int:
    symbols = (symbol for name in ("init_stack", "init_thread_union") for symbol in program.symbols(name))
    size = next((symbol.size for symbol in symbols if symbol.size), 0)
    return size or 4 * int(program["PAGE_SIZE"].value_())
