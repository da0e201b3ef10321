# SPDX-License-Identifier: GPL-2.0-or-later
"""The model as a whole: what its files define is what the package offers, without loading the files before."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from linesmith.analyzer import model


def test_every_value_is_offered_by_the_package() -> None:
    for file in pkgutil.iter_modules(model.__path__):
        owner = import_module(f"{model.__name__}.{file.name}")
        for name, value in vars(owner).items():
            if isinstance(value, type) and value.__module__ == owner.__name__:
                assert getattr(model, name) is value
