# SPDX-License-Identifier: GPL-2.0-or-later
"""Renderings of layouts, findings and candidates; nothing here prints."""
