# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings: the text that the plugin for QEMU writes, and the profile that is made of it."""
