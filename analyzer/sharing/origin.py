# SPDX-License-Identifier: GPL-2.0-or-later
"""On which CPUs and NUMA nodes accesses happened, as far as a profile tells."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from linesmith.analyzer.model import Access

# As `perf c2c report` prints nodes: `0 1`, with -N `0{ 2 100.0% n/a}` (CPUs and shares), with -NN `0{0-1,4}` (CPUs).
_NODE = re.compile(r"(\d{1,5})(?:\{([^{}]*)\})?")
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_MOST_CPUS = 1 << 16


@dataclass(frozen=True, slots=True)
class Origin:
    """CPUs and nodes; ``cpus`` is ``None`` where only their number is known, ``count`` at least how many there are."""

    cpus: frozenset[int] | None
    nodes: frozenset[int]
    count: int | None


def origin(accesses: Iterable[Access]) -> Origin:
    """Where the accesses came from, all taken together."""
    found = [_of_one(access) for access in accesses]
    known = [one.cpus for one in found if one.cpus is not None]
    cpus = frozenset().union(*known) if found and len(known) == len(found) else None
    counts = [one.count for one in found if one.count is not None]
    least = max((len(cpus) if cpus else 0, *counts), default=0)
    return Origin(cpus, frozenset().union(*(one.nodes for one in found)), least or None)


def _of_one(access: Access) -> Origin:
    if access.by_cpu:
        nodes = frozenset(one.node for one in access.by_cpu if one.node is not None)
        cpus = frozenset(one.cpu for one in access.by_cpu)
        return Origin(cpus, nodes, len(cpus))
    nodes, listed = _listed(access.nodes or "")
    return Origin(listed, nodes, len(listed) if listed else access.cpus)


def _listed(text: str) -> tuple[frozenset[int], frozenset[int] | None]:
    """Nodes, and CPUs where each node has a list of them."""
    found = [(int(node), body) for node, body in _NODE.findall(text)]
    nodes = frozenset(node for node, _ in found)
    if not found or any(not body.strip() or "%" in body or "n/a" in body for _, body in found):
        return nodes, None
    return nodes, frozenset().union(*(_cpus(body) for _, body in found))


def _cpus(body: str) -> frozenset[int]:
    cpus: set[int] = set()
    for first, last in _RANGE.findall(body):
        end = int(last or first)
        cpus.update(range(int(first), min(end, int(first) + _MOST_CPUS) + 1))
    return frozenset(cpus)
