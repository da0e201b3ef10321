# SPDX-License-Identifier: GPL-2.0-or-later
"""A fault to plant, and the faults that are listed."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FAULTS = Path(__file__).with_name("faults.toml")


@dataclass(frozen=True)
class Fault:
    """A slip called ``name``: ``new`` in the place of ``old`` in ``file``, which ``tests`` are the likeliest to see."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def planted(self, text: str) -> str:
        """The file's text with the fault; raises ``ValueError`` where there is not exactly one place for it."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has {text.count(self.old)} places for the fault '{self.name}'; mend it")
        return text.replace(self.old, self.new)


def all_faults() -> tuple[Fault, ...]:
    """The faults in the order of the file."""
    listed = tomllib.loads(FAULTS.read_text("utf-8"))["fault"]
    return tuple(Fault(one["name"], one["file"], one["old"], one["new"], tuple(one["tests"])) for one in listed)
