# SPDX-License-Identifier: GPL-2.0-or-later
"""One report of what was judged under several configurations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from linesmith.analyzer.model import LintReport, Violation

_What = TypeVar("_What")


def merged(reports: Sequence[tuple[str, LintReport]]) -> LintReport:
    """What holds under some configuration, each report with the name of its own; there is one at least.

    A violation or a remark that not all of them have names those that do. Counts are of the one that has most.
    """
    titles = tuple(title for title, _ in reports)
    only = [report for _, report in reports]
    if len(only) == 1:
        return only[0]
    violations = tuple(_violations(_by_what(titles, [one.violations for one in only]), len(only)))
    return replace(
        only[0],
        violations=tuple(sorted(violations, key=lambda one: one.order)),
        compared=max(one.compared for one in only),
        changed=max(one.changed for one in only),
        watched=max(one.watched for one in only),
        remarks=tuple(_remarks(_by_what(titles, [one.remarks for one in only]), len(only))),
    )


def _by_what(titles: Sequence[str], told: Sequence[Iterable[_What]]) -> dict[_What, dict[str, None]]:
    """Under which configurations each is told."""
    found: dict[_What, dict[str, None]] = {}
    for title, some in zip(titles, told, strict=True):
        for one in some:
            found.setdefault(one, {})[title] = None
    return found


def _violations(found: dict[Violation, dict[str, None]], count: int) -> Iterator[Violation]:
    for one, titles in found.items():
        yield one if len(titles) == count else replace(one, configuration=", ".join(titles))


def _remarks(found: dict[str, dict[str, None]], count: int) -> Iterator[str]:
    for one, titles in found.items():
        yield one if len(titles) == count else f"{', '.join(titles)}: {one}"
