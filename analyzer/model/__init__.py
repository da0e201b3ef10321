# SPDX-License-Identifier: GPL-2.0-or-later
# mypy: implicit-reexport
# ruff: noqa: F403
"""Frozen values that pass between the stages of the pipeline; standard library only.

Units are bytes unless a name says ``bit``. Offsets count from the start of the record that owns the
member; bit offsets count from the record's first bit, least significant first on little-endian targets.

Files are loaded until a name is found: ``linesmith layout`` needs none of the later values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linesmith.analyzer.model.access import *
    from linesmith.analyzer.model.candidate import *
    from linesmith.analyzer.model.finding import *
    from linesmith.analyzer.model.layout import *
    from linesmith.analyzer.model.lint import *
    from linesmith.analyzer.model.measurement import *
    from linesmith.analyzer.model.prediction import *
    from linesmith.analyzer.model.profile import *
    from linesmith.analyzer.model.run import *
    from linesmith.analyzer.model.slab import *
    from linesmith.analyzer.model.source import *
else:
    from importlib import import_module

    # Loading all of them takes a tenth of a second: those come first that most commands need.
    _FIRST = ("layout", "slab", "access", "prediction", "finding", "profile")
    _FILES = (*_FIRST, "measurement", "run", "candidate", "source", "lint")

    def __getattr__(name: str) -> object:
        """The value called ``name``, from the file that owns it; raises ``AttributeError``."""
        for file in () if name.startswith("_") else _FILES:
            home = vars(import_module(f"{__name__}.{file}"))
            if name in home:
                return home[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
