# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles side by side: what vanished, what stayed, what is new."""
