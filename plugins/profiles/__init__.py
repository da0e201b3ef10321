# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers of profiles, one module per source."""
