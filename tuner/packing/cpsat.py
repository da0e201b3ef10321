# SPDX-License-Identifier: GPL-2.0-or-later
"""Places for the hot items by OR-Tools' CP-SAT, an optional library: the model of ``positions``, and its bound.

Every item of fixed length is an interval that overlaps no other. For each phase a hotspot is on the line that its byte
divided by the line's length gives, so two meet unless one's last line is before the other's first.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING

from linesmith.analyzer.layouts.placement import BYTE
from linesmith.tuner.packing.positions import FILL_WORK, Settled
from linesmith.tuner.packing.scene import Filling, Judged, Scene, rooms

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def place_hot(scene: Scene, known: int, work: float) -> Settled | None:
    """The cheapest order found that costs less than ``known`` units, and a bound for all orders.

    ``work`` is in units that the library counts itself, so that the same problem gives the same answer; one is one to
    five seconds.
    ``None`` where the model does not hold: no library, members without a fixed place in their item, or bit-fields.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        return None
    if not all(_rigid(scene, item) for item in scene.hot):
        return None
    model = _Model(scene, cp_model.CpModel())
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = work
    status = solver.solve(model.model)
    bound = max(0, ceil(solver.best_objective_bound - 1e-3))
    best = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        best = _order(scene, {item: solver.value(start) * BYTE for item, start in model.starts.items()})
    if best and best.units >= known:
        best = None
    return Settled(best, min(bound, best.units if best else known), 0)


def _rigid(scene: Scene, item: int) -> bool:
    """Whether the item has a fixed length and its members fixed places in it, in whole bytes."""
    shapes = scene.problem.items[item].shapes
    return all(shape.width is None and shape.alignment <= shapes[0].alignment for shape in shapes)


class _Model:
    """Variables and constraints; ``starts`` are bytes of the record by item."""

    def __init__(self, scene: Scene, model: cp_model.CpModel) -> None:
        self.model = model
        self._scene = scene
        self._present = scene.begins(range(len(scene.problem.items)))
        limits = rooms(scene)
        rigid = [item for item in range(len(limits)) if _rigid(scene, item)]
        self.starts = {item: self._start(item, *limits[item]) for item in rigid}
        sizes = {item: scene.placer.step(item, 0).end // BYTE for item in rigid}
        model.add_no_overlap(
            model.new_fixed_size_interval_var(self.starts[item], sizes[item], f"item{item}") for item in rigid
        )
        self._lines: dict[tuple[int, int, int], cp_model.IntVar] = {}
        model.minimize(sum(self._terms()))

    def _start(self, item: int, begin: int, end: int) -> cp_model.IntVar:
        """Where the item begins: a multiple of its alignment within its room."""
        one = self._scene.problem.items[item]
        step = one.shapes[0].alignment // BYTE
        last = end // BYTE - self._scene.placer.step(item, 0).end // BYTE
        if one.pinned is not None:
            return self.model.new_constant(one.pinned)
        last = last if one.latest is None else min(last, one.latest)
        place = self.model.new_int_var(-(-begin // BYTE // step), max(last // step, 0), f"place{item}")
        start = self.model.new_int_var(0, max(last, 0), f"start{item}")
        self.model.add(start == step * place)
        self.model.add_hint(start, self._present[item] // BYTE)
        return start

    def _terms(self) -> list[cp_model.LinearExpr]:
        """What each pair costs in each phase."""
        prices, found = self._scene.prices, []
        for (one, other), (weight, sizes) in prices.pairs.items():
            for line_bytes in sizes:
                self.model.add(self._meet(one, other, line_bytes, -self._scene.problem.base) == 0)
            costs = iter(prices.by_phase(weight).tolist())
            for grid in self._scene.problem.grids:
                for phase, _ in grid.phases:
                    met, units = self._meet(one, other, grid.line_bytes, phase), next(costs)
                    found.append(units * met if weight > 0 else units * (1 - met))
        return found

    def _meet(self, one: int, other: int, line_bytes: int, phase: int) -> cp_model.IntVar:
        """Whether two hotspots are on one line when the object has this phase."""
        before, behind, met = (self.model.new_bool_var("") for _ in range(3))
        self._ordered(one, other, line_bytes, phase, before)
        self._ordered(other, one, line_bytes, phase, behind)
        self.model.add(met + before + behind == 1)
        return met

    def _ordered(self, one: int, other: int, line_bytes: int, phase: int, literal: cp_model.IntVar) -> None:
        """``literal`` is whether the last line of ``one`` is before the first of ``other``."""
        last = self._line(one, self._scene.problem.hotspots[one].size - 1, line_bytes, phase)
        first = self._line(other, 0, line_bytes, phase)
        self.model.add(last < first).only_enforce_if(literal)
        self.model.add(last >= first).only_enforce_if(~literal)

    def _line(self, number: int, byte: int, line_bytes: int, phase: int) -> cp_model.IntVar:
        """The line of a byte of the hotspot."""
        spot = self._scene.problem.hotspots[number]
        begin = self._scene.placer.step(spot.item, 0).starts[spot.member] // BYTE
        shift = begin + spot.start + byte + (self._scene.problem.base + phase) % line_bytes
        key = spot.item, shift, line_bytes
        if key not in self._lines:
            most = (self._scene.placer.limit // BYTE + shift) // line_bytes + 1
            line = self.model.new_int_var(0, most, f"line{key}")
            at = self.starts[spot.item] + shift
            self.model.add(line_bytes * line <= at)
            self.model.add(at < line_bytes * line + line_bytes)
            self._lines[key] = line
        return self._lines[key]


def _order(scene: Scene, places: Mapping[int, int]) -> Judged | None:
    """An order with the hot items at these bits, or else with all items in the order of their places."""
    wanted = {item: places[item] for item in scene.hot}
    filled = Filling(scene, wanted, FILL_WORK).run()
    if filled.order:
        return scene.judge(filled.order)
    begins = scene.begins(range(len(scene.problem.items)))
    items = scene.problem.items
    return scene.judge(sorted(begins, key=lambda item: (items[item].segment, places.get(item, begins[item]), item)))
