# SPDX-License-Identifier: GPL-2.0-or-later
"""One report of what was judged under several configurations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from linesmith.analyzer.model import LintReport

_What = TypeVar("_What")


def merged(reports: Sequence[tuple[str, LintReport]]) -> LintReport:
    """What holds under some configuration, each report with the name of its own; there is one at least.

    A violation or a remark that not all of them have names those that do. Counts are of the one that has most.
    """
    only = [report for _, report in reports]
    if len(only) == 1:
        return only[0]
    violations = _under([(title, report.violations) for title, report in reports])
    remarks = _under([(title, report.remarks) for title, report in reports])
    named = (replace(one, configuration=where) for one, where in violations)
    return replace(
        only[0],
        violations=tuple(sorted(named, key=lambda one: one.order)),
        compared=max(one.compared for one in only),
        changed=max(one.changed for one in only),
        watched=max(one.watched for one in only),
        remarks=tuple(f"{where}: {one}" if where else one for one, where in remarks),
        unjudged=tuple(sorted({file for one in only for file in one.unjudged})),
    )


def _under(told: Sequence[tuple[str, Iterable[_What]]]) -> Iterator[tuple[_What, str]]:
    """Each with the configurations under which it is told; empty where these are all."""
    found: dict[_What, dict[int, str]] = {}
    for number, (title, some) in enumerate(told):
        for one in some:
            found.setdefault(one, {})[number] = title
    for one, titles in found.items():
        yield one, "" if len(titles) == len(told) else ", ".join(dict.fromkeys(titles.values()))
