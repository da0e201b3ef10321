# SPDX-License-Identifier: GPL-2.0-or-later
"""Intents of layouts: read from ``linesmith.toml``, written from a profile or from what the source marks."""

from linesmith.analyzer.intent.configuration import applies, symbols_in, undecided
from linesmith.analyzer.intent.reading import FILE_NAME, intent_in, intent_of_tree, read_intent

__all__ = ["FILE_NAME", "applies", "intent_in", "intent_of_tree", "read_intent", "symbols_in", "undecided"]
