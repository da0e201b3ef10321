# SPDX-License-Identifier: GPL-2.0-or-later
"""What could be better: constraints, cost and candidates."""
