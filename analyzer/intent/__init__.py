# SPDX-License-Identifier: GPL-2.0-or-later
"""Intents of layouts: read from ``linesmith.toml``, written from a profile or from what the source marks."""

from linesmith.analyzer.intent.configuration import applies, read_symbols, symbols_in, undecided
from linesmith.analyzer.intent.reading import FILE_NAME, intent_in, intent_of_tree, read_intent
from linesmith.analyzer.intent.writing import one_line, written, written_type

__all__ = [
    "FILE_NAME",
    "applies",
    "intent_in",
    "intent_of_tree",
    "one_line",
    "read_intent",
    "read_symbols",
    "symbols_in",
    "undecided",
    "written",
    "written_type",
]
