# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries of Python that some commands take and the rest does without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from linesmith.analyzer.extras import install_command
from linesmith.analyzer.model import Check, Readiness

AREA = "libraries"


@dataclass(frozen=True, slots=True)
class Library:
    """A distribution of Python packages, and the extra of ours that brings it."""

    name: str
    extra: str
    purpose: str
    needed_by: tuple[str, ...] = ()


LIBRARIES = (
    Library("drgn", "snapshot", "names the objects in a kernel's memory", ("snapshot",)),
    Library("ortools", "packing", "proves packings best (OR-Tools); a search stands in"),
    Library("scikit-optimize", "search", "optimizer `scikit-optimize` of `tune`; `racing` stands in"),
    Library("distributed", "cluster", "`tune --executor dask`: many machines"),
    Library("pyarrow", "parquet", "profiles in Parquet"),
    Library("resvg-py", "png", "line maps as PNG (`layout -o map.png`); SVG needs nothing"),
)


def checks() -> Iterator[Check]:
    """One for each library; none is loaded for it."""
    for library in LIBRARIES:
        try:
            readiness, said, remedy = Readiness.READY, version(library.name), ""
        except PackageNotFoundError:
            readiness, said = Readiness.MISSING, "not installed"
            remedy = install_command(library.extra)
        yield Check(AREA, library.name, readiness, said, library.purpose, remedy, library.needed_by)
