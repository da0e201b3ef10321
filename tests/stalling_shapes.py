# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts that stall a reader which looks at the same bytes again and again, in any length.

``stalling_shapes.toml`` has what they repeat: alone (``plain``, behind ``head``), in the braces of a record ``queue``
(``body``), with a running number for each ``%`` (``numbered``), and by name as (unit, head, tail).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Shape:
    """A text that repeats ``unit`` between ``head`` and ``tail``."""

    unit: str
    head: str = ""
    tail: str = ""

    def text(self, size: int) -> bytes:
        """The text with about ``size`` bytes."""
        unit = self.unit.encode()
        return self.head.encode() + unit * max(1, size // len(unit)) + self.tail.encode()


@dataclass(frozen=True)
class Numbered(Shape):
    """The same with a running number for each ``%`` of ``unit``, so that no two names are the same."""

    def text(self, size: int) -> bytes:
        """The text with about ``size`` bytes."""
        count = max(1, size // (len(self.unit) + 4))
        middle = "".join(self.unit.replace("%", str(number)) for number in range(count))
        return f"{self.head}{middle}{self.tail}".encode()


def _shapes(said: Mapping[str, Any]) -> Mapping[str, Shape]:
    queue, numbered = ("struct queue {\n", "};\n"), said.get("numbered", ())
    return {
        **{repr(one): Shape(one, said.get("head", "")) for one in said["plain"]},
        **{f"struct queue {{ {one!r} }}": Shape(one, queue[0], f"\n{queue[1]}") for one in said.get("body", ())},
        **{f"numbered {one!r}": Numbered(one, "struct queue { int a; int b; };\n") for one in numbered},
        **{f"struct queue {{ numbered {one!r} }}": Numbered(one, *queue) for one in numbered},
        **{name: Shape(*parts) for name, parts in said.get("named", {}).items()},
    }


_KINDS = {name: _shapes(said) for name, said in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items()}
C_SHAPES, MAIL_SHAPES, TOML_SHAPES = _KINDS["c"], _KINDS["mail"], _KINDS["toml"]
JSON_SHAPES, KCONFIG_SHAPES = _KINDS["json"], _KINDS["kconfig"]
