# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers of a kernel's memory: which object lies at an address."""
