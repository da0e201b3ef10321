# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that run under QEMU with our plugin: what goes into them, how they are started, watched and ended."""
