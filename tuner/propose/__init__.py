# SPDX-License-Identifier: GPL-2.0-or-later
"""Proposals: from a finding to candidates, and which of them to recommend."""
