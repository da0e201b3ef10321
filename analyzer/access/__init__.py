# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map: what every instruction of a file touches, kept beside the index, asked by type, function, address."""
