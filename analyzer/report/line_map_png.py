# SPDX-License-Identifier: GPL-2.0-or-later
"""Line maps as PNG pictures: the SVG, light, painted by resvg (extra ``[png]``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linesmith.analyzer.errors import OutputError, ToolMissing
from linesmith.analyzer.extras import install_command
from linesmith.analyzer.model import LineMap
from linesmith.analyzer.report.line_map_svg import line_maps_svg, picture_height
from linesmith.analyzer.report.map_palette import LIGHT_STYLE

# A picture of so many pixels takes about 100 MB while it is painted.
MOST_PIXELS_HIGH = 20_000
# Any of these will do; resvg leaves text out without a word where it does not find a font.
FAMILIES = (
    *("DejaVu Sans Mono", "Liberation Mono", "Noto Sans Mono", "Ubuntu Mono", "Cousine", "FreeMono"),
    *("Menlo", "Consolas", "Courier New", "Courier"),
)
_BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{}</svg>'
_LETTER = '<text x="1" y="8" font-size="9" font-family="{}">M</text>'


def line_maps_png(maps: Sequence[LineMap]) -> bytes:
    """The maps in one picture, twice as large as the SVG's nominal size where that is not too high.

    Raises ``ToolMissing`` without resvg or any font to write with, ``OutputError`` where the picture would be too high.
    """
    paint = _painter()
    height = picture_height(maps)
    if height > MOST_PIXELS_HIGH:
        raise OutputError(f"a PNG of these maps would be {height:,} pixels high; name fewer types, or use --format svg")
    zoom = 2 if 2 * height <= MOST_PIXELS_HIGH else 1
    family = next((one for one in FAMILIES if _is_there(one, paint)), None)
    if family is None:
        raise ToolMissing("no font was found to write a PNG with; install one (apt install fonts-dejavu-core)")
    return paint(svg_string=line_maps_svg(maps, LIGHT_STYLE), zoom=zoom, monospace_family=family)


def _painter() -> Callable[..., bytes]:
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise ToolMissing(
            f"PNG needs resvg-py; install it with `{install_command('png')}`, or write SVG: -o map.svg"
        ) from None
    return lambda **settings: bytes(svg_to_bytes(**settings))


def _is_there(family: str, paint: Callable[..., bytes]) -> bool:
    return paint(svg_string=_BLANK.format(_LETTER.format(family))) != paint(svg_string=_BLANK.format(""))
