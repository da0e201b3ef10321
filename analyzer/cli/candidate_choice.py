# SPDX-License-Identifier: GPL-2.0-or-later
"""Which candidate a user means: by its number in a list, or by its name, which holds in every list that has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.errors import NothingToSuggest

if TYPE_CHECKING:
    from linesmith.analyzer.model import Candidate

MOST_LISTED = 5
# No list has more candidates than these digits count.
_MOST_DIGITS = 9


class CandidateChoice(click.ParamType):  # type: ignore[type-arg]
    """A number from 1 on, or a name."""

    name = "candidate"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The number, or the name in small letters; fails on anything else."""
        if isinstance(value, int):
            return value
        text = str(value).lower()
        if text.isascii() and text.isalpha():
            return text
        number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
        if not number or not int(text):
            self.fail(f"{value!r:.60} is neither the number of a candidate, from 1 on, nor its name.", param, ctx)
        return int(text)


def number_of(
    chosen: int | str | None, candidates: Sequence[Candidate], free: Callable[[], Sequence[Candidate]] = tuple
) -> int | None:
    """The number of the chosen one of ``candidates``, from 1 on; ``None`` where none is chosen.

    ``free`` gives those that there would be without what the source tells; it is called where the name is not known.
    Raises ``NothingToSuggest`` where there is no such candidate, or several have the name.
    """
    from linesmith.analyzer.model.candidate_name import candidate_name

    if chosen is None:
        return None
    if isinstance(chosen, int):
        if chosen <= len(candidates):
            return chosen
        known = f"there are only {len(candidates)} candidates" if len(candidates) != 1 else "there is only 1 candidate"
        raise NothingToSuggest(f"{known}, so there is no --candidate {chosen}; see `linesmith suggest`")
    names = [candidate_name(one) for one in candidates]
    if names.count(chosen) == 1:
        return names.index(chosen) + 1
    raise NothingToSuggest(_ambiguous(chosen, names) if chosen in names else _unknown(chosen, candidates, free()))


def _ambiguous(chosen: str, names: Sequence[str]) -> str:
    numbers = " and ".join(str(number) for number, name in enumerate(names, 1) if name == chosen)
    return f"candidates {numbers} are both called {chosen}; give the number"


def _unknown(chosen: str, candidates: Sequence[Candidate], free: Sequence[Candidate]) -> str:
    from linesmith.analyzer.model.candidate_name import candidate_name
    from linesmith.analyzer.report.moves import short_change

    there = [f"{candidate_name(one)} ({short_change(one)})" for one in candidates]
    gone = next((short_change(one) for one in free if candidate_name(one) == chosen), "")
    more = [f"{len(there) - MOST_LISTED} more"] if len(there) > MOST_LISTED else []
    why = f"what the source tells rules out {chosen} ({gone})" if gone else f"no candidate is called {chosen} here"
    return f"{why}; there are: {', '.join([*there[:MOST_LISTED], *more])}"
