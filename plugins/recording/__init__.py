# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorders: ways to run a command and come back with a profile."""
