# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates for random structs written into the files of a tree, as ``linesmith patch`` does, and compiled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from legality.random_heat import Case
from legality.study import candidates

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused, VerificationFailed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Candidate
from linesmith.patches.edit.patch import Confirmed, confirm
from linesmith.patches.source.tree import Tree

UNCOMPILED = "before any change"
UNLIKE = "another layout than predicted"


class Outcome(StrEnum):
    """What became of a struct that was drawn."""

    CONFIRMED = "written and confirmed by the compiler"
    REFUSED = "refused"
    WRONG = "wrong"
    RIGID = "left out: nothing is proposed"
    GENERATED = "left out: the source declares no such record"
    UNCOMPILED = "left out: not compiled as the tree is"


@dataclass(frozen=True)
class Result:
    """``reason`` is a code of refusal, or what is wrong; ``said`` is the whole sentence."""

    name: str
    place: str
    outcome: Outcome
    reason: str = ""
    said: str = ""


def study(tree: Tree, drawn: Iterable[Case], layouts: Layouts) -> Iterator[Result]:
    """What becomes of the candidate with the most moves for each case."""
    for case in drawn:
        layout = case.layout
        found = max(candidates(case, layouts), key=lambda one: len(one.moves), default=None)
        outcome = (Outcome.RIGID, "", "") if found is None else _written(tree, found)
        yield Result(layout.name, f"{layout.file}:{layout.line}", *outcome)


def _written(tree: Tree, candidate: Candidate) -> tuple[Outcome, str, str]:
    try:
        confirmed = confirm(candidate, tree, lambda _: None)
    except DeclarationNotFound as error:
        return Outcome.GENERATED, "", str(error)
    except EditRefused as error:
        return Outcome.REFUSED, error.refusal.code.value, str(error)
    except VerificationFailed as error:
        if UNCOMPILED in str(error):
            return Outcome.UNCOMPILED, "", str(error)
        outcome = Outcome.WRONG if UNLIKE in str(error) else Outcome.REFUSED
        return outcome, "verification", str(error)
    damage = _damage(confirmed)
    return (Outcome.WRONG, damage, damage) if damage else (Outcome.CONFIRMED, "", "")


def _damage(confirmed: Confirmed) -> str:
    """What is wrong with the text: words of the file that are lost, or text behind the record that is another."""
    before, after = confirmed.change.before or b"", confirmed.change.after or b""
    lost = Counter(re.findall(rb"\w+", before)) - Counter(re.findall(rb"\w+", after))
    if lost:
        return f"words were lost: {sorted(lost)}"
    behind = before[confirmed.original.declared.record.closing :]
    return "" if after.endswith(behind) else "text behind the record changed"
