# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of the model for JSON, without the fields that reading would fill in anyway."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass


def terse(value: object) -> object:
    """Dataclasses as dictionaries without fields at their defaults: half the size."""
    if is_dataclass(value):
        found = ((one.name, getattr(value, one.name), one.default) for one in fields(value))
        return {name: terse(item) for name, item, default in found if default is MISSING or item != default}
    return [terse(item) for item in value] if isinstance(value, tuple) else value
