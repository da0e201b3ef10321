# SPDX-License-Identifier: GPL-2.0-or-later
"""Slab geometry: where SLUB puts the objects of a cache, by the kernel's rules or by what it says in sysfs."""
