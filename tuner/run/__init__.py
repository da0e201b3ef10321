# SPDX-License-Identifier: GPL-2.0-or-later
"""The tuning loop: trials, their journal, and what is run where."""
