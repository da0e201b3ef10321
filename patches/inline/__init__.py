# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes an object that a record points to and allocates by itself a member of the record."""
