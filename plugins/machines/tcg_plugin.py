# SPDX-License-Identifier: GPL-2.0-or-later
"""Our plugin for QEMU's emulation: where it is installed, and its options as QEMU takes them."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

from linesmith.analyzer.errors import ToolMissing

if TYPE_CHECKING:
    from linesmith.analyzer.model import Emulation

_PLACE = "plugins/bin/coherence_plugin.so"
RECORDING = "recording"
# Records of one CPU: an instruction that touches many contended lines has one for each.
_MOST_ACCESSES = 1 << 19


def plugin_file() -> Path:
    """The plugin of this installation; raises ``ToolMissing`` when it was built without one."""
    path = Path(str(distribution("linesmith").locate_file(f"linesmith/{_PLACE}")))
    if not path.is_file():
        raise ToolMissing(f"the plugin for QEMU is not part of this installation ({path}); reinstall linesmith")
    return path


def plugin_argument(plugin: Path, emulation: Emulation, settings: dict[str, str]) -> str:
    """The word behind ``-plugin``; ``settings`` are further options."""
    options = {
        "out": RECORDING,
        "line_bytes": str(emulation.line_bytes),
        "adjacent": str(int(emulation.adjacent)),
        "cache_bytes": str(emulation.cache_bytes),
        "max_accesses": str(_MOST_ACCESSES),
        "quantum": str(emulation.quantum),
        "seed": str(emulation.seed),
        "ring": emulation.ring,
        "interleave": emulation.interleave,
    }
    words = (escaped(plugin), *(f"{name}={value}" for name, value in (options | settings).items()))
    return ",".join(words)


def escaped(path: Path) -> str:
    """The absolute path as a value in one of QEMU's comma-separated lists: commas are doubled."""
    return str(path.absolute()).replace(",", ",,")
