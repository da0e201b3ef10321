# SPDX-License-Identifier: GPL-2.0-or-later
"""How many pages SLUB takes for a slab (mm/slub.c, calculate_order).

At least ``4 * (bits of the number of CPUs + 1)`` objects should share a slab, and at most a sixteenth of it be left
over; what cannot be had is given up step by step, in another manner before Linux 6.7. The limit of 32,767 objects is
left out: the largest pages that linesmith knows, of 64 KiB, hold 8,192 of the smallest.
"""

from __future__ import annotations

from linesmith.analyzer.model import SlabMachine

# PAGE_ALLOC_COSTLY_ORDER: larger slabs are made only for objects that need them.
MOST = 3
_SIMPLER = (6, 7)


def order_of(stride: int, machine: SlabMachine) -> int:
    """The order of a slab of objects ``stride`` bytes apart: it has ``1 << order`` pages."""
    wanted = min(_wanted_objects(machine), max(_objects(MOST, stride, machine), 1))
    if machine.release >= _SIMPLER:
        return _by_waste(stride, wanted, machine)
    return _by_objects(stride, wanted, machine)


def _wanted_objects(machine: SlabMachine) -> int:
    return 4 * (machine.cpus.bit_length() + 1)


def _objects(order: int, stride: int, machine: SlabMachine) -> int:
    return (machine.page_bytes << order) // stride


def least_order(size: int, page_bytes: int) -> int:
    """The order of the smallest block of pages that holds ``size`` bytes."""
    return (-(-size // page_bytes) - 1).bit_length()


def _by_waste(stride: int, wanted: int, machine: SlabMachine) -> int:
    """Since 6.7: the number of objects stands, ever more waste is accepted."""
    least = least_order(wanted * stride, machine.page_bytes)
    for fraction in (16, 8, 4, 2):
        order = _first_fit(stride, least, fraction, machine)
        if order is not None:
            return order
    return least_order(stride, machine.page_bytes)


def _by_objects(stride: int, wanted: int, machine: SlabMachine) -> int:
    """Before 6.7: up to a quarter of waste is accepted, then fewer objects are."""
    for objects in range(wanted, 1, -1):
        for fraction in (16, 8, 4):
            order = _first_fit(stride, least_order(objects * stride, machine.page_bytes), fraction, machine)
            if order is not None:
                return order
    return least_order(stride, machine.page_bytes)


def _first_fit(stride: int, least: int, fraction: int, machine: SlabMachine) -> int | None:
    """The smallest order from ``least`` on that leaves at most one part in ``fraction`` over."""
    for order in range(least, MOST + 1):
        slab = machine.page_bytes << order
        if slab % stride <= slab // fraction:
            return order
    return None
