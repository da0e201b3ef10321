# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a change helps: the accesses of two CPUs, step by step, through the caches of the layout now and then."""
