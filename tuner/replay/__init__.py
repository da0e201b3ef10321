# SPDX-License-Identifier: GPL-2.0-or-later
"""Replay: a recorded trace, or runs made up from a profile, run again as if their objects had another layout."""
