# SPDX-License-Identifier: GPL-2.0-or-later
"""How one file of a tree is compiled: flags, prepared builds, confinement, and what the compiler made of a record."""
