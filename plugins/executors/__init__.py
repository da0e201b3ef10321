# SPDX-License-Identifier: GPL-2.0-or-later
"""Executors: where builds and benchmarks run, on this machine or on many."""
