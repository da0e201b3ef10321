# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts: read from an ELF file, stored, compared, and what follows from them by arithmetic alone."""
