# SPDX-License-Identifier: GPL-2.0-or-later
"""On what terms a run is judged, kept in its journal so that its result can be read without its plan or plugins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linesmith.analyzer.model import Fidelity, Rules
from linesmith.tuner.tuning.blocks import Purpose, Stage
from linesmith.tuner.tuning.encoding import decoded, encoded
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.judgement import Judge, Measure, searching
from linesmith.tuner.tuning.variants import BASELINE

_NOTE = "terms"


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run is called, its ``rules``, what decides on each upper rung that it uses, and how many are confirmed."""

    title: str
    rules: Rules
    measures: tuple[tuple[Fidelity, tuple[Measure, ...]], ...] = ()
    confirmed: int = 1

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        """The upper rungs, the highest last."""
        return tuple(fidelity for fidelity, _ in self.measures)

    def judge(self, stage: Stage) -> Judge:
        """Who compares what was measured in a stage; no noise floor is known yet."""
        rules = searching(self.rules) if stage.purpose is Purpose.SEARCH else self.rules
        variants = self.confirmed if stage.purpose is Purpose.CONFIRMATION else 1
        return Judge(dict(self.measures)[stage.fidelity], BASELINE.name, rules, variants=variants)


def keep_terms(journal: Journal, terms: Terms) -> None:
    """Keep what is known of the terms, in the place of what was known before."""
    with journal.transaction():
        journal.keep_note(_NOTE, encoded(terms))


def kept_terms(journal: Journal) -> Terms:
    """The terms of a run; those of one that was ended before anything was measured say nothing."""
    note = journal.note(_NOTE)
    return Terms("", Rules()) if note is None else decoded(note, Terms)


def with_measures(terms: Terms, fidelity: Fidelity, measures: tuple[Measure, ...]) -> Terms:
    """The terms with what decides on one more rung."""
    others = [one for one in terms.measures if one[0] is not fidelity]
    ranked = sorted((*others, (fidelity, measures)), key=lambda one: tuple(Fidelity).index(one[0]))
    return replace(terms, measures=tuple(ranked))
