# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs made up so that a profile of them would look like the one at hand, for the replayer to judge layouts by."""
