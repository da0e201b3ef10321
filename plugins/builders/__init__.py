# SPDX-License-Identifier: GPL-2.0-or-later
"""Builders: a source tree and a patch in, something that runs out."""
