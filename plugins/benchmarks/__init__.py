# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks: described, run by a machine, parsed by a pure function."""
