# SPDX-License-Identifier: GPL-2.0-or-later
"""Replay: a recorded trace run again as if its objects had another layout."""
