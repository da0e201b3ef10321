# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a member stands where a candidate puts it, in a sentence for the next reader of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Candidate, Finding, Move, MoveKind, Residual
from linesmith.analyzer.sharing.triage import doubted
from linesmith.patches.remarks import Remarks

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two direct members that meet less often than before; ``never`` tells that they do so no more."""

    first: str
    second: str
    never: bool

    def other(self, name: str) -> str | None:
        """The partner of ``name``; ``None`` where it is none of both."""
        return {self.first: self.second, self.second: self.first}.get(name)


def why(candidate: Candidate, finding: Finding) -> Remarks:
    """A sentence for each member that the candidate takes off the line of others.

    Where none of the members that move is one of a pair that it parts, the first of them says what it keeps apart.
    Nothing is said of members of which it is in doubt that they were sampled.
    """
    in_doubt = doubted(finding)
    pairs = [pair for pair in _parted(candidate.residuals) if not in_doubt & {pair.first, pair.second}]
    said: dict[str, str] = {}
    for move in candidate.moves:
        for name in _moved(move):
            mine = [pair for pair in pairs if pair.other(name) and pair.other(name) not in said]
            if mine and name not in said:
                said[name] = _sentence(move.kind, name, mine, finding)
    if not said and pairs:
        said[candidate.moves[0].member] = f"Keeps {pairs[0].first} and {pairs[0].second} apart."
    return said


def _parted(residuals: Sequence[Residual]) -> list[_Pair]:
    """Pairs that meet less often than before on lines of the smallest size, each once."""
    size = min((one.line_bytes for one in residuals), default=0)
    found: dict[tuple[str, str], _Pair] = {}
    for one in residuals:
        names = _top(one.first), _top(one.second)
        if one.line_bytes == size and one.after < one.before and names[0] != names[1]:
            found.setdefault(names, _Pair(*names, never=one.after == 0))
    return list(found.values())


def _moved(move: Move) -> tuple[str, ...]:
    names = (*(move.members or (move.member,)), move.partner)
    return tuple(name for name in names if name)


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _sentence(kind: MoveKind, name: str, pairs: Sequence[_Pair], finding: Finding) -> str:
    written = frozenset(member.top for member in finding.members if member.written)
    read = frozenset(member.top for member in finding.members if member.reads)
    others = list(dict.fromkeys(other for pair in pairs if (other := pair.other(name))))
    head = "Kept off the cache line of" if all(pair.never for pair in pairs) else "Kept away from"
    if kind is MoveKind.ALIGN:
        head = "Begins a cache line, away from"
    if finding.objects and finding.objects[0].doubt:
        return f"{head} {_listed(others)}."
    if name in written and any(other in read for other in others):
        return f"{head} {_listed(others)}: readers there would wait for writers of this."
    if any(other in written for other in others):
        return f"{head} {_listed(others)}: readers of this would wait for writers there."
    return f"{head} {_listed(others)}."


def _listed(names: Sequence[str]) -> str:
    if len(names) > _SHOWN:
        return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
