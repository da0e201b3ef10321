# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge: from samples of two variants to a verdict."""
