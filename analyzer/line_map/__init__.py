# SPDX-License-Identifier: GPL-2.0-or-later
"""Records laid over cache lines, with who was seen to touch what: the maps that every report draws."""
