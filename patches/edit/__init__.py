# SPDX-License-Identifier: GPL-2.0-or-later
"""The source edit of a candidate: members change places, and the text around them follows."""
