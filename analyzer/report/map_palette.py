# SPDX-License-Identifier: GPL-2.0-or-later
"""Colours of drawn line maps, light and dark, as the CSS of their classes; every text on its ground has 4.5 to 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping

FONT = 'ui-monospace,"DejaVu Sans Mono","Liberation Mono",Menlo,Consolas,monospace'

# ``ink`` writes on paper and on cells up to heat 3, ``ink-4`` and ``ink-5`` on the hotter ones.
LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "ink": "#1a1a1a",
    "faint": "#595959",
    "edge": "#6b6b6b",
    "moved": "#0b57d0",
    "gap": "#8a8a8a",
    "heat-0": "#f4f4f4",
    "heat-1": "#fff3d6",
    "heat-2": "#fdd49e",
    "heat-3": "#fca35a",
    "heat-4": "#ef6a48",
    "heat-5": "#a80f0f",
    "ink-4": "#000000",
    "ink-5": "#ffffff",
}
DARK: Mapping[str, str] = {
    "paper": "#16181c",
    "ink": "#ececec",
    "faint": "#b0b0b0",
    "edge": "#8f8f8f",
    "moved": "#8ab4f8",
    "gap": "#6f6f6f",
    "heat-0": "#26292f",
    "heat-1": "#3a3323",
    "heat-2": "#59411d",
    "heat-3": "#7a4712",
    "heat-4": "#f08a4b",
    "heat-5": "#ffc9b0",
    "ink-4": "#000000",
    "ink-5": "#000000",
}


def rules(colour: Callable[[str], str]) -> str:
    """The CSS of a map's classes; ``colour`` gives the value that stands for a name."""
    heat = "".join(f".lm-heat-{number} rect{{fill:{colour(f'heat-{number}')}}}" for number in range(6))
    inks = "".join(f".lm-heat-{number} text{{fill:{colour(f'ink-{number}')}}}" for number in (4, 5))
    return (
        f".lm{{font-family:{FONT};font-size:12px}}"
        f".lm text{{fill:{colour('ink')}}}"
        f".lm .lm-faint{{fill:{colour('faint')}}}"
        ".lm .lm-title{font-size:15px;font-weight:bold}"
        ".lm .lm-small{font-size:10px}"
        ".lm-middle{text-anchor:middle}.lm-end{text-anchor:end}"
        f".lm-paper{{fill:{colour('paper')}}}"
        f".lm-cell rect{{stroke:{colour('edge')};stroke-width:1}}{heat}{inks}"
        f".lm-gap{{fill:none;stroke:{colour('gap')};stroke-width:1;stroke-dasharray:2 3}}"
        f".lm-moved rect{{stroke:{colour('moved')};stroke-width:3}}"
        f".lm-lock rect{{stroke-width:2}}"
        f".lm-split{{stroke:{colour('ink')};stroke-width:3;stroke-dasharray:3 3}}"
    )


def _values(palette: Mapping[str, str]) -> str:
    return ";".join(f"--lm-{name}:{value}" for name, value in palette.items())


# For a page that holds maps: it may set the custom properties itself.
LINE_MAP_STYLE = (
    f".lm{{{_values(LIGHT)}}}"
    f"@media (prefers-color-scheme:dark){{.lm{{{_values(DARK)}}}}}"
    f"@media print{{.lm{{{_values(LIGHT)}}}}}{rules(lambda name: f'var(--lm-{name})')}"
)
# For a file of its own: viewers other than browsers know no custom properties.
LIGHT_STYLE = rules(LIGHT.__getitem__)
OWN_STYLE = f"{LIGHT_STYLE}@media (prefers-color-scheme:dark){{{rules(DARK.__getitem__)}}}"
