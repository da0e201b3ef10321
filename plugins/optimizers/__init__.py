# SPDX-License-Identifier: GPL-2.0-or-later
"""Optimizers: which points of a space to try next."""
