# SPDX-License-Identifier: GPL-2.0-or-later
"""A small program for ``encapsulate`` and ``inline``, with its compilation database."""

from __future__ import annotations

import json
from pathlib import Path

from patch_cases import write_files

WHEEL = "struct wheel {\n\tint turns;\n\tint size;\n};\n"
USER = '#include "wheel.h"\nint size_of(const struct wheel *wheel)\n{\n\treturn wheel->size;\n}\n'
AREA = (
    "#include <stdlib.h>\nstruct lock { int taken; };\nstruct area { long start; struct lock *lock; };\n"
    "void make(struct area *area)\n{\n\tarea->lock = malloc(sizeof(struct lock));\n}\n"
    "void drop(struct area *area)\n{\n\tfree(area->lock);\n}\n"
)
ENCAPSULATE = ("encapsulate", "wheel.size", "--accessor", "wheel_size")


def program(root: Path, **sources: str) -> Path:
    """The tree with the header and these sources, by their names without ``.c``."""
    tree = write_files(root, {"wheel.h": WHEEL, **{f"{name}.c": text for name, text in sources.items()}})
    units = [{"directory": str(tree), "file": f"{name}.c", "command": f"gcc -c {name}.c"} for name in sources]
    (tree / "compile_commands.json").write_text(json.dumps(units))
    return tree
