# SPDX-License-Identifier: GPL-2.0-or-later
"""Small programs to hide a member of, and what became of their files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from linesmith.patches.encapsulation.encapsulate import Encapsulated, Wish, encapsulate

needs_spatch = pytest.mark.skipif(shutil.which("spatch") is None, reason="Coccinelle is not installed")


def program(root: Path, **files: str) -> Path:
    """A tree with the files; ``car_h`` is called ``car.h``."""
    root.mkdir(exist_ok=True)
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return root


def hidden(tree: Path, record: str, member: str, accessor: str) -> Encapsulated:
    """The member behind the accessor, in all of the tree."""
    return encapsulate(Wish(record, member, accessor), tree, lambda _: None)


def after(made: Encapsulated, file: str) -> str:
    """The content of a file after the last step."""
    texts = [one.after for step in made.series.steps for one in step.changes if one.file == file]
    return (texts[-1] or b"").decode()


def left(made: Encapsulated) -> list[tuple[str, str]]:
    """Code and place of each refusal."""
    return [(one.code.value, one.place) for one in made.series.refusals]
