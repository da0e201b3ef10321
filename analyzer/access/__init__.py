# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map: what each instruction of a file touches, stored by the index, asked by type, function, address."""
