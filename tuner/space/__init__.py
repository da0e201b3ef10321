# SPDX-License-Identifier: GPL-2.0-or-later
"""The search space: decisions about a layout, and the candidates that they make."""
