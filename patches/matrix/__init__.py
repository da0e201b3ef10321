# SPDX-License-Identifier: GPL-2.0-or-later
"""Verification of a change under other configurations and on other machines."""

from linesmith.patches.matrix.asked import Asked, Change
from linesmith.patches.matrix.check import check, check_names, matrix, names
from linesmith.patches.matrix.evidence import paragraphs, unchecked
from linesmith.patches.matrix.records import holders_of

__all__ = ["Asked", "Change", "check", "check_names", "holders_of", "matrix", "names", "paragraphs", "unchecked"]
