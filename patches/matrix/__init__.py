# SPDX-License-Identifier: GPL-2.0-or-later
"""Verification of a change under other configurations and on other machines."""
