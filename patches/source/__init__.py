# SPDX-License-Identifier: GPL-2.0-or-later
"""C source as an edit needs it: records, their bodies as atoms, macros, comments."""
