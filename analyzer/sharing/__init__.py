# SPDX-License-Identifier: GPL-2.0-or-later
"""What meets on a line, what that costs, and what a layout can change."""
