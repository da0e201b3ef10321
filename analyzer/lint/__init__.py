# SPDX-License-Identifier: GPL-2.0-or-later
"""The lint of layouts: records of one build, or of two side by side, held against rules and intents."""

from linesmith.analyzer.lint.linted import Linted, Policy
from linesmith.analyzer.lint.linting import lint
from linesmith.analyzer.lint.pairs import Pairs, of_one, of_two
from linesmith.analyzer.lint.tuned import tuned

__all__ = ["Linted", "Pairs", "Policy", "lint", "of_one", "of_two", "tuned"]
