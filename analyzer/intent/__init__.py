# SPDX-License-Identifier: GPL-2.0-or-later
"""Intents of layouts: read from ``linesmith.toml``, written from a profile or from what the source marks."""
