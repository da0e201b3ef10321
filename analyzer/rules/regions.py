# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a record lies in one place before and now: members of the same bytes, and those that took others' places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from linesmith.analyzer.geometry import Named

Cluster = tuple[Named, ...]
_Kinds = tuple[tuple[str, int], ...]
_Ends = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Region:
    """Members ``before`` and ``after`` that belong together; one side is empty where nothing was, or nothing is."""

    before: tuple[Named, ...]
    after: tuple[Named, ...]

    @property
    def added(self) -> int:
        """How many bytes more members lie on."""
        return _bytes(self.after) - _bytes(self.before)


@dataclass(frozen=True, slots=True)
class _Run:
    """Clusters of one build alone that follow one another, between two regions that both builds have."""

    ends: _Ends
    clusters: tuple[Cluster, ...]


def regions(before: Iterable[Named], after: Iterable[Named]) -> Iterator[Region]:
    """Every member of both builds in one region, in no order; members without bytes are in none.

    What shares bytes in either build is one, and so is what went with what came between the same neighbours. Of these
    a member that is as large and of the same type is the one that went, with another name.
    """
    olds, news = clusters(before), clusters(after)
    roots = _joined(olds, news)
    own, other = roots[: len(olds)], roots[len(olds) :]
    both = set(own) & set(other)
    was, now = _by_root(olds, own), _by_root(news, other)
    yield from (Region(tuple(was[root]), tuple(now[root])) for root in both)
    yield from _alone(_runs(olds, own, both), _runs(news, other, both))


def clusters(members: Iterable[Named]) -> list[Cluster]:
    """Members that lie on one another, together, by offset."""
    found: list[list[Named]] = []
    end = 0
    for one in sorted((one for one in members if one.span.size), key=lambda one: (one.offset, one.path)):
        if found and one.offset < end:
            found[-1].append(one)
        else:
            found.append([one])
        end = max(end, one.end)
    return [tuple(cluster) for cluster in found]


def _joined(olds: Sequence[Cluster], news: Sequence[Cluster]) -> list[int]:
    """For each cluster, first those of before, the number of the group it is in: that of all that share a name."""
    parents = list(range(len(olds) + len(news)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    named = {one.path: number for number, cluster in enumerate(olds) for one in cluster}
    for number, cluster in enumerate(news, len(olds)):
        for one in cluster:
            if one.path in named:
                parents[root(number)] = root(named[one.path])
    return [root(number) for number in range(len(parents))]


def _by_root(clusters: Sequence[Cluster], roots: Sequence[int]) -> dict[int, list[Named]]:
    found: dict[int, list[Named]] = {}
    for cluster, root in zip(clusters, roots, strict=True):
        found.setdefault(root, []).extend(cluster)
    return found


def _runs(clusters: Sequence[Cluster], roots: Sequence[int], both: set[int]) -> list[_Run]:
    found: list[_Run] = []
    last: int | None = None
    open_: list[Cluster] = []
    for cluster, root in zip(clusters, roots, strict=True):
        if root not in both:
            open_.append(cluster)
            continue
        if open_:
            found.append(_Run((last, root), tuple(open_)))
        last, open_ = root, []
    return [*found, _Run((last, None), tuple(open_))] if open_ else found


def _alone(gone: Iterable[_Run], came: Iterable[_Run]) -> Iterator[Region]:
    """Runs of both builds with the same neighbour on either side, the ends of the record being neighbours, too."""
    left = dict.fromkeys(gone)
    before, behind = {one.ends[0]: one for one in left}, {one.ends[1]: one for one in left}
    for run in came:
        near = before.get(run.ends[0]), behind.get(run.ends[1])
        went = next((one for one in near if one in left), None)
        if went is not None:
            del left[went]
        yield from _replaced(went.clusters if went else (), run.clusters)
    yield from (Region(cluster, ()) for run in left for cluster in run.clusters)


def _replaced(gone: Sequence[Cluster], came: Sequence[Cluster]) -> Iterator[Region]:
    waiting: dict[_Kinds, list[Cluster]] = {}
    for cluster in reversed(gone):
        waiting.setdefault(_kinds(cluster), []).append(cluster)
    new = []
    for cluster in came:
        alike = waiting.get(_kinds(cluster))
        if alike:
            yield Region(alike.pop(), cluster)
        else:
            new.append(cluster)
    left = [cluster for alike in waiting.values() for cluster in alike]
    if left and new:
        yield Region(tuple(chain.from_iterable(left)), tuple(chain.from_iterable(new)))
    else:
        yield from (Region((), cluster) for cluster in new)
        yield from (Region(cluster, ()) for cluster in left)


def _kinds(cluster: Cluster) -> _Kinds:
    return tuple((one.member.type, one.span.size) for one in cluster)


def _bytes(members: Iterable[Named]) -> int:
    """How many bytes lie in at least one of them."""
    count = end = 0
    for one in sorted(members, key=lambda one: one.offset):
        count += max(one.end - max(one.offset, end), 0)
        end = max(end, one.end)
    return count
