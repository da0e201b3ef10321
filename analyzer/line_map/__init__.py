# SPDX-License-Identifier: GPL-2.0-or-later
"""Records laid over cache lines, with who was seen to touch what: the maps that every report draws."""

from linesmith.analyzer.line_map.comparison import compared_maps
from linesmith.analyzer.line_map.heat import NO_HEAT, Heat, Spot, heat_of
from linesmith.analyzer.line_map.record_map import MOST_LINES, line_map

__all__ = ["MOST_LINES", "NO_HEAT", "Heat", "Spot", "compared_maps", "heat_of", "line_map"]
