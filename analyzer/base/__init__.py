# SPDX-License-Identifier: GPL-2.0-or-later
"""What every other package may use: how files are written."""
